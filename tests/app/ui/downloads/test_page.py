from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.ui.downloads.page import GetModelsPage
from app.ui.downloads.views import (
    DownloadView,
    FileView,
    MessageView,
    RepositoryView,
    ResultView,
)
from app.ui.models.views import FitView
from app.ui.theme import ThemeManager

RESULTS = tuple(
    ResultView(f"o/m{n}-GGUF", f"m{n}-GGUF", "o · 4.02B · mit", "↓ 5", spoken=f"m{n} by o")
    for n in range(4)
)
FILES = tuple(
    FileView(
        key=f"m-{name}.gguf",
        name=name,
        detail=f"m-{name}.gguf",
        size_bytes=size << 30,
        bits_per_weight=4.5,
        fit=FitView("fits", "Fits, 3.00 GiB free", max_context_tokens=8192, decode_per_s=12.0),
    )
    for name, size in (("Q4_0", 2), ("Q8_0", 4))
)
REPOSITORY = RepositoryView("o/m-GGUF", "m-GGUF", "by o", "https://x/o/m", files=FILES, basis="b")


@pytest.fixture
def page(qtbot: Any, themes: ThemeManager) -> GetModelsPage:
    page = GetModelsPage(themes)
    qtbot.addWidget(page)
    page.resize(1100, 760)
    page.show()
    return page


def test_enter_searches_and_an_empty_field_does_not(qtbot: Any, page: GetModelsPage) -> None:
    asked: list[str] = []
    page.search_requested.connect(asked.append)
    QTest.keyClick(page.field, Qt.Key.Key_Return)
    QTest.keyClicks(page.field, "  qwen3 ")
    QTest.keyClick(page.field, Qt.Key.Key_Return)
    QTest.mouseClick(page.search, Qt.MouseButton.LeftButton)
    assert asked == ["qwen3", "qwen3"]
    page.field.clear()
    assert not page.search.isEnabled()


def test_results_are_opened_by_keys_and_clicks(qtbot: Any, page: GetModelsPage) -> None:
    opened: list[str] = []
    page.repository_requested.connect(opened.append)
    page.set_results(RESULTS)
    QTest.keyClick(page.results, Qt.Key.Key_Down)
    assert opened == []  # moving through the list asks the hub nothing
    QTest.keyClick(page.results, Qt.Key.Key_Return)
    place = page.results.visualRect(page.results.model().index(3, 0)).center()
    QTest.mouseClick(page.results.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert opened == ["o/m1-GGUF", "o/m3-GGUF"]


def test_a_file_is_asked_for_by_button_enter_and_double_click(
    qtbot: Any, page: GetModelsPage
) -> None:
    asked: list[str] = []
    page.download_requested.connect(asked.append)
    page.set_repository(REPOSITORY, "m-Q8_0.gguf")
    assert page.download.text() == "Download 4.00 GiB"
    QTest.mouseClick(page.download, Qt.MouseButton.LeftButton)
    QTest.keyClick(page.files, Qt.Key.Key_Up)
    QTest.keyClick(page.files, Qt.Key.Key_Return)
    assert asked == ["m-Q8_0.gguf", "m-Q4_0.gguf"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"state": "waiting"}, "Downloading…"),
        ({"state": "here"}, "Downloaded"),
        ({"problem": "1 of its parts are missing"}, "Download 2.00 GiB"),
    ],
)
def test_what_can_not_be_fetched_is_not_asked_for(
    qtbot: Any, page: GetModelsPage, change: dict[str, Any], text: str
) -> None:
    asked: list[str] = []
    page.download_requested.connect(asked.append)
    page.set_repository(replace(REPOSITORY, files=(replace(FILES[0], **change),)))
    QTest.keyClick(page.files, Qt.Key.Key_Return)
    assert asked == []
    assert not page.download.isEnabled()
    assert page.download.text() == text


def test_a_long_name_has_all_the_room_beside_its_button(qtbot: Any, page: GetModelsPage) -> None:
    name = "A-model-with-a-long-name-8B-Instruct-GGUF"
    page.set_repository(replace(REPOSITORY, name=name, tags=("needs terms",)))
    qtbot.wait(1)
    assert page._name.shown_text() == f"{name} · needs terms"
    assert page._name.x() < page.web.x() // 8


def test_figures_that_come_later_move_nothing(qtbot: Any, page: GetModelsPage) -> None:
    page.set_repository(REPOSITORY, "m-Q4_0.gguf")
    page.files.choose("m-Q8_0.gguf")
    known = tuple(replace(row, bits_per_weight=8.5) for row in FILES)
    page.set_repository(replace(REPOSITORY, files=known), "m-Q4_0.gguf")
    assert page.files.chosen_key() == "m-Q8_0.gguf"
    assert page.files.rows()[0].bits_per_weight == 8.5


def test_columns_give_way_on_a_narrow_page(qtbot: Any, page: GetModelsPage) -> None:
    page.set_repository(REPOSITORY)
    count = page.files.model().columnCount()
    assert not any(page.files.isColumnHidden(n) for n in range(count))
    page.resize(700, 560)
    hidden = [n for n in range(count) if page.files.isColumnHidden(n)]
    assert hidden
    assert 0 not in hidden
    width = sum(page.files.columnWidth(n) for n in range(count) if n not in hidden)
    assert width <= page.files.viewport().width()


def test_a_narrow_page_sets_its_lists_below_each_other_and_scrolls(
    qtbot: Any, page: GetModelsPage
) -> None:
    page.set_results(RESULTS)
    page.set_repository(REPOSITORY)
    assert page._left.x() < page._right.x()
    assert page._left.y() == page._right.y()
    page.resize(500, 480)
    qtbot.waitUntil(lambda: page._right.y() > page._left.geometry().bottom())
    assert page._left.height() >= 200
    assert page._right.height() >= 280
    assert page._area.verticalScrollBar().maximum() > 0
    assert page._area.horizontalScrollBar().maximum() == 0


def test_messages_stand_in_for_lists(qtbot: Any, page: GetModelsPage) -> None:
    chosen: list[str] = []
    page.message_chosen.connect(chosen.append)
    page.say_results(MessageView("No connection", "x can't be reached.", "warning", "again", "Go"))
    assert page.results_message.isVisible()
    assert not page.results.isVisible()
    QTest.mouseClick(page.results_message.button, Qt.MouseButton.LeftButton)
    assert chosen == ["again"]
    page.set_results(RESULTS)
    assert page.results.isVisible()


def test_a_double_click_on_pause_does_not_resume(qtbot: Any, page: GetModelsPage) -> None:
    before_ms = QApplication.doubleClickInterval()
    running = DownloadView("a", "M Q4_0", "o/m", "running", 0.4, "1 of 2", ("pause", "remove"))
    paused = replace(running, state="paused", actions=("resume", "remove"))
    page.queue.set_downloads((running,))
    row = page.queue.row("a")
    assert row is not None
    pressed: list[str] = []
    page.download_chosen.connect(lambda _key, action: pressed.append(action))
    page.download_chosen.connect(lambda *_: page.queue.set_downloads((paused,)))
    try:
        QApplication.setDoubleClickInterval(60_000)
        QTest.mouseClick(row.button("pause"), Qt.MouseButton.LeftButton)
        QTest.mouseClick(row.button("resume"), Qt.MouseButton.LeftButton)
        assert pressed == ["pause"]
        QTest.mouseClick(row.button("remove"), Qt.MouseButton.LeftButton)  # it was there before
        assert pressed == ["pause", "remove"]
        QApplication.setDoubleClickInterval(0)
        QTest.mouseClick(row.button("resume"), Qt.MouseButton.LeftButton)
        assert pressed == ["pause", "remove", "resume"]
    finally:
        QApplication.setDoubleClickInterval(before_ms)


def test_downloads_have_the_buttons_of_their_state(qtbot: Any, page: GetModelsPage) -> None:
    pressed: list[tuple[str, str]] = []
    page.download_chosen.connect(lambda key, action: pressed.append((key, action)))
    running = DownloadView("a", "M Q4_0", "o/m", "running", 0.4, "1 of 2", ("pause", "remove"))
    sentence = "The disk is full: make room, or choose another folder for downloads. " * 4
    failed = DownloadView("b", "N", "o/n", "failed", 0.1, sentence, ("resume", "remove"))
    assert not page.queue.isVisible()
    page.queue.set_downloads((running, failed))
    first, second = page.queue.row("a"), page.queue.row("b")
    assert first is not None
    assert second is not None
    assert page.queue.isVisible()
    assert first.button("pause").isVisible()
    assert not first.button("resume").isVisible()
    QTest.mouseClick(first.button("pause"), Qt.MouseButton.LeftButton)
    QTest.mouseClick(second.button("resume"), Qt.MouseButton.LeftButton)
    assert pressed == [("a", "pause"), ("b", "resume")]
    assert second.height() > first.height()  # it is read to its end
    page.queue.set_downloads((replace(failed, state="done", actions=("chat", "dismiss")),))
    assert page.queue.row("a") is None
    assert second.button("chat").isVisible()
    page.queue.set_downloads(())
    assert not page.queue.isVisible()


def test_a_screen_reader_is_told_all(qtbot: Any, page: GetModelsPage) -> None:
    page.set_results(RESULTS)
    page.set_repository(REPOSITORY)
    role = int(Qt.ItemDataRole.AccessibleTextRole)
    assert page.results.model().index(0, 0).data(role) == "m0 by o"
    spoken = page.files.model().index(0, 0).data(role)
    for part in ("Q4_0", "2.00 GiB", "4.50 bits per weight", "Fits", "12 tokens per second"):
        assert part in spoken
    for widget in (page.field, page.search, page.back, page.more, page.results, page.files):
        assert QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name)


def test_both_themes_draw(qtbot: Any, page: GetModelsPage, themes: ThemeManager) -> None:
    page.set_results(RESULTS)
    page.set_repository(REPOSITORY)
    themes.set_mode("dark")
    dark = page.grab().toImage()
    themes.set_mode("light")
    light = page.grab().toImage()
    middle = dark.rect().center()
    assert dark.pixelColor(middle).lightness() < 80
    assert light.pixelColor(middle).lightness() > 175

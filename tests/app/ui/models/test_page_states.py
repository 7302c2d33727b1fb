"""The Models page without a list, while it is searched, dropped on, and made small."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QRect, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.ui.models.page import ModelsPage
from app.ui.models.views import LibraryView, ScanView
from app.ui.theme import ThemeManager
from tests.app.ui.models.conftest import VIEW
from tests.app.ui.models.test_page import actions

NO_KEYS = Qt.KeyboardModifier.NoModifier


# --- search, states, notices


def test_search_filter_and_the_way_back(page: ModelsPage) -> None:
    page.toolbar.search.setText("nothing like it")
    assert page.nothing.isVisible()
    assert page.nothing._text.text() == "No model matches “nothing like it”."
    assert page.actions_bar.isHidden()
    page.nothing._clear.click()
    assert page.tree.isVisible()
    page.toolbar.filter.setCurrentText("From Ollama")
    assert [row.key for row in page.tree.library.variants()] == ["/llama-q6"]
    # A place that is no longer there takes its filter with it.
    page.set_library(replace(VIEW, sources=()))
    assert page.toolbar.filter.currentText() == "All models"
    assert len(page.tree.library.variants()) == 6


def test_the_empty_page_says_what_helps(qtbot: QtBot, page: ModelsPage) -> None:
    page.set_library(LibraryView(), ("LM Studio", "Ollama"))
    assert page.nothing._title.text() == "No models yet"
    text = page.nothing._text
    assert text.text().startswith("Looked in LM Studio, Ollama.")
    assert text.height() >= text.heightForWidth(text.width())
    with qtbot.waitSignal(page.get_models_requested):
        page.nothing._get.click()
    with qtbot.waitSignal(page.folder_requested):
        page.nothing._folder.click()


def test_a_scan_says_how_far_it_is(qtbot: QtBot, page: ModelsPage) -> None:
    page.set_scan(ScanView(0.25, "Looking in Jan: 7 found"))
    assert page.toolbar._progress.value() == 250
    assert page.toolbar._summary.text() == "Looking in Jan: 7 found"
    with qtbot.waitSignal(page.cancel_requested):
        page.toolbar._cancel.click()
    page.set_scan(None)
    assert page.toolbar._progress.isHidden()
    assert page.toolbar._summary.text() == "2 models"
    page.set_library(LibraryView())
    page.set_scan(ScanView(0.5, "Looking in Jan: 0 found"))
    assert page.nothing._title.text() == "Looking for models"
    assert not page.nothing._progress.isHidden()


def test_the_toolbar_asks(qtbot: QtBot, page: ModelsPage) -> None:
    for button, signal in (
        (page.toolbar._get, page.get_models_requested),
        (page.toolbar._again, page.scan_requested),
    ):
        with qtbot.waitSignal(signal):
            button.click()


# --- dropping


def dropped(page: QWidget, paths: list[Path]) -> tuple[QDragEnterEvent, QDropEvent]:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    actions = Qt.DropAction.CopyAction
    left = Qt.MouseButton.LeftButton
    enter = QDragEnterEvent(QPoint(50, 200), actions, data, left, NO_KEYS)
    QApplication.sendEvent(page, enter)
    drop = QDropEvent(QPointF(50, 200), actions, data, left, NO_KEYS)
    if enter.isAccepted():
        QApplication.sendEvent(page, drop)
    enter._data = data  # type: ignore[attr-defined]  # events do not keep it alive
    return enter, drop


def test_files_and_folders_are_dropped_onto_the_page(
    qtbot: QtBot, page: ModelsPage, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    model, text = tmp_path / "x.GGUF", tmp_path / "notes.txt"
    for path in (model, text):
        path.write_bytes(b"")
    with qtbot.waitSignal(page.paths_dropped) as asked:
        enter, _drop = dropped(page, [model, text, tmp_path / "folder"])
    assert enter.isAccepted()
    assert asked.args == [[str(model), str(tmp_path / "folder")]]
    assert page._hint.isHidden()
    enter, _drop = dropped(page, [text])
    assert not enter.isAccepted()


def test_every_button_has_a_name(page: ModelsPage) -> None:
    for button in page.findChildren(QPushButton):
        assert button.text() or button.accessibleName()
    for widget in (page.tree, page.toolbar.search, page.toolbar.filter, page.toolbar.sort):
        assert widget.accessibleName()


@pytest.mark.parametrize(
    ("percent", "width", "height"),
    [(100, 1204, 800), (100, 788, 626), (100, 560, 500), (150, 670, 600), (200, 560, 900)],
)
def test_nothing_is_cut_or_covered(
    page: ModelsPage, themes: ThemeManager, percent: int, width: int, height: int
) -> None:
    themes.set_text_size(percent)
    page.resize(width, height)
    page.tree.choose(["/llama-q4"])
    for _ in range(5):
        QApplication.processEvents()
    # It scrolls where it is too low, but never sideways; also while a scan is shown.
    assert page._content.minimumSizeHint().width() <= width
    page.set_scan(ScanView(0.5, "Looking in Hugging Face: 1,234 found"))
    QApplication.processEvents()
    assert page._content.minimumSizeHint().width() <= width
    page.set_scan(None)
    for _ in range(5):
        QApplication.processEvents()
    bar, foot = page.toolbar, page.actions_bar
    controls = [bar.search, bar.filter, bar.sort, bar._again]
    head = [bar.add_button, bar.get_button]
    buttons = [foot.chat, foot.more]
    buttons += [b for b in (foot.details, foot.plan, foot.make, foot.compare) if b.isVisible()]
    for holder, widgets in ((page._head, head), (bar, controls), (foot, buttons)):
        places: list[QRect] = []
        for widget in widgets:
            assert widget.isVisible()
            place = widget.rect().translated(widget.mapTo(holder, QPoint()))
            assert holder.rect().contains(place), widget.accessibleName()
            assert not any(place.intersects(other) for other in places)
            if isinstance(widget, QPushButton):
                assert widget.width() >= widget.sizeHint().width()
            places.append(place)


def test_what_has_no_room_below_is_in_the_menu(page: ModelsPage) -> None:
    page.tree.choose(["/llama-q4"])
    page.resize(560, 500)
    QApplication.processEvents()
    assert page.actions_bar.details.isHidden()
    assert {"Details", "Plan", "Make a variant…"} <= set(actions(page))
    page.resize(1204, 800)
    QApplication.processEvents()
    assert page.actions_bar.details.isVisible()

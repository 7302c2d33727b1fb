from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from app.ui.shell.search_results import shortened
from app.ui.shell.sidebar import Sidebar
from app.ui.shell.views import ChatEntry, SearchHit
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)

NOW = datetime.now().astimezone()


def entries(count: int) -> list[ChatEntry]:
    return [ChatEntry(f"c{n}", f"Chat {n}", NOW - timedelta(seconds=n)) for n in range(count)]


@pytest.fixture
def sidebar(qtbot: QtBot, themes: ThemeManager) -> Sidebar:
    sidebar = Sidebar(themes)
    qtbot.addWidget(sidebar)
    sidebar.resize(236, 600)
    sidebar.set_chats(entries(3))
    sidebar.show()
    return sidebar


def search_field(sidebar: Sidebar) -> QLineEdit:
    return sidebar._search


def hits(*keys: str) -> tuple[SearchHit, ...]:
    return tuple(SearchHit(key, f"m-{key}", f"Title {key}", "some text", ((0, 4),)) for key in keys)


def test_a_click_opens_a_chat(qtbot: QtBot, sidebar: Sidebar) -> None:
    chats = sidebar.chats
    place = chats.visualRect(chats.chats.index_of("c1")).center()
    with qtbot.waitSignal(chats.chat_selected) as opened:
        QTest.mouseClick(chats.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert opened.args == ["c1"]


def test_a_click_on_a_group_opens_nothing(qtbot: QtBot, sidebar: Sidebar) -> None:
    with qtbot.assertNotEmitted(sidebar.chats.chat_selected):
        QTest.mouseClick(sidebar.chats.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(20, 10))


def test_arrows_move_and_enter_opens(qtbot: QtBot, sidebar: Sidebar) -> None:
    sidebar.set_current("c0")
    opened: list[str] = []
    sidebar.chats.chat_selected.connect(opened.append)
    QTest.keyClick(sidebar.chats, Qt.Key.Key_Down)
    assert opened == []
    QTest.keyClick(sidebar.chats, Qt.Key.Key_Return)
    assert opened == ["c1"]
    assert sidebar.chats.open_key == "c0"  # until the controller has opened it


def test_delete_asks_to_delete(qtbot: QtBot, sidebar: Sidebar) -> None:
    sidebar.set_current("c2")
    with qtbot.waitSignal(sidebar.chats.delete_requested) as asked:
        QTest.keyClick(sidebar.chats, Qt.Key.Key_Delete)
    assert asked.args == ["c2"]


def test_marking_the_chat_on_screen_emits_nothing(qtbot: QtBot, sidebar: Sidebar) -> None:
    with qtbot.assertNotEmitted(sidebar.chats.chat_selected):
        sidebar.set_current("c1")
        sidebar.set_current("gone")
        sidebar.set_current(None)


def test_neighbours_follow_the_order_on_screen(sidebar: Sidebar) -> None:
    sidebar.set_current("c1")
    assert sidebar.chats.neighbour(1) == "c2"
    assert sidebar.chats.neighbour(-1) == "c0"
    sidebar.set_current("c2")
    assert sidebar.chats.neighbour(1) is None
    sidebar.set_current(None)
    assert sidebar.chats.neighbour(1) == "c0"


def test_renaming_in_place(qtbot: QtBot, sidebar: Sidebar) -> None:
    asked: list[tuple[str, str]] = []
    sidebar.chats.rename_requested.connect(lambda key, title: asked.append((key, title)))
    sidebar.rename("c1")
    editor = sidebar.chats.findChild(QLineEdit, "renameEdit")
    assert isinstance(editor, QLineEdit)
    assert editor.text() == "Chat 1"
    editor.setText("Better")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: asked == [("c1", "Better")])


def test_escape_leaves_the_title_as_it_was(qtbot: QtBot, sidebar: Sidebar) -> None:
    sidebar.rename("c1")
    editor = sidebar.chats.findChild(QLineEdit, "renameEdit")
    assert isinstance(editor, QLineEdit)
    editor.setText("Better")
    with qtbot.assertNotEmitted(sidebar.chats.rename_requested):
        QTest.keyClick(editor, Qt.Key.Key_Escape)


def test_the_context_menu_asks_for_what_it_says(qtbot: QtBot, sidebar: Sidebar) -> None:
    chats = sidebar.chats
    asked: list[object] = []
    chats.pin_requested.connect(lambda key, pinned: asked.append(("pin", key, pinned)))
    chats.duplicate_requested.connect(lambda key: asked.append(("duplicate", key)))
    chats.copy_requested.connect(lambda key: asked.append(("copy", key)))
    chats.export_requested.connect(lambda key: asked.append(("export", key)))
    chats.chat_settings_requested.connect(lambda key: asked.append(("settings", key)))
    chats.delete_requested.connect(lambda key: asked.append(("delete", key)))
    menu = chats.menu_for("c1")
    assert menu is not None
    actions = {action.text(): action for action in menu.actions() if action.text()}
    for text in ("Pin", "Duplicate", "Copy as Markdown", "Export…", "Chat settings…", "Delete"):
        actions[text].trigger()
    assert asked == [
        ("pin", "c1", True),
        ("duplicate", "c1"),
        ("copy", "c1"),
        ("export", "c1"),
        ("settings", "c1"),
        ("delete", "c1"),
    ]
    assert chats.menu_for("gone") is None


def test_a_search_replaces_the_list_and_escape_brings_it_back(
    qtbot: QtBot, sidebar: Sidebar
) -> None:
    asked: list[str] = []
    sidebar.search_changed.connect(asked.append)
    sidebar.focus_search()
    QTest.keyClicks(search_field(sidebar), "ca")
    qtbot.waitUntil(lambda: asked == ["c", "ca"])
    sidebar.set_results("ca", hits("c0", "c2"))
    assert sidebar.results.isVisible()
    assert not sidebar.chats.isVisible()
    QTest.keyClick(search_field(sidebar), Qt.Key.Key_Escape)
    assert sidebar.chats.isVisible()
    assert asked[-1] == ""


def test_results_of_an_older_query_are_ignored(qtbot: QtBot, sidebar: Sidebar) -> None:
    search_field(sidebar).setText("new")
    sidebar.set_results("old", hits("c0"))
    assert not sidebar.results.isVisible()


def test_arrows_and_enter_work_from_within_the_search(qtbot: QtBot, sidebar: Sidebar) -> None:
    field = search_field(sidebar)
    field.setText("x")
    sidebar.set_results("x", hits("c0", "c1", "c2"))
    opened: list[tuple[str, str]] = []
    sidebar.hit_selected.connect(lambda chat, message: opened.append((chat, message)))
    QTest.keyClick(field, Qt.Key.Key_Down)
    QTest.keyClick(field, Qt.Key.Key_Return)
    QTest.keyClick(field, Qt.Key.Key_PageDown)
    QTest.keyClick(field, Qt.Key.Key_Up)
    QTest.keyClick(field, Qt.Key.Key_Up)
    QTest.keyClick(field, Qt.Key.Key_Up)
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert opened == [("c1", "m-c1"), ("c0", "m-c0")]


def test_down_in_an_empty_search_goes_to_the_list(qtbot: QtBot, sidebar: Sidebar) -> None:
    sidebar.focus_search()
    with qtbot.waitActive(sidebar):
        sidebar.activateWindow()
    QTest.keyClick(search_field(sidebar), Qt.Key.Key_Down)
    assert sidebar.chats.hasFocus()


def test_nothing_found_is_said(qtbot: QtBot, sidebar: Sidebar) -> None:
    search_field(sidebar).setText("<b>zebra</b>")
    sidebar.set_results("<b>zebra</b>", ())
    assert sidebar._nothing.isVisible()
    assert sidebar._nothing.text() == "No chat contains “<b>zebra</b>”."


def test_pages_are_offered_above_the_settings(qtbot: QtBot, sidebar: Sidebar) -> None:
    sidebar.add_page("models", "Models", "models")
    buttons = [b for b in sidebar.findChildren(QPushButton) if b.property("kind") == "nav"]
    assert {b.text() for b in buttons} == {"Settings", "Models"}
    models = next(b for b in buttons if b.text() == "Models")
    with qtbot.waitSignal(sidebar.page_requested) as asked:
        models.click()
    assert asked.args == ["models"]
    assert models.isChecked()
    sidebar.set_page("chat")
    assert not models.isChecked()


@pytest.mark.parametrize("fewer", [1, 100], ids=["one row goes", "another list"])
def test_thousands_of_chats_keep_their_place(qtbot: QtBot, sidebar: Sidebar, fewer: int) -> None:
    sidebar.set_chats(entries(3000))
    bar = sidebar.chats.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 5000)
    bar.setValue(5000)
    before = bar.maximum()
    sidebar.set_chats(entries(3000 - fewer))
    qtbot.waitUntil(lambda: bar.maximum() < before)
    assert bar.value() == 5000


def test_a_title_that_is_edited_stays_so_while_another_chat_is_answered(
    qtbot: QtBot, sidebar: Sidebar
) -> None:
    first, second, third = entries(3)
    sidebar.rename("c1")
    editor = sidebar.chats.findChild(QLineEdit, "renameEdit")
    assert isinstance(editor, QLineEdit)
    editor.setText("Half a ti")
    sidebar.set_chats([replace(third, updated=NOW + timedelta(1), answering=True), first, second])
    assert sidebar.chats.chats.keys() == ["c2", "c0", "c1"]
    assert sidebar.chats.findChild(QLineEdit, "renameEdit") is editor
    assert editor.text() == "Half a ti"
    with qtbot.waitSignal(sidebar.chats.rename_requested) as asked:
        QTest.keyClick(editor, Qt.Key.Key_Return)
    assert asked.args == ["c1", "Half a ti"]


@pytest.mark.parametrize("percent", [75, 100, 200])
def test_rows_grow_with_the_text(sidebar: Sidebar, themes: ThemeManager, percent: int) -> None:
    themes.set_text_size(percent)
    height = sidebar.chats.visualRect(sidebar.chats.chats.index_of("c0")).height()
    assert height == pytest.approx(34 * percent / 100, abs=1)


def test_a_snippet_begins_shortly_before_its_mark() -> None:
    text = "a long beginning that nobody needs to read, then the word and the rest"
    start = text.index("word")
    line, marks = shortened(SearchHit("c", "m", "t", text, ((start, 4),)))
    assert line.startswith("…")
    assert line[marks[0][0] : marks[0][0] + marks[0][1]] == "word"
    assert marks[0][0] <= 20
    assert shortened(SearchHit("c", "m", "t", "word\nnext", ((0, 4),))) == (
        "word next",
        ((0, 4),),
    )
    assert shortened(SearchHit("c", None, "t", "no mark")) == ("no mark", ())


def test_on_a_low_window_the_pages_are_icons_and_the_chats_have_room(
    sidebar: Sidebar, qtbot: QtBot
) -> None:
    for key, title, icon in (("models", "Models", "models"), ("planner", "Planner", "planner")):
        sidebar.add_page(key, title, icon)
    page = sidebar._pages["planner"]
    assert page.text() == "Planner"
    sidebar.resize(236, 240)
    assert (page.text(), page.accessibleName(), page.toolTip()) == ("", "Planner", "Planner")
    qtbot.waitUntil(lambda: 0 < page.y() == sidebar._settings.y())
    assert sidebar._stack.height() >= 70
    sidebar.resize(236, 600)
    assert (page.text(), page.toolTip()) == ("Planner", "")
    qtbot.waitUntil(lambda: page.y() < sidebar._settings.y())


@pytest.mark.parametrize(("mark", "is_left"), [("", False), ("\u200f", True)])
def test_a_title_that_is_cut_ends_where_its_script_ends(
    sidebar: Sidebar, mark: str, is_left: bool
) -> None:
    """Letters are tall and an ellipsis is low, so its side shows in the picture."""
    sidebar.set_chats([ChatEntry("long", mark + "M" * 80, NOW)])
    chats = sidebar.chats
    row = chats.visualRect(chats.chats.index_of("long"))
    picture = chats.viewport().grab(row).toImage()
    ground = picture.pixel(picture.width() // 2, 3)
    ink = [
        (x, y)
        for x in range(4, picture.width() - 4)
        for y in range(4, picture.height() - 4)
        if picture.pixel(x, y) != ground
    ]
    left, right = min(x for x, _ in ink), max(x for x, _ in ink)

    def rise(near: int) -> int:
        rows = [y for x, y in ink if abs(x - near) < 5]
        return max(rows) - min(rows)

    assert (rise(left) < rise(right) / 2) is is_left
    assert (rise(right) < rise(left) / 2) is not is_left


def test_a_list_that_goes_on_is_told_apart_from_the_pages(qtbot: QtBot, sidebar: Sidebar) -> None:
    for name in ("Models", "Compare"):
        sidebar.add_page(name, name, "models")
    pages = [button for button in sidebar.findChildren(QPushButton) if button.text() == "Models"]
    qtbot.waitUntil(lambda: pages[0].y() > 0)  # it is laid out
    assert sidebar._rule.isHidden()
    top = pages[0].y()
    sidebar.set_chats(entries(60))
    qtbot.waitUntil(sidebar._rule.isVisible)
    assert sidebar.chats.geometry().bottom() <= sidebar._rule.y() < pages[0].y()
    assert pages[0].y() == top  # the line has its room from the beginning
    search_field(sidebar).setText("nothing of that kind")
    sidebar.set_results("nothing of that kind", ())
    assert sidebar._rule.isHidden()
    sidebar.clear_search()
    assert sidebar._rule.isVisible()
    sidebar.set_chats(entries(2))
    qtbot.waitUntil(sidebar._rule.isHidden)

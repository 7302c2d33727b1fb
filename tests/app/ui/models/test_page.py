"""The Models page: what is chosen, what can be done with it, and what stands there otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from app.ui.models.page import ModelsPage
from app.ui.models.tree import LibraryTree
from app.ui.models.tree_model import COLUMNS
from app.ui.theme import ThemeManager
from tests.app.ui.models.conftest import LARGE, VIEW

NO_KEYS = Qt.KeyboardModifier.NoModifier


def enabled(page: ModelsPage) -> set[str]:
    bar = page.actions_bar
    buttons = {"chat": bar.chat, "details": bar.details, "plan": bar.plan, "make": bar.make}
    buttons |= {"compare": bar.compare}
    found = {name for name, button in buttons.items() if button.isEnabled()}
    return found | ({"more"} if bar.more.isEnabled() else set())


def actions(page: ModelsPage) -> dict[str, bool]:
    menu = page.menu()
    assert menu is not None
    found = {action.text(): action.isEnabled() for action in menu.actions() if action.text()}
    menu.close()
    return found


def trigger(page: ModelsPage, text: str) -> None:
    menu = page.menu()
    assert menu is not None
    next(action for action in menu.actions() if action.text() == text).trigger()
    menu.close()


# --- choosing


def test_nothing_chosen_offers_nothing(page: ModelsPage) -> None:
    assert enabled(page) == set()
    assert page.menu() is None
    assert "Ctrl" in page.actions_bar._words.text()


def test_one_variant_offers_everything_but_comparing(page: ModelsPage) -> None:
    page.tree.choose(["/llama-q4"])
    assert enabled(page) == {"chat", "details", "plan", "make", "more"}
    assert page.actions_bar._words.text() == "Llama-8B · Q4_K_M"


@pytest.mark.parametrize(
    ("button", "signal"),
    [
        ("chat", "chat_requested"),
        ("details", "details_requested"),
        ("plan", "plan_requested"),
        ("make", "make_requested"),
    ],
)
def test_buttons_name_the_chosen_variant(
    qtbot: QtBot, page: ModelsPage, button: str, signal: str
) -> None:
    page.tree.choose(["/llama-q6"])
    with qtbot.waitSignal(getattr(page, signal)) as asked:
        getattr(page.actions_bar, button).click()
    assert asked.args == ["/llama-q6"]


def test_several_variants_can_be_compared(qtbot: QtBot, page: ModelsPage) -> None:
    page.tree.choose(["/llama-q4", "/gemma"])
    assert enabled(page) == {"compare", "more"}
    assert page.actions_bar.compare.text() == "Compare 2"
    with qtbot.waitSignal(page.compare_requested) as asked:
        page.actions_bar.compare.click()
    assert asked.args == [("/gemma", "/llama-q4")]


def test_no_more_than_six_are_compared(page: ModelsPage) -> None:
    group = VIEW.groups[0]
    many = tuple(replace(group.variants[2], key=f"/v{number}") for number in range(7))
    page.set_library(replace(VIEW, groups=(replace(group, variants=many),)))
    page.tree.choose([row.key for row in many])
    assert "compare" not in enabled(page)
    assert "6" in page.actions_bar.compare.toolTip()


def test_a_group_compares_those_of_its_variants_that_fit(qtbot: QtBot, page: ModelsPage) -> None:
    page.tree.setCurrentIndex(page.tree.library.index_of("llama"))
    assert enabled(page) == {"compare"}
    with qtbot.waitSignal(page.compare_requested) as asked:
        page.actions_bar.compare.click()
    assert asked.args == [("/llama-q6", "/llama-q4")]


def test_a_broken_file_has_details_and_no_more(qtbot: QtBot, page: ModelsPage) -> None:
    page.tree.setExpanded(page.tree.library.index_of("broken"), True)
    page.tree.choose(["/cut"])
    assert enabled(page) == {"details", "more"}
    with (
        qtbot.waitSignal(page.details_requested),
        qtbot.assertNotEmitted(page.chat_requested),
    ):
        QTest.keyClick(page.tree, Qt.Key.Key_Return)


def test_a_projector_has_details_and_no_more(page: ModelsPage) -> None:
    page.tree.choose(["/mmproj"])
    assert enabled(page) == {"details", "more"}
    assert page.actions_bar._words.text() == "Llama-8B · Projector"


# --- the menu


def test_the_menu_of_one(qtbot: QtBot, page: ModelsPage) -> None:
    page.tree.choose(["/llama-q4"])
    found = actions(page)
    assert [text for text, able in found.items() if not able] == ["Compare"]
    for text, signal, args in (
        ("Load settings…", page.load_settings_requested, ["/llama-q4"]),
        ("Open its folder", page.folder_opened, ["/llama-q4"]),
        ("Show it in the file manager", page.revealed, ["/llama-q4"]),
        ("Remove from the list", page.hide_requested, [["/llama-q4"]]),
        ("Move to the trash…", page.trash_requested, [["/llama-q4"]]),
    ):
        with qtbot.waitSignal(signal) as asked:
            trigger(page, text)
        assert asked.args == args
    trigger(page, "Copy path")
    assert QGuiApplication.clipboard().text() == "/llama-q4"


def test_what_is_hidden_can_be_put_back(qtbot: QtBot, page: ModelsPage) -> None:
    group = VIEW.groups[1]
    hidden = replace(group, variants=(replace(group.variants[0], is_hidden=True),))
    page.set_library(replace(VIEW, groups=(hidden,), hidden=1))
    page.toolbar.filter.setCurrentText("Removed from the list (1)")
    page.tree.choose(["/gemma"])
    assert "Remove from the list" not in actions(page)
    with qtbot.waitSignal(page.put_back_requested) as asked:
        trigger(page, "Put back into the list")
    assert asked.args == [["/gemma"]]


def test_the_menu_opens_at_the_pointer_and_by_its_key(page: ModelsPage) -> None:
    page.tree.choose(["/gemma"])
    for reason in (QContextMenuEvent.Reason.Mouse, QContextMenuEvent.Reason.Keyboard):
        event = QContextMenuEvent(reason, QPoint(20, 20), page.tree.mapToGlobal(QPoint(20, 20)))
        QApplication.sendEvent(page.tree.viewport(), event)
        (menu,) = [m for m in page.findChildren(QMenu) if m.isVisible()]
        menu.close()


# --- the list


def row_centre(tree: LibraryTree, key: str) -> QPoint:
    return tree.visualRect(tree.library.index_of(key)).center()


def test_a_click_folds_and_unfolds_a_group(page: ModelsPage) -> None:
    tree = page.tree
    group = tree.library.index_of("llama")
    assert tree.isExpanded(group)
    assert not tree.isExpanded(tree.library.index_of("broken"))
    QTest.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, NO_KEYS, row_centre(tree, "llama"))
    assert not tree.isExpanded(group)
    # It stays so when the library is read again.
    page.set_library(replace(VIEW, summary="again"))
    assert not tree.isExpanded(tree.library.index_of("llama"))
    QTest.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, NO_KEYS, row_centre(tree, "llama"))
    assert tree.isExpanded(tree.library.index_of("llama"))


def test_the_list_is_worked_with_keys(qtbot: QtBot, page: ModelsPage) -> None:
    tree = page.tree
    tree.setFocus()
    tree.setCurrentIndex(tree.library.index_of("llama"))
    QTest.keyClick(tree, Qt.Key.Key_Space)
    assert not tree.isExpanded(tree.currentIndex())
    QTest.keyClick(tree, Qt.Key.Key_Right)
    assert tree.isExpanded(tree.library.index_of("llama"))
    QTest.keyClick(tree, Qt.Key.Key_Down)
    assert tree.chosen() == ["/llama-q8"]
    QTest.keyClick(tree, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert tree.chosen() == ["/llama-q8", "/llama-q6"]
    with qtbot.waitSignal(page.trash_requested) as asked:
        QTest.keyClick(tree, Qt.Key.Key_Delete)
    assert asked.args == [["/llama-q8", "/llama-q6"]]
    with qtbot.waitSignal(page.chat_requested) as chat:
        QTest.keyClick(tree, Qt.Key.Key_Return)
    assert chat.args == ["/llama-q6"]
    QTest.keyClick(tree, Qt.Key.Key_Left)
    assert tree.chosen_group() == "llama"


def test_the_search_leads_into_the_list(page: ModelsPage) -> None:
    page.activateWindow()
    page.tree.setFocus()
    QTest.keyClick(page.tree, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert page.toolbar.search.hasFocus()
    QTest.keyClicks(page.toolbar.search, "gemma")
    QTest.keyClick(page.toolbar.search, Qt.Key.Key_Down)
    assert page.tree.hasFocus()
    QTest.keyClick(page.tree, Qt.Key.Key_Down)
    assert page.tree.chosen() == ["/gemma"]


def test_the_row_below_the_pointer_is_marked(page: ModelsPage) -> None:
    tree = page.tree
    centre = row_centre(tree, "/gemma")
    # From another row, for a pointer that is there already does not move; and the platform's own
    # pointer may be over any.
    QTest.mouseMove(tree.viewport(), row_centre(tree, "llama"))
    tree.leaveEvent(QEvent(QEvent.Type.Leave))
    row = tree.visualRect(tree.indexAt(centre))  # other rows may change: it may be over them again
    before = tree.viewport().grab(row).toImage()
    QTest.mouseMove(tree.viewport(), centre)
    QApplication.processEvents()
    assert tree._hovered.data() == "Q4_0"
    assert tree.viewport().grab(row).toImage() != before
    tree.leaveEvent(QEvent(QEvent.Type.Leave))
    assert not tree._hovered.isValid()
    assert tree.viewport().grab(row).toImage() == before


def test_a_double_click_chats(qtbot: QtBot, page: ModelsPage) -> None:
    place = row_centre(page.tree, "/gemma")
    with qtbot.waitSignal(page.chat_requested) as asked:
        QTest.mouseDClick(page.tree.viewport(), Qt.MouseButton.LeftButton, NO_KEYS, place)
        # It presses a last time and holds.
        QTest.mouseRelease(page.tree.viewport(), Qt.MouseButton.LeftButton, NO_KEYS, place)
    assert asked.args == ["/gemma"]


def test_what_is_chosen_stays_chosen(page: ModelsPage) -> None:
    page.tree.choose(["/llama-q4", "/gemma"])
    page.set_library(replace(VIEW, summary="again"))
    assert page.tree.chosen() == ["/gemma", "/llama-q4"]
    page.toolbar.set_sort("bits")
    assert set(page.tree.chosen()) == {"/gemma", "/llama-q4"}
    page.set_fits({"/gemma": LARGE})
    assert set(page.tree.chosen()) == {"/gemma", "/llama-q4"}
    page.toolbar.search.setText("gemma")
    assert page.tree.chosen() == ["/gemma"]


def test_a_heading_orders_the_list(page: ModelsPage) -> None:
    page.tree.header().sectionClicked.emit(1)
    assert page.toolbar.sort.currentText() == "By size"
    assert [row.key for row in page.tree.library.variants()][:2] == ["/gemma", "/llama-q4"]


@pytest.mark.parametrize(("width", "columns"), [(1132, 9), (716, 6), (560, 4), (420, 3)])
def test_columns_give_way_on_a_narrow_page(page: ModelsPage, width: int, columns: int) -> None:
    page.resize(width + 60, 600)
    header = page.tree.header()
    shown = [n for n in range(header.count()) if not header.isSectionHidden(n)]
    assert len(shown) == columns
    assert header.length() <= page.tree.viewport().width() + 1
    assert header.sectionSize(0) >= 120


@pytest.mark.parametrize(("width", "size"), [(1204, 1.0), (796, 1.0), (670, 2.0), (430, 2.0)])
def test_every_figure_is_drawn_whole_at_any_size(
    page: ModelsPage, themes: ThemeManager, width: int, size: float
) -> None:
    themes.set_text_size(round(100 * size))
    page.resize(width, 600)
    tree = page.tree
    index = tree.library.index_of("/llama-q4")
    tree.scrollTo(index)
    QApplication.processEvents()
    row = tree.visualRect(index)
    extra, px = tree._extra, themes.theme.px
    assert row.height() == px(46) + len(extra.lines) * px(19)
    heading = tree.visualRect(index.parent())
    assert heading.height() == px(46)  # headings have no figures below them
    header = tree.header()
    shown = {str(name) for n, name in enumerate(COLUMNS) if not header.isSectionHidden(n)}
    placed = {*extra.beside, *(name for line in extra.lines for name in line)}
    assert shown | placed == set(COLUMNS)
    assert not shown & placed
    # What is said above the list wraps; nothing of it is left out.
    for label in (page.toolbar._summary, page.toolbar._basis):
        assert label.heightForWidth(label.width()) <= label.height() or not label.wordWrap()
        if not label.wordWrap():
            assert label.fontMetrics().horizontalAdvance(label.text()) <= label.width()


def test_rows_draw_in_either_direction(page: ModelsPage, themes: ThemeManager) -> None:
    def picture() -> bytes:
        QApplication.processEvents()
        image = page.tree.grab().toImage()  # owns the bits, so it has to live on
        return bytes(image.constBits())

    left = picture()
    page.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    right = picture()
    assert left != right
    themes.set_mode("light")
    assert picture() != right
    themes.set_mode("dark")

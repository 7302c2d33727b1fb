"""The Models page: what is chosen, what can be done with it, and what stands there otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, QRect, Qt, QUrl
from PySide6.QtGui import QContextMenuEvent, QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.ui.models.page import ModelsPage
from app.ui.models.tree import LibraryTree
from app.ui.models.views import LibraryView, ScanView
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
    before = tree.grab().toImage()
    QTest.mouseMove(tree.viewport(), row_centre(tree, "/gemma"))
    QApplication.processEvents()
    assert tree._hovered.data() == "Q4_0"
    assert tree.grab().toImage() != before
    tree.leaveEvent(QEvent(QEvent.Type.Leave))
    assert not tree._hovered.isValid()
    assert tree.grab().toImage() == before


def test_a_double_click_chats(qtbot: QtBot, page: ModelsPage) -> None:
    place = row_centre(page.tree, "/gemma")
    with qtbot.waitSignal(page.chat_requested) as asked:
        QTest.mouseDClick(page.tree.viewport(), Qt.MouseButton.LeftButton, NO_KEYS, place)
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


def test_rows_draw_in_either_direction(page: ModelsPage, themes: ThemeManager) -> None:
    def picture() -> bytes:
        QApplication.processEvents()
        return bytes(page.tree.grab().toImage().constBits())

    left = picture()
    page.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    right = picture()
    assert left != right
    themes.set_mode("light")
    assert picture() != right
    themes.set_mode("dark")


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
    assert page.minimumSizeHint().width() <= width
    assert page.minimumSizeHint().height() <= height
    bar, foot = page.toolbar, page.actions_bar
    controls = [bar.search, bar.filter, bar.sort, bar._add, bar._again, bar._get]
    buttons = [foot.chat, foot.more]
    buttons += [b for b in (foot.details, foot.plan, foot.make, foot.compare) if b.isVisible()]
    for holder, widgets in ((bar, controls), (foot, buttons)):
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

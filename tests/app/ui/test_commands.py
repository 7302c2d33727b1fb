from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot

from app.ui.main_window import MainWindow

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


def trigger(window: MainWindow, key: str) -> None:
    window.actions_by_key[key].trigger()


@pytest.mark.parametrize(
    "key",
    [
        "unload_model",
        "get_models",
        "import_chats",
        "export_all",
        "regenerate",
        "copy_reply",
        "text_larger",
        "text_smaller",
        "text_normal",
        "logs",
        "updates",
        "about",
    ],
)
def test_commands_of_others_leave_the_window(qtbot: QtBot, window: MainWindow, key: str) -> None:
    window.actions_by_key[key].setEnabled(True)
    with qtbot.waitSignal(window.action_triggered) as triggered:
        trigger(window, key)
    assert triggered.args == [key]


def test_commands_of_a_chat_act_on_the_one_on_screen(window: MainWindow) -> None:
    chats = window.sidebar.chats
    asked: list[tuple[object, ...]] = []
    chats.delete_requested.connect(lambda key: asked.append(("delete", key)))
    chats.duplicate_requested.connect(lambda key: asked.append(("duplicate", key)))
    chats.export_requested.connect(lambda key: asked.append(("export", key)))
    chats.chat_settings_requested.connect(lambda key: asked.append(("settings", key)))
    chats.pin_requested.connect(lambda key, pinned: asked.append(("pin", key, pinned)))
    keys = ("delete_chat", "duplicate_chat", "export_chat", "chat_settings", "pin_chat")
    for key in keys:
        trigger(window, key)
    assert asked == [
        ("delete", "c1"),
        ("duplicate", "c1"),
        ("export", "c1"),
        ("settings", "c1"),
        ("pin", "c1", True),
    ]
    window.sidebar.set_current(None)
    for key in (*keys, "rename_chat"):
        trigger(window, key)
    assert len(asked) == 5


def test_chats_are_gone_through_by_keys(window: MainWindow) -> None:
    opened: list[str] = []
    window.sidebar.chats.chat_selected.connect(opened.append)
    QTest.keyClick(window, Qt.Key.Key_PageDown, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(window, Qt.Key.Key_PageUp, Qt.KeyboardModifier.ControlModifier)
    assert opened == ["c2", "c0"]


def test_rename_brings_the_sidebar_back(window: MainWindow) -> None:
    window.toggle_sidebar()
    QTest.keyClick(window, Qt.Key.Key_F2)
    assert window.sidebar.isVisible()
    assert window.sidebar.chats.findChild(QLineEdit, "renameEdit") is not None


def test_search_and_composer_by_keys(window: MainWindow) -> None:
    window.toggle_sidebar()
    QTest.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert window.sidebar._search.hasFocus()
    QTest.keyClick(window, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert window.chat.composer.edit.hasFocus()


def test_escape_stops_a_reply_while_one_is_written(qtbot: QtBot, window: MainWindow) -> None:
    composer = window.chat.composer
    with qtbot.assertNotEmitted(composer.stop_requested):
        QTest.keyClick(composer.edit, Qt.Key.Key_Escape)
    window.set_generating(True)
    with qtbot.waitSignal(composer.stop_requested):
        QTest.keyClick(composer.edit, Qt.Key.Key_Escape)
    window.set_generating(False)
    assert not window.actions_by_key["stop"].isEnabled()


def test_escape_in_a_search_ends_the_search_first(qtbot: QtBot, window: MainWindow) -> None:
    window.set_generating(True)
    search = window.sidebar._search
    window.sidebar.focus_search()
    search.setText("cache")
    with qtbot.assertNotEmitted(window.chat.composer.stop_requested):
        QTest.keyClick(search, Qt.Key.Key_Escape)
    assert search.text() == ""
    with qtbot.waitSignal(window.chat.composer.stop_requested):
        QTest.keyClick(search, Qt.Key.Key_Escape)


def test_the_picker_opens_by_keys_and_by_the_pill(qtbot: QtBot, window: MainWindow) -> None:
    modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    with qtbot.waitSignal(window.picker.opened):
        QTest.keyClick(window, Qt.Key.Key_M, modifiers)
    assert window.picker.isVisible()
    window.picker.close()
    with qtbot.waitSignal(window.picker.opened):
        window.header.model.button.click()
    window.picker.close()


def test_a_chosen_file_is_handed_over(qtbot: QtBot, window: MainWindow) -> None:
    window.choose_model_file()
    dialog = window.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    with qtbot.waitSignal(window.model_wanted) as opened:
        dialog.fileSelected.emit("/m/llama.gguf")
    assert opened.args == ["/m/llama.gguf"]
    dialog.close()


def test_the_keyboard_map_opens(window: MainWindow) -> None:
    QTest.keyClick(window, Qt.Key.Key_F1)
    dialog = window.findChild(QWidget, "keyboardMap")
    assert isinstance(dialog, QWidget)
    assert dialog.isVisible()
    dialog.close()


def test_quit_closes_the_window_and_says_so(qtbot: QtBot, window: MainWindow) -> None:
    with qtbot.waitSignal(window.closing):
        trigger(window, "quit")
    assert not window.isVisible()


def test_full_screen_and_back(qtbot: QtBot, window: MainWindow) -> None:
    trigger(window, "full_screen")
    qtbot.waitUntil(window.isFullScreen)
    assert window.actions_by_key["full_screen"].isChecked()
    trigger(window, "full_screen")
    qtbot.waitUntil(lambda: not window.isFullScreen())


def test_menus_hold_every_command(window: MainWindow) -> None:
    menu = window.header._menu.menu()
    found = {action.objectName() for action in menu.actions()}
    for inner in menu.findChildren(QMenu):
        found |= {action.objectName() for action in inner.actions()}
    found.discard("")  # titles of menus, and the lines between groups
    assert found == {action.objectName() for action in window.actions()}

from __future__ import annotations

from collections import Counter

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.ui.actions import ACTIONS, Actions


def _keys() -> list[str]:
    return [key for spec in ACTIONS for key in spec.shortcuts]


def test_no_key_is_taken_twice() -> None:
    doubled = [key for key, count in Counter(_keys()).items() if count > 1]
    assert doubled == []


def test_every_key_can_be_read_by_qt(qtbot: QtBot) -> None:
    for key in _keys():
        sequence = QKeySequence(key)
        assert sequence.count() == 1, key
        assert sequence.toString(), key


def test_keys_of_text_fields_and_of_macos_are_left_alone() -> None:
    taken = {f"Ctrl+{key}" for key in ("A", "C", "V", "X", "Y", "H", "M", "W")}
    # Ctrl+Z is a field's first: see app.ui.shell.undo_toast.UndoKey.
    assert not taken & set(_keys())


def test_names_are_unique_and_texts_plain() -> None:
    names = [spec.key for spec in ACTIONS]
    assert len(set(names)) == len(names)
    assert all(spec.text and spec.text[0].isupper() for spec in ACTIONS)


def test_actions_call_back_with_their_name(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    done: list[str] = []
    actions = Actions(window, done.append)
    actions["new_chat"].trigger()
    actions["sidebar"].trigger()
    assert done == ["new_chat", "sidebar"]
    actions["stop"].trigger()  # disabled until a reply is written
    assert done == ["new_chat", "sidebar"]
    assert actions.hint("new_chat") == "Ctrl+N"
    assert set(window.actions()) == {actions[spec.key] for spec in ACTIONS}


def test_menus_come_from_the_table(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    actions = Actions(window, lambda _key: None)
    texts = [action.text() for action in actions.menu("chat", window).actions() if action.text()]
    assert texts == [spec.text for spec in ACTIONS if spec.where == "chat"]

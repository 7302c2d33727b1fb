from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.ui.main_window import MainWindow
from app.ui.shell.views import Choice, HeaderModel, Notice, Overflow

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


def _click(button: QWidget) -> None:
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def test_a_click_leaves_the_keyboard_in_the_composer(qtbot: QtBot, window: MainWindow) -> None:
    composer, search = window.chat.composer, window.sidebar._search
    choices = (Choice("do", "Do it"),)
    window.chat.notices.show_notice(Notice("n", "Said.", choices=choices, details="more"))
    window.chat.overflow.set_overflow(Overflow("Too long.", choices))
    window.show_undo("“Chat 1” was deleted.", "c1")
    composer.set_text("question")
    overflow = window.chat.overflow.bar
    assert overflow is not None
    notice = window.chat.notices.bar("n")
    qtbot.waitUntil(lambda: overflow.isVisible() and notice.isVisible())
    buttons = (
        composer._send,
        window.toast.undo_button,
        overflow.buttons()[0],
        notice.buttons()[0],
        notice._unfold,
    )
    for button in buttons:
        for before in (search, composer.edit):
            window.show_undo("“Chat 1” was deleted.", "c1")
            before.setFocus()
            _click(button)
            assert composer.edit.hasFocus(), (button, before)


def test_a_button_that_goes_gives_the_keyboard_to_the_composer(
    qtbot: QtBot, window: MainWindow
) -> None:
    composer = window.chat.composer
    choices = (Choice("do", "Do it"),)
    window.chat.notices.show_notice(Notice("n", "Said.", choices=choices))
    window.chat.overflow.set_overflow(Overflow("Too long.", choices))
    window.show_undo("“Chat 1” was deleted.", "c1")
    window.header.model.set_model(HeaderModel("loading", "Llama"))
    composer.set_text("question")
    overflow = window.chat.overflow.bar
    assert overflow is not None
    leaving: list[tuple[QWidget, Callable[[], None]]] = [
        (composer._send, composer.clear),
        (window.toast.undo_button, window.toast.dismiss),
        (overflow.buttons()[0], lambda: window.chat.overflow.set_overflow(None)),
        (
            window.chat.notices.bar("n").buttons()[0],
            lambda: window.chat.notices.remove_notice("n"),
        ),
        (
            window.header.model._cancel,
            lambda: window.header.model.set_model(HeaderModel("loaded", "Llama")),
        ),
    ]
    for button, leave in leaving:
        button.setFocus()
        assert button.hasFocus()
        leave()
        assert composer.edit.hasFocus(), button


def test_everything_that_takes_the_focus_has_a_name(window: MainWindow) -> None:
    window.add_page("models", "Models", "models", QLabel())
    window.set_inspector(QLabel("inspector"))
    window.chat.notices.show_notice(Notice("n", "Said.", details="more"))
    for kind in (QAbstractButton, QLineEdit, QPlainTextEdit, QComboBox):
        for widget in window.findChildren(kind):
            if widget.focusPolicy() == Qt.FocusPolicy.NoFocus:
                continue
            text = widget.text() if isinstance(widget, QAbstractButton) else ""
            assert widget.accessibleName() or text, widget

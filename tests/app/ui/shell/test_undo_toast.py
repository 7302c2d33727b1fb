"""What was done can be undone: for some seconds by the toast, by Ctrl+Z for longer."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QAction, QEnterEvent, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.ui.shell.undo_toast import UndoKey, UndoToast
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@pytest.fixture
def toast(qtbot: QtBot, themes: ThemeManager) -> UndoToast:
    toast = UndoToast(themes)
    qtbot.addWidget(toast)
    return toast


def test_what_was_done_is_said_whatever_the_title(qtbot: QtBot, toast: UndoToast) -> None:
    toast.offer(f"“{'A very long title of a chat ' * 6}” was deleted.", "one")
    toast.set_widest(400)
    label = toast._text
    qtbot.waitUntil(label.is_elided)
    shown = label.fontMetrics().elidedText(label.text(), label._mode, label.width())
    assert shown.startswith("“A very")
    assert shown.endswith("” was deleted.")


def test_offers_are_undone_from_the_newest_on(toast: UndoToast) -> None:
    said: list[tuple[str, str]] = []
    toast.undone.connect(lambda token: said.append(("undone", token)))
    toast.expired.connect(lambda token: said.append(("expired", token)))
    for number in ("one", "two", "three"):
        toast.offer(f"{number} was deleted.", number)
    toast.undo_button.click()
    assert not toast.isVisible()
    assert not toast._timer.isActive()
    toast.undo_last()
    assert said == [("undone", "three"), ("undone", "two")]
    toast.offer("four was deleted.", "four")
    toast._timer.timeout.emit()  # off the screen, yet to be undone
    assert not toast.isVisible()
    toast.undo_last()
    assert said[2:] == [("undone", "four")]
    toast.forget_all()
    assert said[3:] == [("expired", "one")]
    assert not toast.is_available
    toast.undo_last()
    assert len(said) == 4


def test_not_everything_is_kept_for_ever(toast: UndoToast) -> None:
    gone: list[str] = []
    toast.expired.connect(gone.append)
    for number in range(UndoToast.MOST + 2):
        toast.offer("Deleted.", str(number))
    assert gone == ["0", "1"]


def test_time_stands_still_below_the_pointer_and_the_keyboard(
    qtbot: QtBot, toast: UndoToast
) -> None:
    assert UndoToast.SHOWN_MS >= 10_000
    toast.offer("Deleted.", "one")
    qtbot.waitExposed(toast)
    assert toast._timer.isActive()
    middle = QPointF(toast.rect().center())
    QApplication.sendEvent(toast, QEnterEvent(middle, middle, middle))
    assert not toast._timer.isActive()
    QApplication.sendEvent(toast, QEvent(QEvent.Type.Leave))
    assert toast._timer.isActive()
    toast.activateWindow()
    qtbot.waitUntil(toast.isActiveWindow)
    QApplication.sendEvent(toast, QEvent(QEvent.Type.Leave))  # the platform's own pointer
    toast.undo_button.setFocus(Qt.FocusReason.TabFocusReason)
    assert not toast._timer.isActive()
    toast.undo_button.clearFocus()
    assert toast._timer.isActive()


def test_the_key_undoes_in_a_field_that_has_nothing_of_its_own(
    qtbot: QtBot, themes: ThemeManager
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    field = QPlainTextEdit(window)
    column.addWidget(field)
    toast = UndoToast(themes, window)
    UndoKey(toast, field)
    action = QAction("Undo", window)
    action.setShortcut(QKeySequence("Ctrl+Z"))
    action.triggered.connect(toast.undo_last)
    window.addAction(action)
    window.show()
    with qtbot.waitActive(window):
        window.activateWindow()
    field.setFocus()
    undone: list[str] = []
    toast.undone.connect(undone.append)

    def press() -> None:
        QTest.keyClick(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)

    toast.offer("Deleted.", "one")
    toast.dismiss()
    press()
    assert undone == ["one"]
    QTest.keyClicks(field, "words")
    press()  # nothing is offered: the field's own
    assert field.toPlainText() == ""
    QTest.keyClicks(field, "draft")
    toast.offer("Deleted.", "two")  # on screen: it goes first
    press()
    assert (undone, field.toPlainText()) == (["one", "two"], "draft")
    toast.offer("Deleted.", "three")
    QTest.keyClicks(field, "ed")  # but not before what was typed since
    press()
    assert undone == ["one", "two"]
    assert field.toPlainText() != "drafted"

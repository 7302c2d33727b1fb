"""The keyboard stays where the user put it, and typing never acts on a message."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QKeyEvent, QPaintEvent, QRegion
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from app.ui.transcript.items import MessageAction, MessageView, NoticeAction
from app.ui.transcript.text_row import TextRow
from app.ui.transcript.view import Transcript
from tests.helpers.patient_bot import until_idle
from tests.helpers.transcript_probe import button, widgets

Key = Qt.Key
Modifier = Qt.KeyboardModifier


def _talk() -> list[MessageView]:
    return [
        MessageView("u1", "user", "Question one"),
        MessageView("a1", "assistant", "Answer one", version_index=1, version_count=3),
        MessageView("u2", "user", "Question two"),
        MessageView("a2", "assistant", "Answer two", version_index=1, version_count=3),
    ]


@pytest.fixture
def focused(qtbot: QtBot, view: Transcript) -> Iterator[Transcript]:
    view.activateWindow()
    view.set_messages(_talk())
    view.setFocus()
    qtbot.waitUntil(view.hasFocus)
    yield view
    for menu in view.findChildren(QMenu):
        menu.close()


def _menu(view: Transcript) -> QMenu:
    (menu,) = (menu for menu in view.findChildren(QMenu) if menu.isVisible())
    return menu


def test_typing_goes_to_the_composer_and_does_nothing_else(
    focused: Transcript, actions: list[MessageAction]
) -> None:
    typed: list[str] = []
    focused.typed.connect(typed.append)
    QTest.keyClicks(focused, "eErRgcCt7?")
    alt_gr = Modifier.ControlModifier | Modifier.AltModifier
    QApplication.sendEvent(focused, QKeyEvent(QEvent.Type.KeyPress, Key.Key_E, alt_gr, "é"))
    assert "".join(typed) == "eErRgcCt7?é"
    QTest.keyClick(focused, Key.Key_Q, Modifier.ControlModifier)
    QTest.keyClick(focused, Key.Key_Q, Modifier.AltModifier)
    for key in (Key.Key_Delete, Key.Key_Backspace, Key.Key_Space, Key.Key_Escape):
        QTest.keyClick(focused, key)
    assert len(typed) == 11
    assert actions == []


def test_typing_after_a_click_on_text_goes_to_the_composer(
    focused: Transcript, actions: list[MessageAction]
) -> None:
    typed: list[str] = []
    focused.typed.connect(typed.append)
    row = widgets(focused, TextRow)[0]
    QTest.mouseClick(row.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
    assert row.hasFocus()
    QTest.keyClicks(row, "er")
    assert typed == ["e", "r"]
    assert actions == []


def test_enter_opens_the_menu_of_the_message(
    focused: Transcript, actions: list[MessageAction]
) -> None:
    QTest.keyClick(focused, Key.Key_Return)
    words = {action.text(): action for action in _menu(focused).actions()}
    assert words["Delete"].shortcut().isEmpty()
    words["Delete"].trigger()
    assert actions == [MessageAction("delete", "a2")]


def test_enter_presses_the_button_that_has_the_focus(
    focused: Transcript, actions: list[MessageAction]
) -> None:
    regenerate = button(focused, "Regenerate")
    regenerate.setFocus()
    QTest.keyClick(regenerate, Key.Key_Return)
    assert actions == [MessageAction("regenerate", "a2")]


def test_menu_puts_the_marker_on_its_message(focused: Transcript) -> None:
    assert focused._navigator.current == "a2"
    focused.show_menu("u1", focused.mapToGlobal(QPoint(10, 10)), None)
    assert focused._navigator.current == "u1"


def test_click_puts_the_marker_on_the_message_under_the_mouse(focused: Transcript) -> None:
    focused.clearFocus()
    top = focused._flow.top_of(focused._flow.entries[1]) - focused._stage.position
    focused._navigator.hover(top + 2)
    focused.setFocus(Qt.FocusReason.MouseFocusReason)
    assert focused._navigator.current == "a1"


def test_stopped_reply_offers_to_continue_once(view: Transcript) -> None:
    offer = NoticeAction("Continue", "continue")
    stopped = MessageView("a", "assistant", "Half", state="stopped", actions=(offer,))
    view.set_messages([stopped])
    names = [b.accessibleName() or b.text() for b in widgets(view, QAbstractButton)]
    assert names.count("Continue") == 1
    view.update_message(MessageView("a", "assistant", "Half", state="stopped"))
    names = [b.accessibleName() or b.text() for b in widgets(view, QAbstractButton)]
    assert names.count("Continue") == 1


@pytest.mark.parametrize("name", ["Regenerate", "Next version", "Delete"])
def test_clicked_button_takes_no_focus(focused: Transcript, name: str) -> None:
    for message in (1, 3):
        top = focused._flow.top_of(focused._flow.entries[message]) - focused._stage.position
        focused._navigator.hover(top + 2)
        for found in widgets(focused, QAbstractButton):
            if found.accessibleName() == name:
                QTest.mouseClick(found, Qt.MouseButton.LeftButton)
                assert not isinstance(QApplication.focusWidget(), QAbstractButton)


@pytest.mark.parametrize("gone", [True, False])
def test_focus_of_a_button_that_goes_is_not_handed_to_another_message(
    focused: Transcript, gone: bool
) -> None:
    regenerate = button(focused, "Regenerate")
    regenerate.setFocus(Qt.FocusReason.TabFocusReason)
    if gone:
        focused.remove_message("a2")
    else:
        focused.update_message(MessageView("a2", "assistant", "", state="waiting"))
    assert QApplication.focusWidget() is focused


class _Drawn(QObject):
    """Takes down what of a viewport is drawn again."""

    def __init__(self, watched: QWidget) -> None:
        super().__init__(watched)
        self.area = QRegion()
        watched.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self.area += event.region()
        return False


def test_moving_the_mark_draws_its_two_places_and_not_the_whole_view(
    qtbot: QtBot, focused: Transcript
) -> None:
    QTest.keyClick(focused, Key.Key_Up)
    until_idle(qtbot)
    drawn = _Drawn(focused.viewport())
    focused.lay_out()
    until_idle(qtbot)
    assert drawn.area.isEmpty()
    before = QRegion(focused._navigator._mark)
    QTest.keyClick(focused, Key.Key_Up)
    after = QRegion(focused._navigator._mark)
    assert not before.isEmpty()
    assert not after.isEmpty()
    assert not before.intersects(after)
    qtbot.waitUntil(lambda: drawn.area.intersects(after))
    assert before.subtracted(drawn.area).isEmpty()
    assert after.subtracted(drawn.area).isEmpty()
    answer = next(text for text in widgets(focused, TextRow) if text.toPlainText() == "Answer two")
    assert not drawn.area.intersects(answer.geometry())

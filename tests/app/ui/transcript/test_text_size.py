"""Another text size: what lies beside the view takes it, too."""

from __future__ import annotations

from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager
from app.ui.transcript.items import MessageView, NoticeAction
from app.ui.transcript.view import Transcript


def _stopped(count: int) -> list[MessageView]:
    actions = (NoticeAction("Continue", "continue"),)
    return [
        MessageView(
            f"m{i}",
            "assistant" if i % 2 else "user",
            f"message {i} " * 12,
            state="stopped" if i % 2 else "complete",
            actions=actions if i % 2 else (),
        )
        for i in range(count)
    ]


def _misfits(view: Transcript) -> list[str]:
    """Return buttons in sight that have another size than they want."""
    buttons = [
        button
        for button in view.viewport().findChildren(QPushButton)
        if button.text() == "Continue" and not button.visibleRegion().isEmpty()
    ]
    assert buttons
    return [
        f"{button.size()} of {button.sizeHint()}"
        for button in buttons
        if button.size() != button.sizeHint()
    ]


def test_buttons_below_messages_follow_the_text_size(
    qtbot: QtBot, view: Transcript, themes: ThemeManager
) -> None:
    view.set_messages(_stopped(60))
    bar = view.verticalScrollBar()

    def settled() -> bool:
        return not themes.is_laying_on and not view._stage._idle.isActive()

    qtbot.waitUntil(settled)
    for percent in (200, 100, 150):
        themes.set_text_size(percent)
        for share in (1.0, 0.95, 0.9, 0.5, 1.0):
            bar.setValue(round(bar.maximum() * share))
            qtbot.waitUntil(lambda: view._stage.in_view_done)
            assert _misfits(view) == []
        qtbot.waitUntil(settled)
        assert _misfits(view) == []

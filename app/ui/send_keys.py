"""Which key sends what was written and which one breaks the line: the same wherever one writes."""

from __future__ import annotations

from typing import Literal, TypeAlias

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QKeyEvent

__all__ = ["SendKey", "is_enter", "line_hint", "send_name", "sends"]

SendKey: TypeAlias = Literal["enter", "ctrl_enter"]


def is_enter(event: QKeyEvent) -> bool:
    """Tell whether one of the two Enter keys was pressed."""
    return event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)


def sends(event: QKeyEvent, key: SendKey) -> bool:
    """Tell whether Enter, pressed so, sends; it breaks the line else. ``key`` is the setting."""
    modifiers = event.modifiers()
    if key == "ctrl_enter":
        return bool(modifiers & Qt.KeyboardModifier.ControlModifier)
    return not modifiers & Qt.KeyboardModifier.ShiftModifier


def send_name(key: SendKey) -> str:
    """Return the name of the key that sends."""
    return "Ctrl+Enter" if key == "ctrl_enter" else "Enter"


def line_hint(key: SendKey) -> str:
    """Say which key breaks the line."""
    name = "Enter" if key == "ctrl_enter" else "Shift+Enter"
    text = QCoreApplication.translate("SendKeys", "%1 breaks the line")
    return text.replace("%1", name)

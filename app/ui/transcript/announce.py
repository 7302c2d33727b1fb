"""What a screen reader is told of by itself, wherever its user is."""

from __future__ import annotations

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget

__all__ = ["announce"]


def announce(widget: QWidget, words: str) -> None:
    """Let a screen reader say something; nothing is made where none runs."""
    if QAccessible.isActive():
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, words))

"""What a reader of the transcript sees and touches, for tests."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QAbstractButton, QPlainTextEdit, QTextEdit, QWidget

from app.ui.transcript.view import Transcript

__all__ = ["button", "seen", "shown_text", "top_on_screen", "widgets"]

T = TypeVar("T", bound=QWidget)


def widgets(view: Transcript, kind: type[T]) -> list[T]:
    """Return the visible widgets of a class, from top to bottom."""
    found = [w for w in view.viewport().findChildren(kind) if w.isVisible()]
    return sorted(found, key=lambda w: w.mapTo(view.viewport(), QPoint()).y())


def shown_text(view: Transcript) -> str:
    """Return all text in view, from top to bottom."""
    return "\n".join(
        widget.toPlainText().replace("\u2028", "\n")
        for widget in widgets(view, QWidget)
        if isinstance(widget, QTextEdit | QPlainTextEdit)
    )


def top_on_screen(view: Transcript, needle: str) -> int:
    """Return how far below the top of the view the text widget with a text begins."""
    for widget in widgets(view, QTextEdit):
        if needle in widget.toPlainText():
            return widget.mapTo(view.viewport(), QPoint()).y()
    raise AssertionError(f"{needle!r} is not in view")


def seen(view: Transcript, needle: str) -> bool:
    """Tell whether a text is in view."""
    return needle in shown_text(view)


def button(view: Transcript, name: str) -> QAbstractButton:
    """Return the last visible button of an accessible name."""
    found = [b for b in widgets(view, QAbstractButton) if b.accessibleName() == name]
    assert found, (
        f"no button {name!r}: {[b.accessibleName() for b in widgets(view, QAbstractButton)]}"
    )
    return found[-1]

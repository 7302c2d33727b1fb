"""Fields that a page scrolls past: the mouse wheel belongs to the page, not to what lies on it.

Qt's own boxes change under a wheel that was meant for the page, with nobody noticing.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QWidget

__all__ = ["DecimalField", "PlainChoice", "is_for_page"]


def is_for_page(field: QWidget, event: QWheelEvent) -> bool:
    """Tell whether the wheel over a number or a slider is the page's, and let it have it.

    It is, unless the keyboard is on the field: then the wheel steps it.
    """
    if field.hasFocus():
        return False
    event.ignore()
    return True


class PlainChoice(QComboBox):
    """A few choices that a wheel never changes.

    Not even with the keyboard on it, as numbers and sliders do: whoever has chosen with the mouse
    has left it there, and scrolls on from there.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Let the page scroll."""
        event.ignore()


class DecimalField(QDoubleSpinBox):
    """A number with decimals."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Let the page scroll past, unless the field has the keyboard."""
        if not is_for_page(self, event):
            super().wheelEvent(event)

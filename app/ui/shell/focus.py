"""Where the keyboard goes when a button is done with: back to the composer.

A button that hides or is disabled while it has the focus would let Qt pass it to whatever comes
next in the tab order, and the words typed then would be lost or start something.
"""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QWidget

__all__ = ["COMPOSER_NAME", "hand_focus_on", "return_focus"]

COMPOSER_NAME = "composer"


def hand_focus_on(leaving: QWidget) -> None:
    """Give the focus to the composer if it is in a widget that is about to hide or be disabled."""
    focused = QApplication.focusWidget()
    if focused is not None and (focused is leaving or leaving.isAncestorOf(focused)):
        _to_composer(leaving)


def return_focus(clicked: QWidget) -> None:
    """Give the focus to the composer after a mouse click on a button that takes no focus by it.

    A button pressed by a key has the focus and keeps it for as long as it is there.
    """
    if not clicked.hasFocus():
        _to_composer(clicked)


def _to_composer(beside: QWidget) -> None:
    window = beside.window()
    composer = (
        window if window.objectName() == COMPOSER_NAME else window.findChild(QWidget, COMPOSER_NAME)
    )
    if isinstance(composer, QWidget) and composer.isVisible():
        composer.setFocus()

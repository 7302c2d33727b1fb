"""A page, or a part of a dialog, that is scrolled where it has less room than it needs."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

__all__ = ["PageArea"]


class PageArea(QScrollArea):
    """Holds a page's content: as wide as the page, at least as high.

    Tab passes over it to what it holds, which then comes into sight. Where it holds only words it
    needs a ``name``: the keyboard then comes to it, to scroll it. ``sideways`` scrolls what can't
    be made as narrow, too.
    """

    def __init__(
        self,
        content: QWidget,
        parent: QWidget | None = None,
        name: str = "",
        *,
        sideways: bool = False,
    ) -> None:
        super().__init__(parent)
        self.setProperty("kind", "reading" if name else "plain")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        if not sideways:
            self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if name else Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(name)
        self.setWidget(content)

"""What the panel needs of the window's theme, so that it can be used without knowing the window.

The window hands its theme manager to every widget here; anything of this shape will do.
"""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import Qt, SignalInstance, Slot
from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import QWidget

__all__ = ["Painted", "Palette", "ThemeLike"]


class ThemeLike(Protocol):
    """Colours, lengths and fonts by meaning, at one text size."""

    @property
    def is_dark(self) -> bool:
        """Tell whether text is lighter than what it lies on."""
        ...

    def colour(self, token: str) -> QColor:
        """Return the colour of a token ("panel", "kv_used")."""
        ...

    def css(self, token: str) -> str:
        """Return the same as ``#rrggbb``."""
        ...

    def px(self, value: float) -> int:
        """Return a length of the design in logical pixels."""
        ...

    def pt(self, value: float) -> float:
        """Return a font size of the design (pixels) in points."""
        ...

    def font(
        self,
        size_px: float = 13.5,
        weight: QFont.Weight = QFont.Weight.Normal,
        *,
        code: bool = False,
    ) -> QFont:
        """Return a font of a design size (pixels), with tabular figures."""
        ...


class Palette(Protocol):
    """Holds the theme in force and says when it is another one."""

    @property
    def theme(self) -> ThemeLike:
        """The theme in force."""
        ...

    @property
    def changed(self) -> SignalInstance:
        """Emitted without arguments after ``theme`` has changed."""
        ...


class Painted(QWidget):
    """A widget that draws itself from the theme, and again when the theme changes."""

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._palette = palette
        palette.changed.connect(self._on_theme_changed)

    @property
    def theme(self) -> ThemeLike:
        """The theme in force."""
        return self._palette.theme

    @property
    def is_mirrored(self) -> bool:
        """Tell whether reading goes from right to left."""
        return self.layoutDirection() == Qt.LayoutDirection.RightToLeft

    @Slot()
    def _on_theme_changed(self) -> None:
        self.updateGeometry()
        self.update()

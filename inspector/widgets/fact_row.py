"""A row of the panel's small tables: what it is, and its value at the far end."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.views import Basis
from inspector.widgets.drawing import draw_text, mirrored
from inspector.widgets.palette import Palette
from inspector.widgets.pictured import Pictured
from inspector.widgets.text import basis_sentence, basis_word, tip

__all__ = ["FactRow"]

_TEXT_PX = 12.5
_BASIS_PX = 10.5

# What a card's heading says of all its rows is not said again in each.
_PLAIN: Final = ("file", "measured")


class FactRow(Pictured):
    """Label and value in one line; in two where both do not fit."""

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(palette, parent)
        self._label = ""
        self._value = ""
        self._fact: tuple[str, str, Basis, str] | None = None
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def set_fact(self, label: str, value: str, basis: Basis, hint: str = "") -> None:
        """Show a fact; ``hint`` and how it is known are its tooltip."""
        if (label, value, basis, hint) == self._fact:
            return
        fitted = self._fits(self.width())
        self._fact = (label, value, basis, hint)
        self._label, self._value = label, value
        self.setToolTip(tip((f"{label}: {value}", hint, basis_sentence(basis))))
        self.setAccessibleName(f"{label}: {value}")
        if self._fits(self.width()) != fitted:
            self.updateGeometry()
        self.update()

    @property
    def texts(self) -> tuple[str, str]:
        """Label and value."""
        return self._label, self._value

    def hasHeightForWidth(self) -> bool:
        """Return that a narrow row takes two lines."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of one line or two."""
        return self._line() * (1 if self._fits(width) else 2)

    def sizeHint(self) -> QSize:
        """Return the size of one line."""
        return QSize(self.theme.px(200), self._line())

    def minimumSizeHint(self) -> QSize:
        """Allow any width."""
        return QSize(0, self._line())

    def draw(self, painter: QPainter) -> None:
        """Draw label and value."""
        theme = self.theme
        font = theme.font(_TEXT_PX)
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        width, line = float(self.width()), float(self._line())
        fits = self._fits(self.width())
        painter.setPen(theme.colour("dim"))
        room = QRectF(0, 0, width, line)
        elide = Qt.TextElideMode.ElideRight
        draw_text(painter, room, metrics.elidedText(self._label, elide, width))
        painter.setPen(theme.colour("ink"))
        place = mirrored(QRectF(0, 0 if fits else line, width, line), width, self.is_mirrored)
        draw_text(painter, place, metrics.elidedText(self._value, elide, width), at_end=True)
        self._draw_basis(painter, width, line)

    def _draw_basis(self, painter: QPainter, width: float, line: float) -> None:
        """Name the basis between label and value if it is not plain and there is room."""
        word = basis_word(self._fact[2]) if self._fact and self._fact[2] not in _PLAIN else ""
        theme = self.theme
        font, small = theme.font(_TEXT_PX), theme.font(_BASIS_PX)
        gap = theme.px(8)
        left = QFontMetricsF(font).horizontalAdvance(self._label) + 2 * gap
        right = width - QFontMetricsF(font).horizontalAdvance(self._value) - gap
        size = QFontMetricsF(small).horizontalAdvance(word)
        if not word or not self._fits(self.width()) or right - size < left:
            return
        painter.setFont(small)
        painter.setPen(theme.colour("faint"))
        place = QRectF(right - size - 1, 0, size + 1, line)
        draw_text(painter, mirrored(place, width, self.is_mirrored), word, at_end=True)

    def _fits(self, width: int) -> bool:
        metrics = QFontMetricsF(self.theme.font(_TEXT_PX))
        needed = metrics.horizontalAdvance(self._label) + metrics.horizontalAdvance(self._value)
        return needed + self.theme.px(10) <= width

    def _line(self) -> int:
        return round(QFontMetricsF(self.theme.font(_TEXT_PX)).height() + self.theme.px(4))

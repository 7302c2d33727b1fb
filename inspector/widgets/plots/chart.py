"""A pyqtgraph plot that keeps a picture of itself until something in it changes.

Strokes of many points are slow to smooth, and a window that is resized draws them at each step.
"""

from __future__ import annotations

from typing import Any, Final

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QWidget

from inspector.widgets.palette import Palette
from inspector.widgets.pictured import ground_of

__all__ = ["Chart"]


class Chart(pg.PlotWidget):  # type: ignore[misc]
    """Curves and axes, without a ground of their own."""

    keeps_picture: Final = True

    def __init__(self, palette: Palette, parent: QWidget) -> None:
        self._picture: QPixmap | None = None
        self._drawn: tuple[object, ...] = ()
        super().__init__(parent, background=None)
        self._palette = palette
        self.scene().changed.connect(self._forget)

    @Slot("QList<QRectF>")
    def _forget(self, _where: Any) -> None:
        self._picture, self._drawn = None, ()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Lay down the picture, made the second time that the same is drawn, or draw."""
        ratio = self.devicePixelRatioF()
        state = (self.size(), ratio, self._palette.theme)
        if state != self._drawn:
            self._picture, self._drawn = None, state
            super().paintEvent(event)
            return
        if self._picture is None:
            ground = ground_of(self) if ratio == int(ratio) else ""
            if not ground:
                super().paintEvent(event)
                return
            self.scene().prepareForPaint()
            view = self.viewport().rect()
            self._picture = QPixmap(view.size() * ratio)
            self._picture.setDevicePixelRatio(ratio)
            self._picture.fill(self._palette.theme.colour(ground))
            inner = QPainter(self._picture)
            self.render(inner, QRectF(view), view)
            inner.end()
        painter = QPainter(self.viewport())
        painter.drawPixmap(0, 0, self._picture)

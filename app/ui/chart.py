"""What charts of pages share: axes, a crosshair for pointer and arrow keys, marks and words.

Charts run from left to right, as axes do everywhere. They are painted here rather than by a plot
library, whose import would take longer than all of the planner.
"""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.ui.theme import Theme, ThemeManager
from inspector.widgets.text import tip

__all__ = ["PLATE_OPACITY", "Chart"]

_FONT_PX: Final = 10.5
_HEIGHT_PX: Final = 146
_STEPS: Final = 32
PLATE_OPACITY: Final = 0.85  # of what words stand on, so that they can be read over an area


class Chart(QWidget):
    """A chart of a unit square that its subclasses fill; x and y are shares of the axes."""

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._cross: float | None = None
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)
        themes.changed.connect(self._on_theme_changed)

    # --- for charts

    @property
    def theme(self) -> Theme:
        """The theme in force."""
        return self._themes.theme

    def x_ticks(self) -> list[tuple[float, str]]:
        """Return places and labels along the axis below."""
        return []

    def y_ticks(self) -> list[tuple[float, str]]:
        """Return places and labels along the axis at the left."""
        return []

    def draw(self, painter: QPainter, area: QRectF) -> None:
        """Draw curves, marks and words into the area of the axes."""

    def crossings(self, share: float) -> list[tuple[float, str]]:
        """Return height and colour of what a crosshair meets."""
        return []

    def explanation(self, share: float) -> list[str]:
        """Return what is to be said at a place, headline first."""
        return []

    def snapped(self, share: float) -> float:
        """Return the nearest place at which there is something to say."""
        return share

    def stepped(self, share: float, by: int) -> float:
        """Return the place an arrow key goes to."""
        return share + by / _STEPS

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to draw yet."""
        return True

    # --- places

    def area(self) -> QRectF:
        """Return where the axes' area is, in pixels."""
        metrics = QFontMetricsF(self.theme.font(_FONT_PX))
        widest = max((metrics.horizontalAdvance(text) for _, text in self.y_ticks()), default=0.0)
        half, gap = metrics.height() / 2, self.theme.px(8)
        left = widest + gap
        bottom = metrics.height() + self.theme.px(6)
        right = self.theme.px(14)
        return QRectF(left, half, self.width() - left - right, self.height() - half - bottom)

    @staticmethod
    def at(area: QRectF, x: float, y: float) -> QPointF:
        """Return where a share of both axes is drawn."""
        return QPointF(area.left() + x * area.width(), area.bottom() - y * area.height())

    # --- painting

    def sizeHint(self) -> QSize:
        """Return the size of the design."""
        return QSize(self.theme.px(300), self.theme.px(_HEIGHT_PX))

    def minimumSizeHint(self) -> QSize:
        """Allow any width."""
        return QSize(self.theme.px(120), self.theme.px(_HEIGHT_PX))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw axes, content and crosshair."""
        if self.is_empty:
            return
        painter = QPainter(self)
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = self.area()
        font = self.theme.font(_FONT_PX)
        painter.setFont(font)
        self._draw_axes(painter, area, QFontMetricsF(font))
        self.draw(painter, area)
        if self._cross is not None:
            x = self.at(area, self._cross, 0).x()
            painter.setPen(QPen(self.theme.colour("faint"), 1))
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
            for y, token in self.crossings(self._cross):
                self.dot(painter, self.at(area, self._cross, y), token, 3)
        if self.hasFocus():
            painter.setPen(QPen(self.theme.colour("accent"), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 5, 5)

    def dot(self, painter: QPainter, at: QPointF, token: str, radius_px: float) -> None:
        """Draw a dot that stands off what is below it."""
        radius = self.theme.px(radius_px)
        painter.setPen(QPen(self.theme.colour("panel"), 1.5))
        painter.setBrush(self.theme.colour(token))
        painter.drawEllipse(at, radius, radius)

    def word(
        self,
        painter: QPainter,
        area: QRectF,
        at: QPointF,
        text: str,
        token: str,
        *,
        before: bool = False,
        taken: list[QRectF] | None = None,
    ) -> QRectF | None:
        """Write beside a point, inside the area; nothing where ``taken`` leaves no room.

        ``before`` writes to the left of the point.
        """
        metrics = QFontMetricsF(painter.font())
        width, height = metrics.horizontalAdvance(text), metrics.height()
        x = at.x() - width if before else at.x()
        x = min(max(x, area.left() + 2), area.right() - width)
        y = min(max(at.y(), area.top()), area.bottom() - height)
        box = QRectF(x, y, width, height)
        if taken is not None:
            for shift in (0.0, height, -height, 2 * height, -2 * height):
                moved = box.translated(0, shift)
                inside = area.top() - 1 <= moved.top() and moved.bottom() <= area.bottom() + 1
                if inside and not any(moved.intersects(other) for other in taken):
                    box = moved
                    break
            else:
                return None
            taken.append(box.adjusted(-3, 0, 3, 0))
        plate = QColor(self.theme.colour("panel"))
        plate.setAlphaF(PLATE_OPACITY)
        painter.fillRect(box.adjusted(-2, 0, 2, 0), plate)
        painter.setPen(self.theme.colour(token))
        painter.drawText(QPointF(box.left(), box.top() + metrics.ascent()), text)
        return box

    def _draw_axes(self, painter: QPainter, area: QRectF, metrics: QFontMetricsF) -> None:
        grid, words = self.theme.colour("line"), self.theme.colour("faint")
        for y, text in self.y_ticks():
            at = self.at(area, 0, y)
            painter.setPen(QPen(grid, 1))
            painter.drawLine(QPointF(area.left(), at.y()), QPointF(area.right(), at.y()))
            painter.setPen(words)
            wide = metrics.horizontalAdvance(text)
            base = at.y() + metrics.ascent() / 2 - 1
            painter.drawText(QPointF(area.left() - wide - self.theme.px(8), base), text)
        painter.setPen(words)
        last = -1e9
        for x, text in self.x_ticks():
            wide = metrics.horizontalAdvance(text)
            left = self.at(area, x, 0).x() - wide / 2
            left = min(max(left, area.left()), self.width() - wide)
            if left < last + self.theme.px(8):
                continue
            last = left + wide
            painter.drawText(
                QPointF(left, area.bottom() + self.theme.px(4) + metrics.ascent()), text
            )

    # --- events

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the crosshair and say what is there."""
        area, at = self.area(), event.position()
        if self.is_empty or not area.adjusted(-3, 0, 3, 0).contains(at):
            self._set_cross(None)
            QToolTip.hideText()
            return
        self._set_cross(self.snapped((at.x() - area.left()) / max(area.width(), 1.0)))
        self._explain(event.globalPosition().toPoint())

    def leaveEvent(self, event: QEvent) -> None:
        """Take the crosshair away."""
        super().leaveEvent(event)
        self._set_cross(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the crosshair with the arrow keys."""
        steps = {int(Qt.Key.Key_Left): -1, int(Qt.Key.Key_Right): 1}
        step = steps.get(event.key())
        if step is None or self.is_empty:
            super().keyPressEvent(event)
            return
        moved = self.snapped(0.5) if self._cross is None else self.stepped(self._cross, step)
        self._set_cross(min(max(moved, 0.0), 1.0))
        area = self.area()
        x = self.at(area, self._cross or 0.0, 0).x()
        self._explain(self.mapToGlobal(QPoint(round(x), round(area.bottom()))))

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show where the keyboard is."""
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take crosshair and explanation away."""
        super().focusOutEvent(event)
        self._set_cross(None)
        QToolTip.hideText()
        self.update()

    def _explain(self, at: QPoint) -> None:
        if self._cross is not None:
            lines = self.explanation(self._cross)
            QToolTip.showText(at, tip(lines), self)
            self.setAccessibleDescription(" ".join(lines))

    def _set_cross(self, share: float | None) -> None:
        if share != self._cross:
            self._cross = share
            self.update()

    @Slot()
    def _on_theme_changed(self) -> None:
        self.updateGeometry()
        self.update()

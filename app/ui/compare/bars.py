"""Decode rates as bars, each with the line of its ceiling."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.ui.compare.views import BarView
from app.ui.theme import ThemeManager
from inspector.widgets.text import tip

__all__ = ["DecodeBars"]

_ROW_PX: Final = 44
_BAR_PX: Final = 20
_FONT_PX: Final = 12


class DecodeBars(QWidget):
    """A bar a variant; the pointer over a row, or the row in words, explains it."""

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._bars: tuple[BarView, ...] = ()
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)
        themes.changed.connect(self._on_theme_changed)

    def set_bars(self, bars: tuple[BarView, ...]) -> None:
        """Show rates."""
        self._bars = bars
        words = [
            self.tr("{0}: {1} tokens per second").format(
                bar.label, "—" if bar.per_s is None else f"{bar.per_s:.1f}"
            )
            for bar in bars
        ]
        self.setAccessibleDescription(". ".join(words))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Return room for all rows."""
        theme = self._themes.theme
        return QSize(theme.px(300), theme.px(_ROW_PX) * max(len(self._bars), 3))

    def minimumSizeHint(self) -> QSize:
        """Allow any width."""
        return QSize(self._themes.theme.px(160), self.sizeHint().height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the rows."""
        if not self._bars:
            return
        theme = self._themes.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = theme.font(_FONT_PX)
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        names = min(
            max(metrics.horizontalAdvance(bar.label) for bar in self._bars) + theme.px(12),
            self.width() * 0.34,
        )
        room = self.width() - names - metrics.horizontalAdvance("0,000.0") - theme.px(14)
        most = max((max(bar.per_s or 0.0, bar.ceiling or 0.0) for bar in self._bars), default=0.0)
        if most <= 0 or room <= 0:
            return
        height = theme.px(_BAR_PX)
        row = theme.px(_ROW_PX)
        for index, bar in enumerate(self._bars):
            middle = index * row + row / 2
            rect = QRectF(names, middle - height / 2, 0, height)
            painter.setPen(theme.colour("dim"))
            name = metrics.elidedText(bar.label, Qt.TextElideMode.ElideRight, names - theme.px(8))
            base = middle + (metrics.ascent() - metrics.descent()) / 2
            painter.drawText(QPointF(0, base), name)
            if bar.expected is not None:
                self._draw_expected(painter, bar.expected, rect, room / most)
            if bar.per_s is not None:
                rect.setWidth(room * bar.per_s / most)
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(theme.colour(bar.colour))
                painter.drawRoundedRect(rect, theme.px(4), theme.px(4))
            line = names + room * (bar.ceiling or 0.0) / most
            if bar.ceiling is not None:
                painter.setPen(QPen(theme.colour("ink"), 2))
                reach = theme.px(6)
                painter.drawLine(
                    QPointF(line, rect.top() - reach), QPointF(line, rect.bottom() + reach)
                )
            self._draw_value(painter, bar, rect, line, base, metrics)

    def _draw_expected(
        self, painter: QPainter, expected: tuple[float, float], rect: QRectF, px_per: float
    ) -> None:
        """Draw the predicted range as a thin band below the bar."""
        theme = self._themes.theme
        colour = QColor(theme.colour("faint"))
        colour.setAlphaF(0.55)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        low, high = expected
        thin = theme.px(3)
        painter.drawRoundedRect(
            QRectF(
                rect.left() + low * px_per,
                rect.bottom() + theme.px(3),
                max((high - low) * px_per, 2.0),
                thin,
            ),
            1.5,
            1.5,
        )

    def _draw_value(
        self,
        painter: QPainter,
        bar: BarView,
        rect: QRectF,
        line: float,
        base: float,
        metrics: QFontMetricsF,
    ) -> None:
        theme = self._themes.theme
        text = "—" if bar.per_s is None else _rate(bar.per_s)
        wide, gap = metrics.horizontalAdvance(text), theme.px(8)
        x = rect.right() + gap
        if bar.ceiling is not None and x - gap / 2 < line < x + wide + gap / 2:
            x = line + gap  # not across the ceiling's line
        painter.setPen(theme.colour("dim"))
        painter.drawText(QPointF(x, base), text)

    def event(self, event: QEvent) -> bool:
        """Explain the row below the pointer."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            index = int(event.pos().y() // self._themes.theme.px(_ROW_PX))
            if 0 <= index < len(self._bars) and self._bars[index].explanation:
                QToolTip.showText(event.globalPos(), tip(self._bars[index].explanation), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    @Slot()
    def _on_theme_changed(self) -> None:
        self.updateGeometry()
        self.update()


def _rate(per_s: float) -> str:
    return f"{per_s:,.0f}" if per_s >= 1000 else f"{per_s:.1f}"

"""One rate: a large figure, a gauge with the prediction's mark, and what it is compared with."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFocusEvent, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from inspector.views import RateView
from inspector.widgets.drawing import draw_text, mirrored, rounded_ends
from inspector.widgets.palette import Palette
from inspector.widgets.pictured import Pictured
from inspector.widgets.text import basis_sentence, fill, number, percent, rate, rough, tip, unbroken

__all__ = ["GaugeMarks", "RateMeter", "gauge_marks"]

_NAME_PX = 13
_FIGURE_PX = 22
_UNIT_PX = 12
_NOTE_PX = 12
_GAUGE_PX = 7
_BEATEN = 1.02


@dataclass(frozen=True, slots=True)
class GaugeMarks:
    """Shares of the gauge's length: what is filled, the predicted band, the ceiling.

    ``is_beaten`` tells that more was measured than can be: a byte count or a bandwidth is wrong.
    """

    filled: float
    low: float | None
    high: float | None
    ceiling: float | None
    is_beaten: bool


def gauge_marks(view: RateView) -> GaugeMarks:
    """Return where the marks of a rate lie.

    The ceiling is the end of the gauge, unless something lies above it; without a ceiling the
    largest figure is at four fifths.
    """
    measured = view.measured or 0.0
    low = view.predicted_low if view.predicted_low is not None else view.predicted_high
    high = view.predicted_high if view.predicted_high is not None else view.predicted_low
    known = max(measured, low or 0.0, high or 0.0)
    scale = max(view.ceiling, known) if view.ceiling else known * 1.25
    if scale <= 0:
        return GaugeMarks(0.0, None, None, None, False)
    return GaugeMarks(
        filled=measured / scale,
        low=None if low is None else low / scale,
        high=None if high is None else high / scale,
        ceiling=view.ceiling / scale if view.ceiling else None,
        is_beaten=bool(view.ceiling) and measured > _BEATEN * (view.ceiling or 0.0),
    )


class RateMeter(Pictured):
    """Draws itself whole, so that a new rate is one small repaint and no layout."""

    def __init__(
        self, palette: Palette, name: str, token: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(palette, parent)
        self._name = name
        self._token = token
        self._view = RateView()
        self._shown: tuple[str, str, GaugeMarks, bool, bool, bool] | None = None
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def set_view(self, view: RateView) -> None:
        """Show a rate; redraws only what a reader could see."""
        self._view = view
        times = (view.live, view.earlier, view.held_up)
        shown = (self.figure(), self.note(), gauge_marks(view), *times)
        if shown == self._shown:
            return
        before, self._shown = self._shown, shown
        if before is None or before[1] != shown[1]:
            self.updateGeometry()
        self.setAccessibleName(f"{self._name}: {rate(view.measured)}")
        self.setAccessibleDescription(self.note())
        self.update()

    def figure(self) -> str:
        """Return the large figure."""
        return "–" if self._view.measured is None else number(self._view.measured)

    def unit(self) -> str:
        """Return what stands behind the figure: its unit, and of when it is."""
        label = self.tr("tok/s")
        if self._view.earlier:
            return fill(self.tr("%1, turn before"), label)
        if self._view.held_up:
            return fill(self.tr("%1, so far"), label)
        return fill(self.tr("%1, now"), label) if self._view.live else label

    def note(self) -> str:
        """Return what stands below the gauge: the prediction, and the ceiling's arithmetic."""
        view = self._view
        lines = []
        if view.predicted is not None:
            lines.append(fill(self.tr("predicted %1"), self._predicted()))
        if view.ceiling is not None:
            name = view.ceiling_name or self.tr("ceiling")
            terms = f" = {view.equation}" if view.equation else ""
            lines.append(unbroken(f"{name} {rough(view.ceiling)}{terms}"))
        elif view.limit:
            lines.append(view.limit)
        return "\n".join(lines)

    def explanation(self) -> list[str]:
        """Return what is to be said of the rate."""
        view = self._view
        measured = self.tr("this reply so far") if view.live else self.tr("last turn")
        if view.held_up:
            measured = self.tr("this reply so far; no token has come for some seconds")
        if view.earlier:
            measured = self.tr("turn before")
        lines = [
            f"{self._name}: {rate(view.measured)}"
            + (f" ({measured})" if view.measured is not None else "")
        ]
        if view.predicted is not None:
            lines.append(fill(self.tr("Predicted %1 tok/s."), self._predicted()))
        if view.efficiency is not None:
            lines.append(fill(self.tr("%1 of the ceiling."), percent(view.efficiency)))
        if view.ceiling is not None and view.equation:
            lines.append(
                fill(self.tr("Ceiling: %1 = %2 tok/s."), view.equation, rough(view.ceiling))
            )
        if view.formula:
            lines.append(view.formula)
        if view.predicted is not None:
            lines.append(fill(self.tr("Prediction: %1"), basis_sentence(view.predicted_basis)))
        if view.ceiling is not None:
            lines.append(fill(self.tr("Ceiling: %1"), basis_sentence(view.ceiling_basis)))
        if view.limit:
            lines.append(fill(self.tr("Limit: %1."), view.limit))
        return lines

    def hasHeightForWidth(self) -> bool:
        """Return that the note below the gauge wraps."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height with the note wrapped."""
        return self._note_top() + self._note_height(width)

    def sizeHint(self) -> QSize:
        """Return a size with the note in one line."""
        width = self.theme.px(150)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        """Allow any width."""
        return QSize(0, self._note_top())

    def event(self, event: QEvent) -> bool:
        """Explain the rate when the pointer rests."""
        if event.type() == QEvent.Type.ToolTip:
            self._explain()
            return True
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Explain the rate to the keyboard."""
        super().focusInEvent(event)
        if event.reason() != Qt.FocusReason.ActiveWindowFocusReason:
            self._explain()
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take the explanation away."""
        super().focusOutEvent(event)
        QToolTip.hideText()
        self.update()

    def draw(self, painter: QPainter) -> None:
        """Draw name, figure, gauge and note."""
        theme = self.theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        width = float(self.width())
        y = 0.0
        name_font = theme.font(_NAME_PX)
        height = QFontMetricsF(name_font).height()
        painter.setFont(name_font)
        painter.setPen(theme.colour("dim"))
        draw_text(painter, QRectF(0, y, width, height), self._name)
        y += height
        self._draw_figure(painter, y, width)
        y += self._figure_height()
        self._draw_gauge(painter, QRectF(0, y + theme.px(5), width, theme.px(_GAUGE_PX)))
        painter.setFont(theme.font(_NOTE_PX))
        painter.setPen(theme.colour("faint"))
        place = QRectF(0, self._note_top(), width, self._note_height(self.width()))
        painter.drawText(place, int(Qt.TextFlag.TextWordWrap), self.note())

    def _draw_figure(self, painter: QPainter, y: float, width: float) -> None:
        theme = self.theme
        font = theme.font(_FIGURE_PX, QFont.Weight.DemiBold)
        metrics = QFontMetricsF(font)
        text = self.figure()
        size = metrics.horizontalAdvance(text)
        painter.setFont(font)
        is_known = self._view.measured is not None
        painter.setPen(theme.colour("ink" if is_known else "faint"))
        place = QRectF(0, y, size + 2, metrics.height())
        draw_text(painter, mirrored(place, width, self.is_mirrored), text)
        unit_font = theme.font(_UNIT_PX)
        unit = QFontMetricsF(unit_font)
        painter.setFont(unit_font)
        painter.setPen(theme.colour("dim"))
        top = y + metrics.ascent() - unit.ascent()
        left = size + theme.px(6)
        place = QRectF(left, top, max(0.0, width - left), unit.height())
        draw_text(painter, mirrored(place, width, self.is_mirrored), self.unit())

    def _draw_gauge(self, painter: QPainter, bar: QRectF) -> None:
        theme = self.theme
        marks = gauge_marks(self._view)
        radius = bar.height() / 2
        painter.setPen(Qt.PenStyle.NoPen)
        painter.save()
        painter.setClipPath(rounded_ends(bar, radius))
        painter.fillRect(bar, theme.colour("well"))
        if marks.low is not None and marks.high is not None:
            band = QColor(theme.colour("dim"))
            band.setAlphaF(0.35)
            painter.fillRect(self._part(bar, marks.low, marks.high), band)
        if marks.filled > 0:
            colour = theme.colour("danger" if marks.is_beaten else self._token)
            filled = self._part(bar, 0, marks.filled)
            painter.setBrush(colour)
            painter.drawRoundedRect(filled, radius, radius)
        painter.restore()
        middle = self._view.predicted
        if middle is not None and marks.low is not None and marks.high is not None:
            at = (marks.low + marks.high) / 2 * bar.width()
            self._draw_mark(painter, bar, at, theme.colour("ink"))
        if marks.ceiling is not None and marks.ceiling < 1.0:
            self._draw_mark(painter, bar, marks.ceiling * bar.width(), theme.colour("danger"))

    def _part(self, bar: QRectF, start: float, end: float) -> QRectF:
        left = bar.width() * max(start, 0.0)
        rect = QRectF(left, bar.top(), bar.width() * min(end, 1.0) - left, bar.height())
        return mirrored(rect, bar.width(), self.is_mirrored)

    def _draw_mark(self, painter: QPainter, bar: QRectF, x: float, colour: QColor) -> None:
        hang = self.theme.px(3)
        x = min(max(x, 1.0), bar.width() - 1.0)
        rect = QRectF(x - 1, bar.top() - hang, 2, bar.height() + 2 * hang)
        painter.setPen(QPen(Qt.PenStyle.NoPen))
        painter.fillRect(mirrored(rect, bar.width(), self.is_mirrored), colour)

    def _predicted(self) -> str:
        low, high = self._view.predicted_low, self._view.predicted_high
        texts = [rough(value) for value in (low, high) if value is not None]
        return " – ".join(dict.fromkeys(texts))

    def _figure_height(self) -> float:
        return QFontMetricsF(self.theme.font(_FIGURE_PX, QFont.Weight.DemiBold)).height()

    def _note_top(self) -> int:
        theme = self.theme
        name = QFontMetricsF(theme.font(_NAME_PX)).height()
        gauge = theme.px(5) + theme.px(_GAUGE_PX) + theme.px(6)
        return round(name + self._figure_height() + gauge)

    def _note_height(self, width: int) -> int:
        note = self.note()
        if not note:
            return 0
        metrics = QFontMetricsF(self.theme.font(_NOTE_PX))
        room = QRectF(QRect(0, 0, max(width, 1), 1 << 16))
        flags = int(Qt.TextFlag.TextWordWrap)
        return round(metrics.boundingRect(room, flags, note).height() + 1)

    @Slot()
    def _explain(self) -> None:
        at = self.mapToGlobal(QPoint(0, self.height()))
        QToolTip.showText(at, tip(self.explanation()), self)

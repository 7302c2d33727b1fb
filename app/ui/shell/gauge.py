"""How full the model's window is, in the header: amber from 80 %, red from 95 %."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.ui.numbers import grouped, numbered, percent
from app.ui.shell.views import ContextUse
from app.ui.theme import ThemeManager

__all__ = ["AMBER_FROM", "RED_FROM", "ContextGauge", "gauge_token"]

AMBER_FROM = 0.80
RED_FROM = 0.95
_NOT_CACHED = 0.4  # opacity of what the next reply has to read first


def gauge_token(share: float) -> str:
    """Return the colour token for a used share of the window."""
    if share >= RED_FROM:
        return "danger"
    return "warning" if share >= AMBER_FROM else "kv_used"


class _Bar(QWidget):
    """The line below the figures."""

    def __init__(self, themes: ThemeManager, parent: QWidget) -> None:
        super().__init__(parent)
        self._themes = themes
        self._share = 0.0
        self._cached = 1.0

    def set_share(self, share: float, cached: float) -> None:
        """Show a share of the window; of it, another share lies in the cache."""
        self._share = share
        self._cached = cached
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self._themes.theme.px(120), self._themes.theme.px(5))

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme = self._themes.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        whole = QRectF(self.rect())
        radius = whole.height() / 2
        painter.setBrush(theme.colour("line"))
        painter.drawRoundedRect(whole, radius, radius)
        share = min(max(self._share, 0.0), 1.0)
        if share <= 0.0:
            return
        used = QRectF(whole)
        used.setWidth(max(whole.height(), whole.width() * share))
        if self.isRightToLeft():
            used.moveRight(whole.right())
        colour = theme.colour(gauge_token(self._share))
        if self._cached < 1.0:
            paler = QColor(colour)
            paler.setAlphaF(_NOT_CACHED)
            painter.setBrush(paler)
            painter.drawRoundedRect(used, radius, radius)
            there = QRectF(used)
            there.setWidth(used.width() * self._cached)
            if self.isRightToLeft():
                there.moveRight(used.right())
            painter.setClipRect(there)
        painter.setBrush(colour)
        painter.drawRoundedRect(used, radius, radius)


class ContextGauge(QWidget):
    """Figures and bar; hidden until a model is loaded.

    Signals:
        pressed(): the user wants to know more.
    """

    pressed = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._use: ContextUse | None = None
        self._compact = False
        self._label = QLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._bar = _Bar(themes, self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(3)
        layout.addStretch()
        layout.addWidget(self._label)
        layout.addWidget(self._bar)
        layout.addStretch()
        themes.changed.connect(self._apply_theme)
        self._apply_theme()
        self.set_use(None)

    def set_use(self, use: ContextUse | None) -> None:
        """Show how full the window is; None hides the gauge."""
        self._use = use
        self.setVisible(use is not None)
        if use is None:
            return
        self._label.setText(
            self.tr("Context %1 / %2")
            .replace("%1", grouped(use.used_tokens))
            .replace("%2", grouped(use.limit_tokens))
        )
        self._bar.set_share(use.share, use.cached_share)
        text = self._explanation(use)
        self.setToolTip(text)
        self.setAccessibleName(text)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Tell that it was clicked."""
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(
            event.position().toPoint()
        ):
            self.pressed.emit()

    def set_compact(self, compact: bool) -> None:
        """Take less room: the bar alone, the figures in the tooltip."""
        if compact != self._compact:
            self._compact = compact
            self._label.setHidden(compact)
            self._apply_theme()

    def _explanation(self, use: ContextUse) -> str:
        sentence = self.tr("%1 of %2 tokens of the model's context are used (%3 %).")
        if use.cached_tokens is not None:
            sentence = self.tr("This chat takes %1 of %2 tokens of the model's context (%3 %).")
        lines = [
            sentence.replace("%1", grouped(use.used_tokens))
            .replace("%2", grouped(use.limit_tokens))
            .replace("%3", percent(use.share))
        ]
        if use.cached_tokens is not None:
            lines.append(
                numbered(
                    use.cached_tokens,
                    self.tr("One of them is in the cache; the next reply reads the rest first."),
                    self.tr("%n of them are in the cache; the next reply reads the rest first."),
                )
                if use.cached_tokens
                else self.tr("They are not in the cache yet; the next reply reads them first.")
            )
        if use.replies > 1:
            lines.append(
                self.tr("%1 replies are written at once and share it.").replace(
                    "%1", grouped(use.replies)
                )
            )
        if use.dropped_messages > 0:
            tokens = numbered(use.dropped_tokens, self.tr("1 token"), self.tr("%n tokens"))
            lines.append(
                numbered(
                    use.dropped_messages,
                    self.tr("One message (%1) has left the context."),
                    self.tr("%n messages (%1) have left the context."),
                ).replace("%1", tokens)
            )
        if use.share >= AMBER_FROM:
            lines.append(
                self.tr(
                    "When it is full, the oldest turns are left out and a line marks the place."
                )
            )
        return "\n".join(lines)

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self._label.setStyleSheet(f"color: {theme.css('dim')}; font-size: {theme.pt(11.5)}pt;")
        self._bar.setFixedHeight(theme.px(5))
        self.setFixedWidth(theme.px(64 if self._compact else 180))
        self._bar.update()

"""Speed: decode and prefill beside their predictions, over the depth, and the first token."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QWidget

from gguf_tools.units import format_seconds
from inspector.ceiling import HELD_BY_ARITHMETIC
from inspector.views import LOAD_PART, FirstTokenView, SpeedView
from inspector.widgets.card import Card
from inspector.widgets.fact_row import FactRow
from inspector.widgets.meter import RateMeter
from inspector.widgets.palette import Palette
from inspector.widgets.plot_slot import PlotLoader, PlotSlot
from inspector.widgets.text import fill, grouped, joined, numbered, percent
from inspector.widgets.wrapped import WrappedText

__all__ = ["SpeedCard"]

_PLOT_PX = 68
_METER_PX = 122


class SpeedCard(Card):
    """Two meters side by side, and what explains them."""

    def __init__(self, palette: Palette, loader: PlotLoader, parent: QWidget | None = None) -> None:
        super().__init__(palette, "speed", parent=parent)
        self.header.setText(self.tr("Speed"))
        self.header.show()
        self._view: SpeedView | None = None
        self.decode = RateMeter(palette, self.tr("Decode"), "free", self.body)
        self.prefill = RateMeter(palette, self.tr("Prefill"), "weights", self.body)
        self._meters = QHBoxLayout()
        self._meters.addWidget(self.decode, 1)
        self._meters.addWidget(self.prefill, 1)
        self.rows.addLayout(self._meters)
        self.explanation = WrappedText(palette, self.body, token="dim")
        self.rows.addWidget(self.explanation)
        self.plot_title = WrappedText(palette, self.body)
        self.rows.addWidget(self.plot_title)
        self.plot: PlotSlot[SpeedView] = PlotSlot(
            palette, loader, "inspector.widgets.plots.depth", _PLOT_PX, self.body
        )
        self.rows.addWidget(self.plot)
        self.first_token = FactRow(palette, self.body)
        self.first_token_parts = WrappedText(palette, self.body)
        self.draft = FactRow(palette, self.body)
        self.draft_parts = WrappedText(palette, self.body)
        for widget in (self.first_token, self.first_token_parts, self.draft, self.draft_parts):
            self.rows.addWidget(widget)
        self._space_meters()

    def set_view(self, view: SpeedView) -> None:
        """Show a speed."""
        if view == self._view:
            return
        self._view = view
        self.decode.set_view(view.decode)
        self.prefill.set_view(view.prefill)
        self.header.set_summary(self._summary(view))
        self.set_lesson(self._lesson_of(view))
        self.explanation.set_token("warning" if view.alarming else "dim")
        self.explanation.show_text(view.explanation)
        has_series = bool(view.predicted_over_depth or view.measured_over_depth)
        self.plot.setVisible(has_series)
        self.plot_title.show_text(
            self.tr("Decode over depth: measured, predicted band, ceiling") if has_series else ""
        )
        if has_series:
            self.plot.set_view(view)
        self._show_first_token(view.first_token)
        self._show_draft(view.draft_first_token)

    def _lesson_of(self, view: SpeedView) -> str:
        """Say what limits each of the two, and where a processor is an exception."""
        text = self.tr(
            "Decode reads weights and cache for each token: bandwidth limits it. Prefill "
            "reads them once for many: arithmetic does."
        )
        if view.decode.limit == HELD_BY_ARITHMETIC:
            text += " " + self.tr("On this processor arithmetic holds decode, too.")
        return text

    def _summary(self, view: SpeedView) -> str:
        if view.decode.measured is None and view.prefill.measured is None:
            return self.tr("predicted")
        if view.decode.efficiency is not None:
            return fill(self.tr("measured · %1 of the ceiling"), percent(view.decode.efficiency))
        return self.tr("measured")

    def _show_first_token(self, view: FirstTokenView | None) -> None:
        self.first_token.setVisible(view is not None)
        if view is None:
            self.first_token_parts.show_text("")
            return
        # Below the reply it is told without the load, which the reply did not cause.
        is_loaded = any(part.label == LOAD_PART and part.seconds > 0 for part in view.parts)
        name = self.tr("First token, with loading") if is_loaded else self.tr("First token")
        if view.earlier:
            name = self.tr("First token, turn before")
        self.first_token.set_fact(
            name, format_seconds(view.total_s), view.basis, _tokens(self, view)
        )
        taken = [part for part in view.parts if part.seconds > 0]
        parts = [f"{part.label} {format_seconds(part.seconds)}" for part in taken]
        lines = (joined(parts), _tokens(self, view))
        self.first_token_parts.show_text("\n".join(line for line in lines if line))

    def _show_draft(self, view: FirstTokenView | None) -> None:
        self.draft.setVisible(view is not None)
        self.draft_parts.show_text("" if view is None else _tokens(self, view))
        if view is not None:
            text = fill(self.tr("about %1"), format_seconds(view.total_s))
            label = self.tr("First token of the draft")
            self.draft.set_fact(label, text, view.basis, _tokens(self, view))

    def _space_meters(self) -> None:
        gap = self.theme.px(12)
        self._meters.setSpacing(gap)
        is_narrow = (self.width() - gap) / 2 < self.theme.px(_METER_PX)
        direction = (
            QBoxLayout.Direction.TopToBottom if is_narrow else (QBoxLayout.Direction.LeftToRight)
        )
        if direction != self._meters.direction():
            self._meters.setDirection(direction)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Set the meters below each other where their figures would not fit side by side."""
        super().resizeEvent(event)
        self._space_meters()

    @Slot()
    def _on_theme_changed(self) -> None:
        super()._on_theme_changed()
        self._space_meters()


def _tokens(card: SpeedCard, view: FirstTokenView) -> str:
    parts = []
    if view.new_tokens is not None:
        parts.append(numbered(view.new_tokens, card.tr("1 token new"), card.tr("%n tokens new")))
    if view.reused_tokens:
        parts.append(fill(card.tr("%1 reused"), grouped(view.reused_tokens)))
    return joined(parts)

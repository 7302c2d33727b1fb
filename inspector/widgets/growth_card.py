"""KV cache growth: the plot, and in words what it says about room."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from gguf_tools.units import format_bytes
from inspector.views import GrowthView
from inspector.widgets.card import Card
from inspector.widgets.palette import Palette
from inspector.widgets.plot_slot import PlotLoader, PlotSlot
from inspector.widgets.text import (
    basis_sentence,
    basis_word,
    fill,
    grouped,
    joined,
    numbered,
    tip,
    tokens_short,
)
from inspector.widgets.wrapped import WrappedText

__all__ = ["GrowthCard"]

_PLOT_PX = 124


class GrowthCard(Card):
    """The plot and two quiet lines."""

    def __init__(self, palette: Palette, loader: PlotLoader, parent: QWidget | None = None) -> None:
        super().__init__(palette, "growth", parent=parent)
        self.header.setText(self.tr("KV cache growth"))
        self.header.show()
        self.set_lesson(
            self.tr(
                "A key and a value of each token are kept in each layer, so that the chat need "
                "not be read again for each word."
            )
        )
        self._view: GrowthView | None = None
        self.plot: PlotSlot[GrowthView] = PlotSlot(
            palette, loader, "inspector.widgets.plots.growth", _PLOT_PX, self.body
        )
        self.fits = WrappedText(palette, self.body, token="dim")
        self.ends = WrappedText(palette, self.body)
        self.trained = WrappedText(palette, self.body, token="warning")
        for widget in (self.plot, self.fits, self.ends, self.trained):
            self.rows.addWidget(widget)

    def set_view(self, view: GrowthView) -> None:
        """Show a growth."""
        if view == self._view:
            return
        self._view = view
        slope = view.cache_type
        if view.bytes_per_token is not None:
            slope = fill(self.tr("%1 / token"), format_bytes(view.bytes_per_token))
        self.header.set_summary(joined((slope, basis_word(view.basis))))
        self.header.setToolTip(tip((self.header.text(), view.formula, basis_sentence(view.basis))))
        self.plot.set_view(view)
        self.fits.show_text(self._fits(view))
        self.ends.show_text(self._ends(view))
        self.trained.show_text(self._trained(view))

    def _fits(self, view: GrowthView) -> str:
        parts = []
        if view.fitting_tokens is not None:
            parts.append(
                numbered(
                    view.fitting_tokens,
                    self.tr("1 more token fits"),
                    self.tr("%n more tokens fit"),
                )
            )
        if view.fitting_conversations:
            parts.append(
                numbered(
                    view.fitting_conversations,
                    self.tr("1 more chat like this"),
                    self.tr("%n more chats like this"),
                )
            )
        return joined(parts)

    def _ends(self, view: GrowthView) -> str:
        """Return where the budget ends, for every cache type."""
        if view.budget_bytes is None:
            return ""
        ends = [(view.cache_type, view.budget_tokens)]
        ends += [(other.cache_type, other.budget_tokens) for other in view.alternatives]
        if all(tokens == 0 for _, tokens in ends):
            return self.tr("The budget has no room for a cache of any type.")
        if all(tokens is None for _, tokens in ends):
            return self.tr("The whole context fits into the budget.")
        parts = [
            fill(self.tr("%1 at %2"), name, tokens_short(tokens))
            for name, tokens in ends
            if tokens is not None
        ]
        beyond = ", ".join(name for name, tokens in ends if tokens is None)
        if beyond:
            parts.append(fill(self.tr("%1 beyond the context"), beyond))
        return fill(self.tr("Budget ends: %1"), joined(parts))

    def _trained(self, view: GrowthView) -> str:
        if view.trained_tokens is None or view.window_tokens <= view.trained_tokens:
            return ""
        return fill(
            self.tr("Trained for %1 tokens: replies get worse beyond."),
            grouped(view.trained_tokens),
        )

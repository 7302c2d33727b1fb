"""Memory budget: a bar, a legend and the plan beside the engine's numbers, for each device."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import Slot
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gguf_tools.units import format_bytes
from inspector.views import BudgetView, LayersView
from inspector.widgets.budget_bar import BudgetBar
from inspector.widgets.card import Card
from inspector.widgets.layer_strip import LayerStrip
from inspector.widgets.palette import Palette
from inspector.widgets.segment_row import SegmentRow
from inspector.widgets.text import (
    basis_sentence,
    fill,
    joined,
    plan_line,
    segment_tip,
    signed_percent,
    tip,
)
from inspector.widgets.wrapped import WrappedText

__all__ = ["BudgetCard", "DeviceBudget"]

_OWN_KINDS: Final = ("weights", "kv_used", "kv_reserved", "compute", "draft")
_SLIVER: Final = 0.15  # of the device, below which a bar says nothing about its parts


class DeviceBudget(QWidget):
    """One device: bar, legend, and a few quiet lines."""

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._palette = palette
        self._view: BudgetView | None = None
        self.heading = WrappedText(
            palette, self, size_px=12.5, token="dim", weight=QFont.Weight.Medium
        )
        self.bar = BudgetBar(palette, self)
        self.detail = BudgetBar(palette, self, is_detail=True)
        self.detail_caption = WrappedText(palette, self, size_px=10.5, token="dim")
        self.detail.hide()
        self.rows: list[SegmentRow] = []
        self.plan = WrappedText(palette, self, token="dim")
        self.warning = WrappedText(palette, self, token="warning")
        self.details = WrappedText(palette, self)
        self._legend = QVBoxLayout()
        self._legend.setSpacing(0)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.addWidget(self.heading)
        self._layout.addWidget(self.bar)
        self._layout.addWidget(self.detail_caption)
        self._layout.addWidget(self.detail)
        self._layout.addLayout(self._legend)
        for line in (self.plan, self.warning, self.details):
            self._layout.addWidget(line)
        self.bar.pointed.connect(self.bar.set_marked)
        palette.changed.connect(self._apply_theme)
        self._apply_theme()

    def set_view(self, view: BudgetView, *, has_heading: bool) -> None:
        """Show a budget; ``has_heading`` names the device above its bar."""
        self.heading.show_text(device_line(view) if has_heading else "")
        if view == self._view:
            return
        self._view = view
        self.bar.set_view(view)
        self._show_detail(view)
        self._set_row_count(len(view.segments))
        for row, segment in zip(self.rows, view.segments, strict=True):
            took = view.others_took_bytes if segment.kind == "other_programs" else None
            row.set_segment(segment, view, says_basis=True, grown_bytes=took)
        self._show_lines(view)

    def _show_detail(self, view: BudgetView) -> None:
        """Enlarge the model's own part where it is a sliver of the device."""
        own = tuple(item for item in view.segments if item.kind in _OWN_KINDS)
        size = sum(item.size_bytes for item in own)
        is_sliver = 0 < size < _SLIVER * (view.total_bytes or 0)
        self.detail.setVisible(is_sliver)
        self.detail_caption.show_text(
            fill(self.tr("the model's %1, enlarged"), format_bytes(size)) if is_sliver else ""
        )
        if is_sliver:
            self.detail.set_view(BudgetView(view.name, size, own, load_line=1.0))

    def _show_lines(self, view: BudgetView) -> None:
        has_plan = view.planned_bytes is not None and view.engine_bytes is not None
        if has_plan and view.plan_error is not None:
            line = plan_line(view.planned_bytes or 0, view.engine_bytes or 0, view.plan_error)
            if line != self.plan.text():
                self.plan.show_text(line)
                self.plan.setToolTip(tip(_plan_tip(view)))
        else:
            self.plan.show_text("")
        self.warning.set_token("danger" if view.over_bytes else "warning")
        self.warning.show_text(self._warning(view))
        self.details.show_text(self._details(view))
        more = self._more(view)
        self.details.setToolTip(tip((self.details.text(), *more)) if more else "")
        self.details.setAccessibleDescription(" ".join(more))

    def _warning(self, view: BudgetView) -> str:
        if view.over_bytes:
            return fill(self.tr("%1 more than the device has."), format_bytes(view.over_bytes))
        headroom = view.headroom_bytes
        if view.over_load_line and headroom is not None:
            return fill(self.tr("%1 over the load line."), format_bytes(-headroom))
        return ""

    def _details(self, view: BudgetView) -> str:
        headroom = view.headroom_bytes
        parts = []
        if headroom is not None and headroom >= 0:
            parts.append(fill(self.tr("%1 left below the load line."), format_bytes(headroom)))
        # What others took stands in their row: a line that comes and goes would move all below it.
        note = "" if view.others_took_bytes is not None else view.note
        return "\n".join((*parts, *filter(None, (note,))))

    def _more(self, view: BudgetView) -> list[str]:
        """Return what only a closer look is for: the highest use, and what can be taken back."""
        lines = []
        if view.peak_bytes is not None:
            text = self.tr("The engine's process held at most %1 of its own during the turn.")
            lines.append(fill(text, format_bytes(view.peak_bytes)))
        if view.mapped_bytes:
            text = self.tr(
                "%1 of the weights are pages of the model's file: the system takes them back when "
                "another program needs room, and reads them again."
            )
            lines.append(fill(text, format_bytes(view.mapped_bytes)))
        return lines

    def _set_row_count(self, count: int) -> None:
        while len(self.rows) > count:
            row = self.rows.pop()
            self._legend.removeWidget(row)
            row.hide()
            row.deleteLater()
        while len(self.rows) < count:
            row = SegmentRow(self._palette, self)
            index = len(self.rows)
            row.marked.connect(partial(self._on_marked, index))
            row.stepped.connect(partial(self._on_stepped, index))
            self._legend.addWidget(row)
            row.show()  # a layout would show it later, and have no room for it until then
            self.rows.append(row)

    def _on_marked(self, index: int, is_marked: bool) -> None:
        for bar in (self.bar, self.detail):
            bar.set_marked(index if is_marked else -1)

    def _on_stepped(self, index: int, by: int) -> None:
        if 0 <= index + by < len(self.rows):
            self.rows[index + by].setFocus()

    @Slot()
    def _apply_theme(self) -> None:
        self._layout.setSpacing(self._palette.theme.px(4))


class BudgetCard(Card):
    """All devices, and where the layers lie if that is not said by a finding."""

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(palette, "budget", parent=parent)
        self.header.setText(self.tr("Memory budget"))
        self.header.show()
        self.set_lesson(
            self.tr(
                "Weights stay; the KV cache fills with each token of the chat. Past the load line, "
                "memory runs short and speed falls."
            )
        )
        self.devices: list[DeviceBudget] = []
        self._devices = QVBoxLayout()
        self.rows.addLayout(self._devices)
        self.strip = LayerStrip(palette, self.body)
        self.rows.addWidget(self.strip)
        self.strip_caption = WrappedText(palette, self.body)
        self.rows.addWidget(self.strip_caption)
        self.strip.hide()
        self._space_devices()

    def set_views(self, budgets: tuple[BudgetView, ...], layers: LayersView | None) -> None:
        """Show budgets, and a strip of layers where several devices share them."""
        self._set_device_count(len(budgets))
        for device, view in zip(self.devices, budgets, strict=True):
            device.set_view(view, has_heading=len(budgets) > 1)
        if len(budgets) == 1:
            self.header.set_summary(device_line(budgets[0]))
        else:
            self.header.set_summary(
                fill(self.tr("%1 devices"), str(len(budgets))) if budgets else ""
            )
        self.strip.setVisible(layers is not None)
        if layers is not None:
            self.strip.set_view(layers)
        self.strip_caption.show_text(self._caption(layers) if layers is not None else "")

    def _space_devices(self) -> None:
        self._devices.setSpacing(self.theme.px(12))

    @Slot()
    def _on_theme_changed(self) -> None:
        super()._on_theme_changed()
        self._space_devices()

    def _caption(self, layers: LayersView) -> str:
        """Return how many layers lie on each device that has any."""
        counts = [
            sum(item.device == n for item in layers.layers) for n in range(len(layers.devices))
        ]
        parts = [
            fill(self.tr("1 layer on %1"), device.name)
            if count == 1
            else fill(self.tr("%1 layers on %2"), str(count), device.name)
            for count, device in zip(counts, layers.devices, strict=True)
            if count
        ]
        return joined(parts)

    def _set_device_count(self, count: int) -> None:
        while len(self.devices) > count:
            device = self.devices.pop()
            self._devices.removeWidget(device)
            device.hide()
            device.deleteLater()
        while len(self.devices) < count:
            device = DeviceBudget(self._palette, self.body)
            self._devices.addWidget(device)
            device.show()
            self.devices.append(device)


def device_line(view: BudgetView) -> str:
    """Return name and capacity."""
    total = format_bytes(view.total_bytes) if view.total_bytes is not None else ""
    return joined((view.name, total))


def _plan_tip(view: BudgetView) -> list[str]:
    lines = [plan_line(view.planned_bytes or 0, view.engine_bytes or 0, view.plan_error or 0.0)]
    lines += [
        f"{segment_tip(item, view)[0]} ({signed_percent(item.plan_error)})"
        for item in view.segments
        if item.plan_error is not None
    ]
    lines.append(basis_sentence("engine"))
    return lines

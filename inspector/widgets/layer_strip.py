"""Where each layer lies: a cell a layer, in the order in which they run."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gguf_tools.units import format_bytes
from inspector.views import LayersView, LayerView
from inspector.widgets.drawing import mirrored
from inspector.widgets.palette import Painted, Palette
from inspector.widgets.text import basis_sentence, fill, joined, tip

__all__ = ["LayerStrip"]

_CELL_PX = 14
_FAST_TOKENS = ("weights", "kv_used", "compute", "free")


class LayerStrip(Painted):
    """Cells coloured by device. Left and Right walk along them, and each is explained."""

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(palette, parent)
        self._view: LayersView | None = None
        self._current = 0
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def set_view(self, view: LayersView) -> None:
        """Show where layers lie."""
        if view == self._view:
            return
        self._view = view
        self._current = min(self._current, max(0, len(view.layers) - 1))
        self.setAccessibleName(self.tr("Layers by device"))
        self.setAccessibleDescription("; ".join(_runs(view)))
        self.update()

    def cells(self) -> list[QRectF]:
        """Return the layers' cells, left to right in reading direction."""
        if self._view is None or not self._view.layers:
            return []
        count, width = len(self._view.layers), float(self.width())
        pad = self.theme.px(2)
        # Gaps shrink before cells do: a model of 120 layers still shows each of them.
        gap = min(float(self.theme.px(2)), max(0.5, width / count * 0.25))
        cell = (width - gap * (count - 1)) / count
        return [
            mirrored(
                QRectF(index * (cell + gap), pad, cell, self.height() - 2 * pad),
                width,
                self.is_mirrored,
            )
            for index in range(count)
        ]

    def sizeHint(self) -> QSize:
        """Return a row of cells."""
        return QSize(self.theme.px(200), self.theme.px(_CELL_PX) + 2 * self.theme.px(2))

    def event(self, event: QEvent) -> bool:
        """Explain the layer below the pointer."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            for index, cell in enumerate(self.cells()):
                if cell.left() - 1 <= event.pos().x() <= cell.right() + 1:
                    self._explain(index, event.globalPos())
                    break
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Walk along the layers."""
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        step = steps.get(Qt.Key(event.key()))
        if step is None or self._view is None:
            super().keyPressEvent(event)
            return
        moved = self._current + (-step if self.is_mirrored else step)
        if 0 <= moved < len(self._view.layers):
            self._current = moved
            self.update()
            self._explain_current()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show which layer the keys are at."""
        super().focusInEvent(event)
        if event.reason() != Qt.FocusReason.ActiveWindowFocusReason:
            self._explain_current()
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take the explanation away."""
        super().focusOutEvent(event)
        QToolTip.hideText()
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the cells; a split layer is cut in proportion."""
        if self._view is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        cells = self.cells()
        for cell, layer in zip(cells, self._view.layers, strict=True):
            radius = min(float(self.theme.px(2)), cell.width() / 2)
            painter.setBrush(self._colour(layer.device))
            painter.drawRoundedRect(cell, radius, radius)
            if layer.split_device is not None and layer.size_bytes > 0:
                share = min(1.0, layer.split_bytes / layer.size_bytes)
                low = QRectF(cell)
                low.setTop(cell.bottom() - cell.height() * share)
                painter.setBrush(self._colour(layer.split_device))
                painter.drawRoundedRect(low, radius, radius)
        if self.hasFocus() and cells:
            painter.setPen(QPen(self.theme.colour("ink"), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(cells[self._current].adjusted(-1, -1, 1, 1), 2, 2)

    def explanation(self, index: int) -> list[str]:
        """Return what is to be said of a layer."""
        if self._view is None:
            return []
        layer = self._view.layers[index]
        device = self._view.devices[layer.device]
        lines = [f"{layer.name}: {device.name}", format_bytes(layer.size_bytes)]
        if layer.split_device is not None:
            other = self._view.devices[layer.split_device].name
            lines.append(fill(self.tr("%1 of it on %2"), format_bytes(layer.split_bytes), other))
        lines.append(basis_sentence(self._view.basis))
        return lines

    def _explain_current(self) -> None:
        cells = self.cells()
        if cells:
            at = cells[self._current].bottomLeft().toPoint() + QPoint(0, 4)
            self._explain(self._current, self.mapToGlobal(at))

    def _explain(self, index: int, at: QPoint) -> None:
        QToolTip.showText(at, tip(self.explanation(index)), self)

    def _colour(self, device: int) -> QColor:
        if self._view is None or self._view.devices[device].slow:
            return self.theme.colour("danger")
        place = sum(not item.slow for item in self._view.devices[:device])
        return self.theme.colour(_FAST_TOKENS[place % len(_FAST_TOKENS)])


def _runs(view: LayersView) -> list[str]:
    """Return neighbours on the same device as one piece of text each."""
    runs: list[list[LayerView]] = []
    for layer in view.layers:
        if runs and runs[-1][0].device == layer.device:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    return [
        joined(
            (
                run[0].name if len(run) == 1 else f"{run[0].name} – {run[-1].name}",
                view.devices[run[0].device].name,
                format_bytes(sum(layer.size_bytes for layer in run)),
            )
        )
        for run in runs
    ]

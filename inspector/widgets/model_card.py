"""Model: what the file says that matters for memory and speed; the rest behind a button."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gguf_tools.units import format_bytes
from inspector.views import ModelCardView, TypeShare
from inspector.widgets.card import Card
from inspector.widgets.fact_row import FactRow
from inspector.widgets.palette import Palette
from inspector.widgets.text import grouped, joined, numbered

__all__ = ["ModelCard"]

_TYPES_SHOWN = 4


class ModelCard(Card):
    """Rows of facts.

    Signals:
        metadata_requested(): the reader wants to see all metadata.
    """

    metadata_requested = Signal()

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(palette, "model", parent=parent)
        self.header.setText(self.tr("Model"))
        self.header.show()
        self._view: ModelCardView | None = None
        self.facts: list[FactRow] = []
        self._facts = QVBoxLayout()
        self._facts.setSpacing(0)
        self.rows.addLayout(self._facts)
        self.metadata = QPushButton(self.tr("All metadata…"), self.body)
        self.metadata.setProperty("kind", "link")
        self.metadata.clicked.connect(self.metadata_requested)
        line = QHBoxLayout()
        line.addWidget(self.metadata)
        line.addStretch()
        self.rows.addLayout(line)

    def set_view(self, view: ModelCardView) -> None:
        """Show a model."""
        if view is self._view or view == self._view:
            return
        self._view = view
        self.header.set_summary(view.title)
        rows = [(row.label, row.value, row.basis, row.hint) for row in view.rows]
        if view.types:
            label = self.tr("Tensor types")
            rows.append((label, _mix(view.types), "file", "\n".join(map(_type_line, view.types))))
        while len(self.facts) > len(rows):
            fact = self.facts.pop()
            self._facts.removeWidget(fact)
            fact.hide()
            fact.deleteLater()
        while len(self.facts) < len(rows):
            fact = FactRow(self._palette, self.body)
            self._facts.addWidget(fact)
            self.facts.append(fact)
        for fact, row in zip(self.facts, rows, strict=True):
            fact.set_fact(*row)
        count = len(view.metadata)
        self.metadata.setVisible(count > 0)
        self.metadata.setToolTip(numbered(count, self.tr("1 key"), self.tr("%n keys")))


def _mix(types: tuple[TypeShare, ...]) -> str:
    largest = sorted(types, key=lambda item: item.size_bytes, reverse=True)
    total = sum(item.size_bytes for item in types) or 1
    shown = [f"{item.name} {_share(item.size_bytes / total)}" for item in largest[:_TYPES_SHOWN]]
    return joined(shown) + (" …" if len(largest) > _TYPES_SHOWN else "")


def _share(share: float) -> str:
    return "< 1 %" if 0 < share < 0.01 else f"{share * 100:.0f} %"


def _type_line(item: TypeShare) -> str:
    return f"{item.name}: {grouped(item.tensors)} · {format_bytes(item.size_bytes)}"

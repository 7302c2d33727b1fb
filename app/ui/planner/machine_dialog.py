"""A machine to plan for: found in the hardware table, or typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.ui.dialogs.sizes import open_size
from app.ui.fields import DecimalField, PlainChoice
from app.ui.look import set_look
from app.ui.page_area import PageArea
from app.ui.planner.fields import CountField, indent
from app.ui.theme import ThemeManager
from gguf_tools.hardware import Hardware
from gguf_tools.units import GB
from inspector.planner_setup import MachineKind, MachineSpec
from inspector.planner_words import short_name

__all__ = ["MachineDialog"]

_GIB: Final = 1 << 30
_TERA: Final = 1e12
_BESIDE_PX: Final = 600
_THIS: Final = "this"
_TYPED: Final = "typed"
_ROLE: Final = Qt.ItemDataRole.UserRole
_KINDS: Final[dict[str, MachineKind]] = {"gpu": "gpu", "igpu": "unified", "cpu": "cpu"}


class MachineDialog(QDialog):
    """A searchable list at the left; figures at the right, which can be typed over.

    Figures that were changed make a typed machine; otherwise the row of the table is kept.

    Signals:
        wanted(MachineSpec): the machine to plan for.
    """

    wanted = Signal(object)

    def __init__(
        self,
        themes: ThemeManager,
        rows: Sequence[Hardware],
        spec: MachineSpec | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("machineDialog")
        self.setWindowTitle(self.tr("Add a machine") if spec is None else self.tr("Change machine"))
        self._themes = themes
        self._rows = {row.name: row for row in rows}
        self._filling = False
        self._source = _THIS
        theme = themes.theme
        self.search = QLineEdit(self)
        self.search.setPlaceholderText(self.tr("Search hardware"))
        self.search.setAccessibleName(self.tr("Search hardware"))
        self.search.textChanged.connect(self._filter)
        self.list = QListWidget(self)
        self.list.setAccessibleName(self.tr("Machines"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._add_item(self.tr("This computer"), _THIS)
        self._add_item(self.tr("Type a machine"), _TYPED)
        for row in rows:
            self._add_item(short_name(row.name), row.name)
        self.list.currentItemChanged.connect(self._on_item)
        self.list.itemDoubleClicked.connect(self._accept)

        self.name = QLineEdit(self)
        self.kind = PlainChoice(self)
        for text, kind in (
            (self.tr("Graphics card"), "gpu"),
            (self.tr("Shared memory"), "unified"),
            (self.tr("Processor"), "cpu"),
        ):
            self.kind.addItem(text, kind)
        self.memory = self._number(0.5, 4096, self.tr(" GiB"))
        self.cards = CountField(1, 16, 1, self)
        self.bandwidth = self._number(1, 100_000, self.tr(" GB/s"))
        self.flops = self._number(0, 100_000, self.tr(" TFLOPS"))
        self.flops.setSpecialValueText(self.tr("unknown"))
        self.link = self._number(0, 2000, self.tr(" GB/s"))
        self.link.setSpecialValueText(self.tr("unknown"))
        self.host = self._number(1, 8192, self.tr(" GiB"))
        self.host_bandwidth = self._number(1, 10_000, self.tr(" GB/s"))
        self.basis = QLabel(self)
        self.basis.setProperty("kind", "small")
        self.basis.setWordWrap(True)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel, self
        )
        self._ok = self.buttons.button(QDialogButtonBox.StandardButton.Ok)
        self._ok.setText(self.tr("Add") if spec is None else self.tr("Change"))
        self._ok.setDefault(True)
        set_look(self._ok, "kind", "primary")
        self.buttons.accepted.connect(self._accept)
        self.buttons.rejected.connect(self.reject)
        self._lay_out()
        self._connect()
        self._choose(spec or MachineSpec("typed", "", memory_bytes=16 * _GIB))
        self.search.setFocus()
        open_size(self, theme, 720, 470)

    def spec(self) -> MachineSpec:
        """Return the machine that the fields say."""
        if self._source == _THIS:
            return MachineSpec()
        host = {
            "host_bytes": round(self.host.value() * _GIB),
            "host_bandwidth_bytes_per_s": self.host_bandwidth.value() * GB,
        }
        memory = round(self.memory.value() * _GIB)
        row = self._rows.get(self._source)
        if row is not None:
            return MachineSpec(
                "table",
                row.name,
                _KINDS.get(row.kind, "gpu"),
                cards=self.cards.value(),
                memory_bytes=0 if row.kind == "cpu" else memory,
                **host,  # type: ignore[arg-type]
            )
        kind = self.kind.currentData()
        return MachineSpec(
            "typed",
            self.name.text().strip() or self.tr("Typed machine"),
            kind,
            cards=self.cards.value() if kind == "gpu" else 1,
            memory_bytes=memory,
            bandwidth_bytes_per_s=self.bandwidth.value() * GB,
            flops_per_s=self.flops.value() * _TERA or None,
            link_bytes_per_s=self.link.value() * GB or None,
            **host,  # type: ignore[arg-type]
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Set the list above the fields where there is no room beside them."""
        super().resizeEvent(event)
        beside = self.width() >= self._themes.theme.px(_BESIDE_PX)
        ways = QBoxLayout.Direction
        self._middle.setDirection(ways.LeftToRight if beside else ways.TopToBottom)

    def showEvent(self, event: QShowEvent) -> None:
        """Bring the present machine into view, now that the list has its size."""
        super().showEvent(event)
        if self.list.currentItem() is not None:
            centre = QListWidget.ScrollHint.PositionAtCenter
            self.list.scrollToItem(self.list.currentItem(), centre)

    # --- inner

    def _add_item(self, text: str, key: str) -> None:
        item = QListWidgetItem(text, self.list)
        item.setData(_ROLE, key)
        item.setSizeHint(QSize(0, self._themes.theme.px(30)))

    def _number(self, low: float, high: float, unit: str) -> DecimalField:
        field = DecimalField(self)
        indent(field)
        field.setRange(low, high)
        field.setDecimals(1)
        field.setSuffix(unit)
        return field

    def _lay_out(self) -> None:
        theme = self._themes.theme
        grid = QGridLayout()
        grid.setHorizontalSpacing(theme.px(12))
        grid.setVerticalSpacing(theme.px(8))
        grid.setColumnStretch(1, 1)
        rows = (
            (self.tr("Name"), self.name),
            (self.tr("Kind"), self.kind),
            (self.tr("Memory"), self.memory),
            (self.tr("Cards"), self.cards),
            (self.tr("Bandwidth"), self.bandwidth),
            (self.tr("16-bit arithmetic"), self.flops),
            (self.tr("Link to main memory"), self.link),
            (self.tr("Main memory beside it"), self.host),
            (self.tr("Its bandwidth"), self.host_bandwidth),
        )
        for row, (text, editor) in enumerate(rows):
            label = QLabel(text, self)
            label.setProperty("kind", "small")
            label.setBuddy(editor)
            editor.setAccessibleName(text)
            grid.addWidget(label, row, 0)
            grid.addWidget(editor, row, 1)
        left = QVBoxLayout()
        left.setSpacing(theme.px(8))
        left.addWidget(self.search)
        left.addWidget(self.list, 1)
        fields = QWidget()
        right = QVBoxLayout(fields)
        right.setContentsMargins(0, 0, theme.px(4), 0)
        right.setSpacing(theme.px(10))
        right.addLayout(grid)
        right.addWidget(self.basis)
        right.addStretch(1)
        self._middle = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._middle.setSpacing(theme.px(18))
        self._middle.addLayout(left, 10)
        self._middle.addWidget(PageArea(fields, self), 12)
        column = QVBoxLayout(self)
        side = theme.px(18)
        column.setContentsMargins(side, side, side, theme.px(14))
        column.setSpacing(theme.px(12))
        column.addLayout(self._middle, 1)
        column.addWidget(self.buttons)

    def _connect(self) -> None:
        self.name.textEdited.connect(self._on_typed)
        self.kind.currentIndexChanged.connect(self._on_typed)
        for field in (self.bandwidth, self.flops, self.link):
            field.valueChanged.connect(self._on_typed)

    def _choose(self, spec: MachineSpec) -> None:
        self._filling = True
        self._fill(spec)
        self._source = spec.name if spec.source == "table" else spec.source
        for at in range(self.list.count()):
            if self.list.item(at).data(_ROLE) == self._source:
                self.list.setCurrentRow(at)
        self._filling = False
        self._show_source()

    def _fill(self, spec: MachineSpec) -> None:
        row = self._rows.get(spec.name) if spec.source == "table" else None
        self.host.setValue(spec.host_bytes / _GIB)
        self.host_bandwidth.setValue(spec.host_bandwidth_bytes_per_s / GB)
        self.cards.setValue(spec.cards)
        if row is None:
            self.name.setText(spec.name)
            self.kind.setCurrentIndex(self.kind.findData(spec.kind))
            self.memory.setValue(spec.memory_bytes / _GIB)
            self.bandwidth.setValue((spec.bandwidth_bytes_per_s or 500 * GB) / GB)
            self.flops.setValue((spec.flops_per_s or 0) / _TERA)
            self.link.setValue((spec.link_bytes_per_s or 0) / GB)
            return
        self.name.setText(short_name(row.name))
        self.kind.setCurrentIndex(self.kind.findData(_KINDS.get(row.kind, "gpu")))
        largest = max(row.memory_bytes, default=spec.host_bytes)
        self.memory.setValue((spec.memory_bytes or largest) / _GIB)
        self.bandwidth.setValue(row.bandwidth_bytes_per_s / GB)
        self.flops.setValue((row.flops_per_s or 0) / _TERA)
        self.link.setValue((row.link_bytes_per_s or 0) / GB)

    @Slot()
    def _on_item(self) -> None:
        item = self.list.currentItem()
        if item is None or self._filling:
            return
        self._source = item.data(_ROLE)
        row = self._rows.get(self._source)
        self._filling = True
        if row is not None:
            self._fill(MachineSpec("table", row.name))
        self._filling = False
        self._show_source()

    @Slot()
    def _on_typed(self) -> None:
        """What is typed over the table's figures makes a machine of one's own."""
        if self._filling:
            return
        self._filling = True
        self._source = _TYPED
        self.list.setCurrentRow(1)
        self._filling = False
        self._show_source()

    def _show_source(self) -> None:
        row = self._rows.get(self._source)
        is_this = self._source == _THIS
        kind = self.kind.currentData()
        for field in (self.name, self.kind, self.memory, self.bandwidth, self.flops):
            field.setEnabled(not is_this)
        self.memory.setEnabled(not is_this and not (row is not None and row.kind == "cpu"))
        self.cards.setEnabled(not is_this and kind == "gpu")
        self.link.setEnabled(not is_this and kind == "gpu")
        beside = kind == "gpu" or (row is not None and row.kind == "cpu")
        self.host.setEnabled(not is_this and beside)
        self.host_bandwidth.setEnabled(not is_this and beside)
        if is_this:
            self.basis.setText(self.tr("What the engine and the system report of this computer."))
        elif row is not None:
            note = f" ({row.note})" if row.note else ""
            text = self.tr("From the data sheet: %1%2. %3 Main memory beside it is assumed.")
            checked = self.tr("Not compared with a second source.")
            if row.checked:
                checked = self.tr("Compared with: %1.").replace("%1", row.checked)
            filled = text.replace("%1", row.source).replace("%2", note)
            self.basis.setText(filled.replace("%3", checked))
        else:
            self.basis.setText(self.tr("Typed: nothing of it is checked."))

    @Slot(str)
    def _filter(self, query: str) -> None:
        words = query.casefold().split()
        first = None
        for at in range(self.list.count()):
            item = self.list.item(at)
            text = f"{item.text()} {item.data(_ROLE)}".casefold()
            hidden = bool(words) and not all(word in text for word in words)
            item.setHidden(hidden)
            if first is None and words and not hidden:
                first = at
        if first is not None:
            self.list.setCurrentRow(first)

    @Slot()
    def _accept(self) -> None:
        self.wanted.emit(self.spec())
        self.accept()

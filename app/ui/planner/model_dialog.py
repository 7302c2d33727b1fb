"""A model typed as figures: what a person knows of a model without having its file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from app.ui.dialogs.sizes import open_size
from app.ui.fields import DecimalField, PlainChoice
from app.ui.look import set_look
from app.ui.page_area import PageArea
from app.ui.planner.fields import CountField, indent
from app.ui.theme import ThemeManager
from gguf_tools.typed import QUANTIZATIONS, TypedModel

__all__ = ["ModelDialog"]

_BILLION: Final = 1_000_000_000
_BESIDE_PX: Final = 560


class ModelDialog(QDialog):
    """Figures, and a line that says what follows from them.

    ``describe`` returns what follows, and a sentence on what is wrong (one of them empty).

    Signals:
        typed(TypedModel): the model that was typed.
    """

    typed = Signal(object)

    def __init__(
        self,
        themes: ThemeManager,
        model: TypedModel,
        describe: Callable[[TypedModel], tuple[str, str]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("modelDialog")
        self.setWindowTitle(self.tr("Type a model"))
        self._describe = describe
        theme = themes.theme
        self.name = QLineEdit(model.name, self)
        self.name.setPlaceholderText(self.tr("A name, if you like"))
        self.parameters = self._billions(model.parameters, 0.001)
        self.layers = CountField(1, 512, 1, self)
        self.kv_heads = CountField(1, 1024, 1, self)
        self.head = CountField(8, 1024, 8, self)
        self.quantization = PlainChoice(self)
        self.quantization.addItems(QUANTIZATIONS)
        self.context = CountField(256, 100_000_000, 1024, self)
        self.heads = self._optional(4096)
        self.vocabulary = self._optional(4_000_000)
        self.experts = self._optional(4096, self.tr("none"))
        self.used = CountField(1, 4096, 1, self)
        self.active = self._billions(model.parameters_active, 0.0)
        self.says = QLabel(self)
        self.says.setWordWrap(True)
        self.says.setMinimumHeight(theme.px(38))
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(theme.px(12))
        self._grid.setVerticalSpacing(theme.px(8))
        self._grid.setColumnStretch(1, 1)
        self._cells: list[tuple[QLabel, QWidget]] = []
        rows = (
            (self.tr("Name"), self.name),
            (self.tr("Quantisation"), self.quantization),
            (self.tr("Parameters, billions"), self.parameters),
            (self.tr("Layers"), self.layers),
            (self.tr("KV heads"), self.kv_heads),
            (self.tr("Head size"), self.head),
            (self.tr("Trained context"), self.context),
            (self.tr("Heads"), self.heads),
            (self.tr("Vocabulary"), self.vocabulary),
            (self.tr("Experts"), self.experts),
            (self.tr("Experts a token uses"), self.used),
            (self.tr("Active parameters, billions"), self.active),
        )
        for text, editor in rows:
            label = QLabel(text, self)
            label.setProperty("kind", "small")
            label.setBuddy(editor)
            editor.setAccessibleName(text)
            self._cells.append((label, editor))
        about = QLabel(
            self.tr(
                "What is left at “as usual” is filled in by the proportions of well-known models "
                "and shown as assumed."
            ),
            self,
        )
        about.setProperty("kind", "small")
        about.setWordWrap(True)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel, self
        )
        ok = self.buttons.button(QDialogButtonBox.StandardButton.Ok)
        ok.setText(self.tr("Plan this model"))
        set_look(ok, "kind", "primary")
        self.buttons.accepted.connect(self._accept)
        self.buttons.rejected.connect(self.reject)
        whole = QVBoxLayout(self)
        side = theme.px(20)
        whole.setContentsMargins(side, side, side, theme.px(14))
        whole.setSpacing(theme.px(12))
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, theme.px(4), 0)
        column.setSpacing(theme.px(12))
        column.addWidget(about)
        column.addLayout(self._grid)
        column.addWidget(self.says)
        column.addStretch(1)
        whole.addWidget(PageArea(content, self), 1)
        whole.addWidget(self.buttons)
        self._least_px = theme.px(_BESIDE_PX)
        self._per_row = 0
        self._arrange(2)
        self.set_model(model)
        self._connect()
        self._update()
        open_size(self, theme, 620, 424)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Set the fields in one column where two have no room."""
        super().resizeEvent(event)
        self._arrange(2 if self.width() >= self._least_px else 1)

    def _arrange(self, per_row: int) -> None:
        if per_row == self._per_row:
            return
        self._per_row = per_row
        for index, (label, editor) in enumerate(self._cells):
            row, column = divmod(index, per_row)
            self._grid.removeWidget(label)
            self._grid.removeWidget(editor)
            self._grid.addWidget(label, row, 2 * column)
            self._grid.addWidget(editor, row, 2 * column + 1)
        self._grid.setColumnStretch(3, 1 if per_row > 1 else 0)

    def model(self) -> TypedModel:
        """Return what the fields say."""
        experts = self.experts.value()
        return TypedModel(
            name=self.name.text().strip(),
            parameters=round(self.parameters.value() * _BILLION),
            layers=self.layers.value(),
            kv_heads=self.kv_heads.value(),
            head_length=self.head.value(),
            quantization=self.quantization.currentText(),
            context_length=self.context.value(),
            heads=self.heads.value(),
            vocabulary=self.vocabulary.value(),
            experts=experts,
            experts_used=self.used.value() if experts else 0,
            parameters_active=round(self.active.value() * _BILLION) if experts else 0,
        )

    def set_model(self, model: TypedModel) -> None:
        """Show a model's figures."""
        self.name.setText(model.name)
        self.parameters.setValue(model.parameters / _BILLION)
        self.layers.setValue(model.layers)
        self.kv_heads.setValue(model.kv_heads)
        self.head.setValue(model.head_length)
        self.quantization.setCurrentText(model.quantization)
        self.context.setValue(model.context_length)
        self.heads.setValue(model.heads)
        self.vocabulary.setValue(model.vocabulary)
        self.experts.setValue(model.experts)
        self.used.setValue(model.experts_used or 1)
        self.active.setValue(model.parameters_active / _BILLION)

    def _billions(self, value: int, least: float) -> DecimalField:
        field = DecimalField(self)
        indent(field)
        field.setDecimals(3)
        field.setRange(least, 10_000)
        field.setSingleStep(1)
        field.setValue(value / _BILLION)
        return field

    def _optional(self, high: int, none: str = "") -> CountField:
        field = CountField(0, high, 1, self)
        field.setSpecialValueText(none or self.tr("as usual"))
        return field

    def _connect(self) -> None:
        for field in (self.layers, self.kv_heads, self.head, self.context, self.heads,
                      self.vocabulary, self.experts, self.used):  # fmt: skip
            field.valueChanged.connect(self._update)
        self.parameters.valueChanged.connect(self._update)
        self.active.valueChanged.connect(self._update)
        self.quantization.currentIndexChanged.connect(self._update)

    @Slot()
    def _update(self) -> None:
        has_experts = self.experts.value() > 0
        self.used.setEnabled(has_experts)
        self.active.setEnabled(has_experts)
        says, problem = self._describe(self.model())
        self.says.setProperty("kind", "error" if problem else "dim")
        self.says.style().unpolish(self.says)
        self.says.style().polish(self.says)
        self.says.setText(problem or says)
        self.says.setTextFormat(Qt.TextFormat.PlainText)
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(not problem)

    @Slot()
    def _accept(self) -> None:
        model = self.model()
        if not self._describe(model)[1]:
            self.typed.emit(model)
            self.accept()

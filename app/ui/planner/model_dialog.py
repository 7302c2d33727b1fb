"""A model typed as figures: what a person knows of a model without having its file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QGridLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from app.ui.dialogs.sizes import open_size
from app.ui.planner.fields import CountField, indent
from app.ui.theme import ThemeManager
from gguf_tools.typed import QUANTIZATIONS, TypedModel

__all__ = ["ModelDialog"]

_BILLION: Final = 1_000_000_000


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
        self.quantization = QComboBox(self)
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
        self._grid.setColumnStretch(3, 1)
        rows = (
            (self.tr("Name"), self.name, 0, 0),
            (self.tr("Quantisation"), self.quantization, 0, 2),
            (self.tr("Parameters, billions"), self.parameters, 1, 0),
            (self.tr("Layers"), self.layers, 1, 2),
            (self.tr("KV heads"), self.kv_heads, 2, 0),
            (self.tr("Head size"), self.head, 2, 2),
            (self.tr("Trained context"), self.context, 3, 0),
            (self.tr("Heads"), self.heads, 3, 2),
            (self.tr("Vocabulary"), self.vocabulary, 4, 0),
            (self.tr("Experts"), self.experts, 4, 2),
            (self.tr("Experts a token uses"), self.used, 5, 0),
            (self.tr("Active parameters, billions"), self.active, 5, 2),
        )
        for text, editor, row, column in rows:
            label = QLabel(text, self)
            label.setProperty("kind", "small")
            label.setBuddy(editor)
            editor.setAccessibleName(text)
            self._grid.addWidget(label, row, column)
            self._grid.addWidget(editor, row, column + 1)
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
        ok.setProperty("kind", "primary")
        self.buttons.accepted.connect(self._accept)
        self.buttons.rejected.connect(self.reject)
        whole = QVBoxLayout(self)
        side = theme.px(20)
        whole.setContentsMargins(side, side, side, theme.px(14))
        whole.setSpacing(theme.px(12))
        whole.addWidget(about)
        whole.addLayout(self._grid)
        whole.addWidget(self.says)
        whole.addStretch(1)
        whole.addWidget(self.buttons)
        self.set_model(model)
        self._connect()
        self._update()
        open_size(self, theme, 620, 400)

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

    def _billions(self, value: int, least: float) -> QDoubleSpinBox:
        field = QDoubleSpinBox(self)
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

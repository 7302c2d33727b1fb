"""The planner's form: a model and how it would be loaded."""

from __future__ import annotations

from typing import Final

import msgspec
from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from app.ui.fields import PlainChoice
from app.ui.planner.fields import ChoiceBox, CountField, Field, LogSlider
from app.ui.planner.views import FormFacts
from app.ui.theme import ThemeManager
from gguf_tools.quants import CACHE_TYPES
from inspector.planner_setup import PlannerSettings

__all__ = ["PlannerForm"]

_FIRST_SHARE: Final = 16  # of a row, as wide as the model's name needs
_SHARE: Final = 10
_LEAST_CONTEXT: Final = 256
_MOST_CONTEXT: Final = 4_194_304
_MOST_CHATS: Final = 256
_MOST_BATCH: Final = 16_384


class PlannerForm(QFrame):
    """Fields; every change is told at once, also while a slider moves.

    Signals:
        changed(PlannerSettings): a setting is another one.
        model_wanted(): another model is to be chosen.
        own_toggled(bool): the settings are to hold for the chosen row only, or for all.
    """

    changed = Signal(object)
    model_wanted = Signal()
    own_toggled = Signal(bool)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._themes = themes
        self._settings = PlannerSettings()
        self._filling = False
        self._per_row = 0

        self.model = ChoiceBox(self)
        self.context = CountField(_LEAST_CONTEXT, _MOST_CONTEXT, 1024, self)
        self.context_slider = LogSlider(_LEAST_CONTEXT, 131_072, 256, self)
        self.cache = PlainChoice(self)
        self.cache.addItems(sorted(CACHE_TYPES, key=lambda name: (name != "f16", name)))
        self.chats = CountField(1, _MOST_CHATS, 1, self)
        self.chats_slider = LogSlider(1, 64, 1, self)
        self.batch = CountField(1, _MOST_BATCH, 128, self)
        self.layers = CountField(-1, 1, 1, self)
        self.flash = PlainChoice(self)
        self.flash.addItem(self.tr("on"), "on")
        self.flash.addItem(self.tr("off"), "off")
        self.experts = QCheckBox(self.tr("experts in RAM"), self)
        self.experts.setToolTip(
            self.tr(
                "Keep the expert matrices of all layers with the processor, the rest on the card."
            )
        )
        kept = self.experts.sizePolicy()
        kept.setRetainSizeWhenHidden(True)  # its field stays in line with the others
        self.experts.setSizePolicy(kept)
        self.own = QCheckBox(self.tr("only for this row"), self)
        self.own.setToolTip(
            self.tr("Give the chosen row a model and settings of its own; the others keep theirs.")
        )
        self.problem = QLabel(self)
        self.problem.setProperty("kind", "error")
        self.problem.setWordWrap(True)
        self.problem.hide()
        self.remark = QLabel(self)
        self.remark.setProperty("kind", "small")
        self.remark.setWordWrap(True)
        self.remark.hide()

        field = self._field
        self._fields = (
            field(self.tr("Model"), self.model),
            field(self.tr("Context, tokens"), self.context, self.context_slider),
            field(self.tr("KV cache type"), self.cache),
            field(self.tr("Chats at once"), self.chats, self.chats_slider),
            field(self.tr("Layers on GPU"), self.layers, self.experts),
            field(self.tr("Batch, tokens"), self.batch),
            field(self.tr("Flash attention"), self.flash, self.own),
        )
        self._fields[5].hint.setText(self.tr("of a prompt at a time"))
        self._grid = QGridLayout()
        self._foot = QHBoxLayout()
        self._foot.addWidget(self.problem, 1)
        self._foot.addWidget(self.remark, 1)
        self._column = QVBoxLayout(self)
        self._column.addLayout(self._grid)
        self._column.addLayout(self._foot)
        self._connect()
        themes.changed.connect(self._space)
        self._space()
        self._arrange(len(self._fields))

    def set_state(
        self, settings: PlannerSettings, facts: FormFacts, *, own: bool, has_row: bool
    ) -> None:
        """Show settings and what is known of the model; nothing is emitted."""
        self._filling = True
        self._settings = settings
        self.model.set_text(facts.model)
        self._fields[0].hint.setText(facts.model_hint)
        self._fields[2].hint.setText(facts.cache_hint)
        self.context_slider.set_limits(
            _LEAST_CONTEXT, max(facts.trained_tokens or 131_072, 4 * _LEAST_CONTEXT)
        )
        if not self.context.hasFocus() or self.context.value() != settings.context:
            self.context.setValue(settings.context)
        self.context_slider.set_count(settings.context)
        self.cache.setCurrentText(settings.cache_type)
        self.chats.setValue(settings.conversations)
        self.chats_slider.set_count(settings.conversations)
        self.batch.setValue(settings.batch)
        self.layers.setSpecialValueText(
            self.tr("all %1").replace("%1", str(facts.layers)) if facts.layers else self.tr("all")
        )
        self.layers.setRange(-1, max(facts.layers, settings.gpu_layers, 1))
        self.layers.setValue(settings.gpu_layers)
        self.flash.setCurrentIndex(self.flash.findData(settings.flash_attention))
        self.experts.setVisible(facts.has_experts)
        self.experts.setChecked(settings.experts_on_cpu)
        self.own.setChecked(own)
        self.own.setEnabled(has_row)
        self.remark.setText(facts.remark)
        self.remark.setVisible(bool(facts.remark))
        self._filling = False

    def set_problem(self, sentence: str) -> None:
        """Say what is wrong, or no longer anything."""
        self.problem.setText(sentence)
        self.problem.setVisible(bool(sentence))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Set the fields in as many rows as they need."""
        super().resizeEvent(event)
        self._arrange(self._fitting())

    def minimumSizeHint(self) -> QSize:
        """Allow any width."""
        return QSize(0, super().minimumSizeHint().height())

    # --- inner

    def _field(self, label: str, editor: QWidget, below: QWidget | None = None) -> Field:
        return Field(self._themes, label, editor, below, self)

    def _connect(self) -> None:
        self.model.wanted.connect(self.model_wanted)
        self.context.valueChanged.connect(self._on_context)
        self.context_slider.moved.connect(self.context.setValue)
        self.chats.valueChanged.connect(self._on_chats)
        self.chats_slider.moved.connect(self.chats.setValue)
        self.cache.currentIndexChanged.connect(self._on_change)
        self.flash.currentIndexChanged.connect(self._on_change)
        self.batch.valueChanged.connect(self._on_change)
        self.layers.valueChanged.connect(self._on_change)
        self.experts.toggled.connect(self._on_change)
        self.own.toggled.connect(self._on_own)

    @Slot(int)
    def _on_context(self, value: int) -> None:
        if not self.context_slider.isSliderDown():
            self.context_slider.set_count(value)
        self._on_change()

    @Slot(int)
    def _on_chats(self, value: int) -> None:
        if not self.chats_slider.isSliderDown():
            self.chats_slider.set_count(value)
        self._on_change()

    @Slot(bool)
    def _on_own(self, own: bool) -> None:
        if not self._filling:
            self.own_toggled.emit(own)

    @Slot()
    def _on_change(self) -> None:
        if self._filling:
            return
        settings = msgspec.structs.replace(
            self._settings,
            context=self.context.value(),
            cache_type=self.cache.currentText(),
            conversations=self.chats.value(),
            batch=self.batch.value(),
            gpu_layers=self.layers.value(),
            flash_attention=self.flash.currentData(),
            experts_on_cpu=self.experts.isChecked(),
        )
        if settings != self._settings:
            self._settings = settings
            self.changed.emit(settings)

    def _fitting(self) -> int:
        """Return how many fields a row takes with every word of their labels."""
        least = max(field.least_width() for field in self._fields)
        sides = self._column.contentsMargins()
        room = self.width() - sides.left() - sides.right()
        for per_row in (len(self._fields), 4, 2):
            shares = _FIRST_SHARE + _SHARE * (per_row - 1)
            left = room - self._grid.horizontalSpacing() * (per_row - 1)
            if left * _SHARE >= least * shares:
                return per_row
        return 1

    def _arrange(self, per_row: int) -> None:
        if per_row == self._per_row:
            return
        self._per_row = per_row
        for field in self._fields:
            self._grid.removeWidget(field)
        for index, field in enumerate(self._fields):
            top = Qt.AlignmentFlag.AlignTop  # what is higher makes no gaps in what is beside it
            self._grid.addWidget(field, index // per_row, index % per_row, top)
        for column in range(len(self._fields)):
            stretch = 0 if column >= per_row else _SHARE if column else _FIRST_SHARE
            self._grid.setColumnStretch(column, stretch)

    @Slot()
    def _space(self) -> None:
        theme = self._themes.theme
        side = theme.px(16)
        self._column.setContentsMargins(side, theme.px(12), side, theme.px(10))
        self._column.setSpacing(theme.px(4))
        self._grid.setHorizontalSpacing(theme.px(12))
        self._grid.setVerticalSpacing(theme.px(6))
        self._foot.setSpacing(theme.px(18))

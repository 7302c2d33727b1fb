"""How a model is loaded: its settings, what the engine made of them, and a plan beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QHBoxLayout,
    QVBoxLayout,
    QWidget,
)

from app.settings import by_scope
from app.ui.dialogs.buttons import DialogButtons
from app.ui.dialogs.form import SettingsForm
from app.ui.dialogs.sizes import open_size
from app.ui.elide import ElidedLabel
from app.ui.page_area import PageArea
from app.ui.theme import ThemeManager

__all__ = ["LoadDialog"]


class LoadDialog(QDialog):
    """Settings of scope ``load`` for one model.

    Signals:
        values_changed(dict): all values, whenever one changes and all are sound (for the plan).
        saved(dict, bool): the values to keep, and whether also for models that have none.
        load_requested(dict, bool): as `saved`, and load the model now.
    """

    values_changed = Signal(dict)
    saved = Signal(dict, bool)
    load_requested = Signal(dict, bool)

    def __init__(
        self,
        themes: ThemeManager,
        model_name: str,
        file: str,
        values: Mapping[str, Any],
        parent: QWidget | None = None,
        *,
        is_loaded: bool = False,
        choices: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("loadDialog")
        self.setWindowTitle(self.tr("Load settings"))
        theme = themes.theme
        self._name = ElidedLabel(model_name, self, Qt.TextElideMode.ElideMiddle)
        self._name.setProperty("kind", "heading")
        place = ElidedLabel(file, self, Qt.TextElideMode.ElideMiddle)
        place.setProperty("kind", "faint")
        head = QVBoxLayout()
        head.setSpacing(theme.px(2))
        head.addWidget(self._name)
        head.addWidget(place)
        self.form = SettingsForm(by_scope("load"), themes, self, choices=choices)
        self.form.set_values(values)
        self.form.value_changed.connect(self._on_changed)
        self.form.validity_changed.connect(self._on_validity)
        page = QWidget(self)
        inner = QVBoxLayout(page)
        inner.setContentsMargins(0, 0, theme.px(12), 0)
        inner.addWidget(self.form)
        area = PageArea(page, self, sideways=True)
        self._middle = QHBoxLayout()
        self._middle.setSpacing(theme.px(16))
        self._middle.addWidget(area, 1)
        self._preview: QWidget | None = None

        self._everywhere = QCheckBox(
            self.tr("Use for all models that have no settings of their own"), self
        )
        buttons = DialogButtons(self)
        buttons.other(self.tr("Reset all")).clicked.connect(self.form.reset_all)
        self._load = buttons.main(self.tr("Load again") if is_loaded else self.tr("Load"))
        self._load.clicked.connect(self._on_load)
        self._save = buttons.second(self.tr("Save"))
        self._save.clicked.connect(self._on_save)
        buttons.cancel()
        column = QVBoxLayout(self)
        side = theme.px(18)
        column.setContentsMargins(side, side, side, side)
        column.setSpacing(theme.px(12))
        column.addLayout(head)
        column.addLayout(self._middle, 1)
        column.addWidget(self._everywhere)
        column.addWidget(buttons)
        open_size(self, theme, 560, 640)

    def set_used(self, used: Mapping[str, str]) -> None:
        """Say beside settings what the engine really took when the model was loaded."""
        self.form.set_used(used)

    def set_name(self, name: str) -> None:
        """Name the model, once its file was read."""
        self._name.setText(name)

    def set_automatic(self, key: str, value: Any, hint: str = "") -> None:
        """Say which value is taken while a setting is left to the program."""
        self.form.row(key).set_automatic(value, hint)

    def set_warning(self, key: str, text: str) -> None:
        """Say what will come of a setting's value; empty says nothing."""
        self.form.row(key).set_warning(text)

    def set_preview(self, preview: QWidget | None) -> None:
        """Put a plan beside the settings."""
        if self._preview is not None:
            self._middle.removeWidget(self._preview)
            self._preview.setParent(None)
        self._preview = preview
        if preview is not None:
            self._middle.addWidget(preview, 1)

    @Slot()
    def _on_changed(self) -> None:
        if self.form.is_valid():
            self.values_changed.emit(self.form.values())

    @Slot(bool)
    def _on_validity(self, valid: bool) -> None:
        self._save.setEnabled(valid)
        self._load.setEnabled(valid)

    @Slot()
    def _on_save(self) -> None:
        self.saved.emit(self.form.values(), self._everywhere.isChecked())
        self.accept()

    @Slot()
    def _on_load(self) -> None:
        self.load_requested.emit(self.form.values(), self._everywhere.isChecked())
        self.accept()

"""What is kept with a chat: system prompt, preset and sampling values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QInputDialog,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.settings import by_scope
from app.ui.dialogs.buttons import DialogButtons
from app.ui.dialogs.form import SettingsForm
from app.ui.dialogs.presets import BUILT_IN, DEFAULT_PRESET, all_presets, preset_values
from app.ui.dialogs.sizes import open_size
from app.ui.elide import ElidedLabel
from app.ui.fields import PlainChoice
from app.ui.page_area import PageArea
from app.ui.theme import ThemeManager

__all__ = ["ChatDialog", "ChatSettings"]


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Settings of one chat. ``sampling`` has all keys of scope ``sampling``."""

    system_prompt: str = ""
    preset: str = DEFAULT_PRESET
    sampling: Mapping[str, Any] = field(default_factory=lambda: preset_values({}))


class ChatDialog(QDialog):
    """Edits the settings of a chat.

    Signals:
        applied(object): the new `ChatSettings`.
        preset_saved(str, dict): name and values of a preset to keep.
        preset_deleted(str)
    """

    applied = Signal(object)
    preset_saved = Signal(str, dict)
    preset_deleted = Signal(str)

    def __init__(
        self,
        themes: ThemeManager,
        title: str,
        settings: ChatSettings,
        presets: Mapping[str, Mapping[str, Any]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("chatDialog")
        self.setWindowTitle(self.tr("Chat settings"))
        theme = themes.theme
        self._own = {name: dict(values) for name, values in presets.items()}
        name = ElidedLabel(title, self)
        name.setProperty("kind", "heading")
        prompt_label = QLabel(self.tr("System prompt"), self)
        prompt_label.setProperty("kind", "strong")
        self._prompt = QPlainTextEdit(self)
        self._prompt.setTabChangesFocus(True)
        self._prompt.setPlaceholderText(self.tr("What the model is told before the chat begins"))
        self._prompt.setAccessibleName(self.tr("System prompt"))
        self._prompt.setFixedHeight(theme.px(104))
        self._prompt.setPlainText(settings.system_prompt)
        prompt_label.setBuddy(self._prompt)

        preset_label = QLabel(self.tr("Preset"), self)
        preset_label.setProperty("kind", "strong")
        self._presets = PlainChoice(self)
        self._presets.setAccessibleName(self.tr("Preset"))
        self._presets.activated.connect(self._on_preset)
        preset_label.setBuddy(self._presets)
        self._changed = QLabel(self.tr("changed"), self)
        self._changed.setProperty("kind", "tag")
        save = QPushButton(self.tr("Save as…"), self)
        save.clicked.connect(self._ask_name)
        self._delete = QPushButton(self.tr("Delete"), self)
        self._delete.clicked.connect(self._on_delete)
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        row.addWidget(self._presets, 1)
        row.addWidget(self._changed)
        row.addWidget(save)
        row.addWidget(self._delete)
        self._problem = QLabel(self)
        self._problem.setProperty("kind", "error")
        self._problem.setWordWrap(True)
        self._problem.hide()

        self.form = SettingsForm(by_scope("sampling"), themes, self)
        self.form.set_values(settings.sampling)
        self.form.value_changed.connect(self._refresh)
        self.form.validity_changed.connect(self._on_validity)
        page = QWidget(self)
        inner = QVBoxLayout(page)
        inner.setContentsMargins(0, 0, theme.px(12), 0)
        inner.setSpacing(theme.px(6))
        for widget in (prompt_label, self._prompt, preset_label):
            inner.addWidget(widget)
        inner.addLayout(row)
        inner.addWidget(self._problem)
        inner.addSpacing(theme.px(10))
        inner.addWidget(self.form)
        area = PageArea(page, self, sideways=True)
        buttons = DialogButtons(self)
        self.take = buttons.main(self.tr("Use"))
        self.take.clicked.connect(self._on_accepted)
        buttons.cancel()
        column = QVBoxLayout(self)
        side = theme.px(18)
        column.setContentsMargins(side, side, side, side)
        column.setSpacing(theme.px(12))
        column.addWidget(name)
        column.addWidget(area, 1)
        column.addWidget(buttons)
        self._fill_presets(settings.preset)
        open_size(self, theme, 560, 660)

    def settings(self) -> ChatSettings:
        """Return what is on screen.

        Raises:
            SettingError: a row holds no value; OK is disabled then.
        """
        return ChatSettings(
            self._prompt.toPlainText(), self._presets.currentText(), self.form.values()
        )

    def choose_preset(self, name: str) -> None:
        """Take the values of a preset, and its system prompt if it has one."""
        values = all_presets(self._own).get(name)
        if values is None:
            return
        self._presets.setCurrentText(name)
        self.form.set_values(preset_values(values))
        if "system_prompt" in values:
            self._prompt.setPlainText(str(values["system_prompt"]))
        self._refresh()

    @Slot(str)
    def save_preset(self, name: str) -> None:
        """Keep what is on screen under a name, or say why that can't be done."""
        name = " ".join(name.split())
        if not self._can_be_saved():
            return
        if not name:
            self._say(self.tr("Give the preset a name."))
            return
        if name in BUILT_IN:
            self._say(self.tr("%1 comes with Plimsoll; choose another name.").replace("%1", name))
            return
        self._say("")
        values = self.form.values()
        if self._prompt.toPlainText().strip():
            values["system_prompt"] = self._prompt.toPlainText()
        self._own[name] = values
        self._fill_presets(name)
        self.preset_saved.emit(name, values)

    @Slot()
    def _on_preset(self) -> None:
        self.choose_preset(self._presets.currentText())

    @Slot()
    def _on_delete(self) -> None:
        name = self._presets.currentText()
        if self._own.pop(name, None) is not None:
            self._fill_presets(DEFAULT_PRESET)
            self.preset_deleted.emit(name)

    @Slot()
    def _ask_name(self) -> None:
        if not self._can_be_saved():
            return
        dialog = QInputDialog(self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle(self.tr("Save preset"))
        dialog.setLabelText(self.tr("Name of the preset"))
        current = self._presets.currentText()
        dialog.setTextValue("" if current in BUILT_IN else current)
        dialog.textValueSelected.connect(self.save_preset)
        dialog.open()

    def _can_be_saved(self) -> bool:
        """Tell whether every row holds a value; if not, say which doesn't and why."""
        row = next((row for row in self.form.rows() if row.fault), None)
        if row is None:
            return True
        if row.isHidden():
            self.form.set_advanced_shown(True)
        self._say(
            self.tr("A preset can't be saved with this value of “{name}”: {fault}").format(
                name=row.label, fault=row.fault
            )
        )
        return False

    def _say(self, problem: str) -> None:
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))

    @Slot(bool)
    def _on_validity(self, valid: bool) -> None:
        if valid:
            self._say("")
        self.take.setEnabled(valid)

    @Slot()
    def _on_accepted(self) -> None:
        if self.form.is_valid():
            self.applied.emit(self.settings())
            self.accept()

    def _fill_presets(self, current: str) -> None:
        names = list(all_presets(self._own))
        self._presets.clear()
        self._presets.addItems(names)
        self._presets.setCurrentText(current if current in names else DEFAULT_PRESET)
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        name = self._presets.currentText()
        self._delete.setEnabled(name in self._own)
        wanted = preset_values(all_presets(self._own).get(name, {}))
        differs = not self.form.is_valid() or self.form.values() != wanted
        self._changed.setVisible(differs)

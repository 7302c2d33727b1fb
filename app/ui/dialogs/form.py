"""A page of settings made from their declarations: label, editor, help, effect, reset, fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QCoreApplication, Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from app.settings import Setting, SettingError
from app.ui.dialogs.editors import Editor, make_editor
from app.ui.icons import IconKeeper
from app.ui.look import set_look
from app.ui.theme import ThemeManager

__all__ = ["SettingRow", "SettingsForm"]


def _shown(text: str) -> str:
    """Return a text of the table of settings in the user's language."""
    return QCoreApplication.translate("Settings", text)


class SettingRow(QWidget):
    """One setting.

    Signals:
        value_changed(str, object): key and a value the setting takes.
        fault_changed(): what is typed became a fault, or sound again.
    """

    value_changed = Signal(str, object)
    fault_changed = Signal()

    def __init__(
        self,
        setting: Setting,
        themes: ThemeManager,
        parent: QWidget,
        choices: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__(parent)
        self.setting = setting
        self._fault = self._warning = ""
        self._taken = self._hint = ""
        theme = themes.theme
        self._label = QLabel(_shown(setting.label), self)
        self._label.setProperty("kind", "strong")
        self._label.setWordWrap(True)
        # A tick box carries its label itself.
        self._label.setHidden(setting.kind == "bool" and setting.none_label is None)
        self._reset = QToolButton(self)
        self._reset.setProperty("kind", "flat")
        text = self.tr("Reset %1 to its default").replace("%1", _shown(setting.label))
        self._reset.setAccessibleName(text)
        self._reset.setToolTip(text)
        IconKeeper(self._reset, themes, "reset", "dim", 14)
        self._reset.clicked.connect(self.reset)
        self._used = QLabel(self)
        self._used.setProperty("kind", "small")
        self._used.setTextFormat(Qt.TextFormat.PlainText)
        self._used.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._used.hide()
        self.editor: Editor = make_editor(setting, themes, self, choices)
        field = self.editor.field()
        field.setAccessibleName(_shown(setting.label))
        field.setAccessibleDescription(_shown(setting.help))
        self._label.setBuddy(field)
        self.editor.edited.connect(self._on_edited)
        help_text = _shown(setting.help)
        if setting.effect != "now":
            when = {
                "next reply": self.tr("Takes effect with the next reply."),
                "next load": self.tr("Takes effect when the model is loaded."),
                "restart": self.tr("Takes effect at the next start."),
            }[setting.effect]
            help_text = f"{help_text} {when}" if setting.scope == "app" else help_text
        self._help = QLabel(help_text, self)
        self._help.setProperty("kind", "faint")
        self._help.setWordWrap(True)
        self._error = QLabel(self)
        self._error.setProperty("kind", "error")
        self._error.setWordWrap(True)
        self._error.hide()
        head = QHBoxLayout()
        head.setContentsMargins(0, 0, 0, 0)
        head.addWidget(self._label, 1)
        head.addWidget(self._used)  # beside the name: the editor's line is the longest as it is
        line = QHBoxLayout()
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self.editor, 1)
        line.addWidget(self._reset, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, theme.px(7), 0, theme.px(7))
        column.setSpacing(theme.px(4))
        column.addLayout(head)
        column.addLayout(line)
        column.addWidget(self._help)
        column.addWidget(self._error)
        self.set_value(setting.default)

    @property
    def label(self) -> str:
        """The setting's name in the user's language."""
        return _shown(self.setting.label)

    @property
    def fault(self) -> str:
        """Why what is typed is no value, or nothing."""
        return self._fault

    def value(self) -> Any:
        """Return the value on screen.

        Raises:
            SettingError: it is none that the setting takes.
        """
        return self.setting.check(self.editor.value())

    def set_value(self, value: Any) -> None:
        """Show a value; nothing is emitted."""
        self.editor.set_value(value)
        self._show_fault("")
        self._show_reset()

    def set_used(self, text: str) -> None:
        """Say what the engine really took; empty says nothing."""
        self._taken = self.tr("used: %1").replace("%1", text) if text else ""
        self._show_facts()

    def set_automatic(self, value: Any, hint: str = "") -> None:
        """Say which value is taken while none is set, and beside it a fact about it."""
        self.editor.set_automatic(value)
        self._hint = hint
        self._show_facts()

    def set_warning(self, text: str) -> None:
        """Say what will come of a value that the setting takes; empty says nothing."""
        self._warning = text
        self._show_fault(self._fault)

    def _show_facts(self) -> None:
        text = " · ".join(part for part in (self._taken, self._hint) if part)
        self._used.setText(text)
        self._used.setVisible(bool(text))

    @Slot()
    def reset(self) -> None:
        """Go back to the default."""
        self.set_value(self.setting.default)
        self.value_changed.emit(self.setting.key, self.setting.default)
        self.fault_changed.emit()

    def matches(self, query: str) -> bool:
        """Tell whether all words occur in what the row says."""
        setting = self.setting
        text = f"{_shown(setting.label)} {_shown(setting.help)} {setting.key} {setting.group}"
        text = text.casefold()
        return all(word in text for word in query.casefold().split())

    @Slot()
    def _on_edited(self) -> None:
        try:
            value = self.value()
        except SettingError as error:
            self._show_fault(str(error))
            self._reset.setEnabled(True)
            self.fault_changed.emit()
            return
        self._show_fault("")
        self._show_reset()
        self.value_changed.emit(self.setting.key, value)
        self.fault_changed.emit()

    def _show_fault(self, fault: str) -> None:
        if fault != self._fault:
            set_look(self.editor.field(), "invalid", bool(fault))
        self._fault = fault
        said = fault or self._warning
        self._error.setText(said)
        self._error.setVisible(bool(said))

    def _show_reset(self) -> None:
        # The button keeps its place when it has nothing to do, so that rows do not jump.
        differs = self.editor.value() != self.setting.default
        self._reset.setEnabled(differs)
        policy = self._reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self._reset.setSizePolicy(policy)
        self._reset.setVisible(differs)


class SettingsForm(QWidget):
    """Rows of settings below the titles of their groups; advanced ones may be folded away.

    Signals:
        value_changed(str, object): key and a value the setting takes.
        validity_changed(bool): whether every row holds a value.
    """

    value_changed = Signal(str, object)
    validity_changed = Signal(bool)

    def __init__(
        self,
        settings: Sequence[Setting],
        themes: ThemeManager,
        parent: QWidget | None = None,
        *,
        titles: bool = True,
        fold_advanced: bool = True,
        choices: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    ) -> None:
        super().__init__(parent)
        theme = themes.theme
        self._rows: dict[str, SettingRow] = {}
        self._titles: dict[str, QLabel] = {}
        self._query = ""
        self._group: str | None = None
        self._was_valid = True
        self._fold_advanced = fold_advanced and any(setting.advanced for setting in settings)
        self._more = QPushButton(self.tr("Advanced"), self)
        self._more.setProperty("kind", "flat")
        self._more.setCheckable(True)
        self._more_icon = IconKeeper(self._more, themes, "chevron-right", "dim", 13)
        self._more.toggled.connect(self._refresh)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        for group in dict.fromkeys(setting.group for setting in settings):
            if titles:
                title = QLabel(_shown(group), self)
                title.setProperty("kind", "heading")
                title.setContentsMargins(0, theme.px(12 if self._rows else 0), 0, theme.px(2))
                self._titles[group] = title
                self._column.addWidget(title)
            for setting in settings:
                if setting.group == group:
                    self._add(setting, themes, (choices or {}).get(setting.key, ()))
        self._column.addWidget(self._more, 0, Qt.AlignmentFlag.AlignLeft)
        self._column.addStretch(1)
        self._refresh()

    def rows(self) -> list[SettingRow]:
        """Return all rows."""
        return list(self._rows.values())

    def row(self, key: str) -> SettingRow:
        """Return a row.

        Raises:
            KeyError: there is none of that name.
        """
        return self._rows[key]

    def values(self) -> dict[str, Any]:
        """Return the values of all rows.

        Raises:
            SettingError: a row holds none; `is_valid` tells before.
        """
        return {key: row.value() for key, row in self._rows.items()}

    def set_values(self, values: Mapping[str, Any]) -> None:
        """Show values; names that have no row are ignored."""
        for key, row in self._rows.items():
            if key in values:
                row.set_value(values[key])
        self._check()

    def set_used(self, used: Mapping[str, str]) -> None:
        """Say beside rows what the engine really took."""
        for key, row in self._rows.items():
            row.set_used(used.get(key, ""))

    def is_valid(self) -> bool:
        """Tell whether every row holds a value."""
        return not any(row.fault for row in self._rows.values())

    def set_query(self, query: str) -> int:
        """Show only rows that match, folded ones too; return how many there are."""
        self._query = query.strip()
        self._refresh()
        return sum(1 for row in self._rows.values() if not row.isHidden())

    def groups(self) -> list[str]:
        """Return the groups, in order."""
        return list(dict.fromkeys(row.setting.group for row in self._rows.values()))

    def set_group(self, group: str | None) -> None:
        """Show only one group, or with None all."""
        self._group = group
        self._refresh()

    def set_advanced_shown(self, shown: bool) -> None:
        """Unfold or fold the advanced rows."""
        self._more.setChecked(shown)

    @Slot()
    def reset_all(self) -> None:
        """Set every row to its default."""
        for row in self._rows.values():
            row.reset()

    def _add(
        self, setting: Setting, themes: ThemeManager, choices: Sequence[tuple[str, str]]
    ) -> None:
        row = SettingRow(setting, themes, self, choices)
        row.value_changed.connect(self.value_changed)
        row.fault_changed.connect(self._check)
        self._rows[setting.key] = row
        self._column.addWidget(row)

    @Slot()
    def _check(self) -> None:
        valid = self.is_valid()
        if valid != self._was_valid:
            self._was_valid = valid
            self.validity_changed.emit(valid)

    @Slot()
    def _refresh(self) -> None:
        unfolded = self._more.isChecked()
        self._more.setVisible(self._fold_advanced and not self._query)
        self._more_icon.set_icon("chevron-down" if unfolded else "chevron-right")
        shown_groups: set[str] = set()
        for row in self._rows.values():
            if self._query:
                shown = row.matches(self._query)
            else:
                here = self._group is None or row.setting.group == self._group
                folded = row.setting.advanced and self._fold_advanced and not unfolded
                shown = here and not folded
            row.setVisible(shown)
            if shown:
                shown_groups.add(row.setting.group)
        for group, title in self._titles.items():
            title.setVisible(group in shown_groups)

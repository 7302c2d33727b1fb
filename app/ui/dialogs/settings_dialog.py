"""The program's settings: groups as pages, a search over all, each change in force at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from PySide6.QtCore import QCoreApplication, QTimer, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QVBoxLayout,
    QWidget,
)

from app.settings import by_scope
from app.ui.dialogs.buttons import DialogButtons
from app.ui.dialogs.form import SettingsForm
from app.ui.dialogs.sizes import open_size
from app.ui.page_area import PageArea
from app.ui.theme import ThemeManager

__all__ = ["SettingsDialog"]

_PAUSE_MS: Final = 600  # in which the next figure is typed


class SettingsDialog(QDialog):
    """Settings of scope ``app``.

    Signals:
        value_changed(str, object): a setting's key and its new value, to be kept and applied.
    """

    value_changed = Signal(str, object)

    def __init__(
        self, themes: ThemeManager, values: Mapping[str, Any], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("settingsDialog")
        self.setWindowTitle(self.tr("Settings"))
        theme = themes.theme
        self._search = QLineEdit(self)
        self._search.setPlaceholderText(self.tr("Search settings"))
        self._search.setAccessibleName(self.tr("Search settings"))
        self._search.textChanged.connect(self._on_query)
        self.form = SettingsForm(by_scope("app"), themes, self, fold_advanced=False)
        self.form.set_values(values)
        self.form.value_changed.connect(self._on_value)
        self._typed: dict[str, Any] = {}  # numbers that more figures may follow
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._pause.timeout.connect(self._take_typed)
        self._warned = False  # that something typed is not kept
        for row in self.form.rows():
            row.fault_changed.connect(self._on_fault)
        self._groups = QListWidget(self)
        self._groups.setObjectName("groups")
        self._groups.setAccessibleName(self.tr("Groups of settings"))
        self._names = self.form.groups()
        for name in self._names:
            self._groups.addItem(QCoreApplication.translate("Settings", name))
        self._groups.currentRowChanged.connect(self._on_group)
        self._nothing = QLabel(self.tr("No setting matches."), self)
        self._nothing.setProperty("kind", "faint")
        self._nothing.hide()
        self._problem = QLabel(self)
        self._problem.setProperty("kind", "error")
        self._problem.setWordWrap(True)
        self._problem.hide()

        page = QWidget(self)
        inner = QVBoxLayout(page)
        inner.setContentsMargins(theme.px(18), theme.px(4), theme.px(14), theme.px(10))
        inner.addWidget(self._nothing)
        inner.addWidget(self.form, 1)
        area = PageArea(page, self, sideways=True)
        left = QVBoxLayout()
        left.setSpacing(theme.px(8))
        left.addWidget(self._search)
        left.addWidget(self._groups, 1)
        middle = QHBoxLayout()
        middle.addLayout(left)
        middle.addWidget(area, 1)
        buttons = DialogButtons(self)
        buttons.close_button()
        column = QVBoxLayout(self)
        side = theme.px(16)
        column.setContentsMargins(side, side, side, side)
        column.setSpacing(theme.px(10))
        column.addLayout(middle, 1)
        column.addWidget(self._problem)
        column.addWidget(buttons)
        self._groups.setCurrentRow(0)
        self._themes = themes
        open_size(self, theme, 740, 560)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()

    def set_values(self, values: Mapping[str, Any]) -> None:
        """Show values that were changed elsewhere (the text size, by its keys)."""
        self.form.set_values(values)

    @Slot(str, object)
    def _on_value(self, key: str, value: object) -> None:
        """Take a value; a number once nothing more is typed: 99 is no wish on the way to 9999."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            self._typed[key] = value
            self._pause.start()
        else:
            self._typed.pop(key, None)
            self.value_changed.emit(key, value)

    @Slot()
    def _take_typed(self) -> None:
        typed, self._typed = self._typed, {}
        for key, value in typed.items():
            self.value_changed.emit(key, value)

    def done(self, result: int) -> None:
        """Close, with all that was typed."""
        self._pause.stop()
        self._take_typed()
        super().done(result)

    def show_problem(self, text: str) -> None:
        """Say why a change could not be kept; empty takes it away."""
        self._problem.setText(text)
        self._problem.setVisible(bool(text))

    @Slot()
    def reject(self) -> None:
        """Close; but first say once what would not be kept."""
        faulty = next((row for row in self.form.rows() if row.fault), None)
        if faulty is None or self._warned:
            super().reject()
            return
        self._warned = True
        self.show_group(faulty.setting.group)
        faulty.editor.field().setFocus()
        text = self.tr("“%1” keeps its last value: mend what is marked, or close once more.")
        self.show_problem(text.replace("%1", faulty.label))

    @Slot()
    def _on_fault(self) -> None:
        self._warned = False
        for row in self.form.rows():
            if row.fault:
                self._typed.pop(row.setting.key, None)
        if self.form.is_valid():
            self.show_problem("")

    def show_group(self, group: str) -> None:
        """Turn to a group's page."""
        if group in self._names:
            self._search.clear()
            self._groups.setCurrentRow(self._names.index(group))

    @Slot()
    def _apply_theme(self) -> None:
        """Follow the text's size, which may be what is being changed here."""
        side = min(self._themes.theme.px(180), self.width() // 3)
        self._search.setFixedWidth(side)
        self._groups.setFixedWidth(side)

    @Slot(int)
    def _on_group(self, row: int) -> None:
        if 0 <= row < len(self._names):
            self._search.clear()
            self.form.set_group(self._names[row])

    @Slot(str)
    def _on_query(self, query: str) -> None:
        found = self.form.set_query(query)
        self._nothing.setVisible(found == 0)
        self._groups.setDisabled(bool(query.strip()))

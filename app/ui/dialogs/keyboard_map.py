"""All shortcuts on one page, from the table of commands."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from app.ui.actions import ACTIONS, Where, where_title
from app.ui.dialogs.buttons import DialogButtons
from app.ui.dialogs.sizes import open_size
from app.ui.page_area import PageArea
from app.ui.theme import ThemeManager

__all__ = ["KeyboardMapDialog", "shortcut_rows"]

_PLACES: tuple[Where, ...] = ("file", "chat", "view", "help")


def shortcut_rows(where: Where) -> list[tuple[str, list[str]]]:
    """Return the commands of a menu that have keys, with the keys as the system writes them."""
    rows = []
    for spec in ACTIONS:
        if spec.where == where and spec.shortcuts:
            keys = [
                QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)
                for key in spec.shortcuts
            ]
            rows.append((QCoreApplication.translate("Actions", spec.text).rstrip("…"), keys))
    return rows


class KeyboardMapDialog(QDialog):
    """Commands and their keys, by menu, and what the keys do in the composer and the lists."""

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("keyboardMap")
        self.setWindowTitle(self.tr("Keyboard map"))
        theme = themes.theme
        page = QWidget(self)
        grid = QGridLayout(page)
        grid.setColumnStretch(0, 1)
        grid.setHorizontalSpacing(theme.px(28))
        grid.setVerticalSpacing(theme.px(7))
        for where in _PLACES:
            self._add_group(grid, where_title(where), shortcut_rows(where), theme.px(10))
        self._add_group(grid, self.tr("Writing"), self._writing(), theme.px(10))
        self._add_group(grid, self.tr("Messages"), self._messages(), theme.px(10))
        grid.setRowStretch(grid.rowCount(), 1)
        area = PageArea(page, self, self.tr("Keyboard map"), sideways=True)
        buttons = DialogButtons(self)
        buttons.close_button()
        column = QVBoxLayout(self)
        side = theme.px(18)
        column.setContentsMargins(side, side, side, side)
        column.addWidget(area, 1)
        column.addWidget(buttons)
        open_size(self, theme, 500, 620)

    def _writing(self) -> list[tuple[str, list[str]]]:
        return [
            (self.tr("Send the message"), ["Enter"]),
            (self.tr("Break the line"), ["Shift+Enter"]),
            (self.tr("Edit your last message (in an empty draft)"), ["↑"]),
            (self.tr("Move through lists"), ["↑", "↓"]),
            (self.tr("Open the chosen row"), ["Enter"]),
            (self.tr("Load settings of the chosen model (in the model list)"), ["Ctrl+Enter"]),
        ]

    def _messages(self) -> list[tuple[str, list[str]]]:
        return [
            (self.tr("Move between messages"), ["↑", "↓"]),
            (self.tr("Scroll"), ["PgUp", "PgDn", "Home", "End"]),
            (self.tr("Show another version"), ["←", "→"]),
            (self.tr("Show or fold the reasoning"), ["Space"]),
            (self.tr("Copy the message"), ["Ctrl+C"]),
            (self.tr("Open the menu of the message"), ["Enter"]),
        ]

    def _add_group(
        self, grid: QGridLayout, title: str, rows: list[tuple[str, list[str]]], above: int
    ) -> None:
        heading = QLabel(title, self)
        heading.setProperty("kind", "heading")
        heading.setContentsMargins(0, above if grid.rowCount() > 1 else 0, 0, 0)
        grid.addWidget(heading, grid.rowCount(), 0, 1, 2)
        for text, keys in rows:
            row = grid.rowCount()
            label = QLabel(text, self)
            label.setProperty("kind", "dim")
            label.setWordWrap(True)
            grid.addWidget(label, row, 0)
            shown = QLabel("   ".join(keys), self)
            shown.setProperty("kind", "tag")
            grid.addWidget(shown, row, 1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)

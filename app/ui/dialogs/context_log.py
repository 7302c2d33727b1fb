"""What left the model's window in this chat, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHeaderView,
    QLabel,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.ui.dialogs.buttons import DialogButtons
from app.ui.dialogs.sizes import open_size
from app.ui.numbers import grouped, moment, numbered
from app.ui.theme import ThemeManager

__all__ = ["ContextLogDialog", "ContextLogEntry"]


@dataclass(frozen=True, slots=True)
class ContextLogEntry:
    """One trim: when, how much left a window of which size, and the messages' beginnings."""

    when: datetime
    tokens: int
    limit_tokens: int
    messages: tuple[tuple[str, str], ...]  # (who, first words)


class ContextLogDialog(QDialog):
    """A line a trim, unfolding to the messages that left."""

    def __init__(
        self,
        themes: ThemeManager,
        entries: Sequence[ContextLogEntry],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("contextLog")
        self.setWindowTitle(self.tr("What left the context"))
        theme = themes.theme
        text = QLabel(
            self.tr(
                "The chat outgrew the model's context {0} times. The messages are still here; the "
                "model no longer sees them. A longer context brings them back."
            ).format(len(entries))
            if len(entries) != 1
            else self.tr(
                "The chat outgrew the model's context once. The messages are still here; the model "
                "no longer sees them. A longer context brings them back."
            ),
            self,
        )
        text.setWordWrap(True)
        self.tree = QTreeWidget(self)
        self.tree.setAccessibleName(self.tr("Messages that left the context"))
        self.tree.setHeaderLabels([self.tr("When"), self.tr("Messages"), self.tr("Tokens")])
        self.tree.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.tree.setUniformRowHeights(True)
        header = self.tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(2, QHeaderView.ResizeMode.ResizeToContents)
        for entry in reversed(entries):
            self._add(entry)
        newest = self.tree.topLevelItem(0)
        if newest is not None:
            newest.setExpanded(True)
        buttons = DialogButtons(self)
        buttons.close_button()
        column = QVBoxLayout(self)
        column.setSpacing(theme.px(12))
        column.setContentsMargins(theme.px(18), theme.px(16), theme.px(18), theme.px(14))
        column.addWidget(text)
        column.addWidget(self.tree, 1)
        column.addWidget(buttons)
        open_size(self, theme, 620, 420)

    def _add(self, entry: ContextLogEntry) -> None:
        when = moment(round(entry.when.timestamp() * 1000))
        count = len(entry.messages)
        item = QTreeWidgetItem(
            [
                when,
                numbered(
                    count,
                    self.tr("1 message, of a context of {0} tokens"),
                    self.tr("%n messages, of a context of {0} tokens"),
                ).format(grouped(entry.limit_tokens)),
                grouped(entry.tokens),
            ]
        )
        item.setTextAlignment(2, Qt.AlignmentFlag.AlignRight)
        for who, words in entry.messages:
            child = QTreeWidgetItem([who, words, ""])
            item.addChild(child)
        self.tree.addTopLevelItem(item)

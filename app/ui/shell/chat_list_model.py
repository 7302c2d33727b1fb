"""The sidebar's conversations, grouped by day, as a model for a list of thousands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QCoreApplication,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)

from app.ui.shell.arranging import Came, Moved, Went, arranging
from app.ui.shell.views import ChatEntry

__all__ = ["ENTRY_ROLE", "ChatListModel", "Row", "group_chats"]

ENTRY_ROLE = int(Qt.ItemDataRole.UserRole)
_Index = QModelIndex | QPersistentModelIndex
_MOST_STEPS = 8  # a chat moves, and with it titles of groups come and go
# Put together once: a list asks for them several times a row at each paint.
_OF_GROUP = Qt.ItemFlag.NoItemFlags
_OF_CHAT = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the list: a group's title (``entry`` None) or a conversation."""

    title: str
    entry: ChatEntry | None = None

    @property
    def key(self) -> tuple[bool, str]:
        """What stays the same while a row's content changes."""
        return (True, self.entry.key) if self.entry else (False, self.title)


def _tr(text: str) -> str:
    return QCoreApplication.translate("ChatList", text)


class _Days:
    """Titles of the groups, by comparing moments: a list of thousands has no time for calendars.

    Asked from the newest to the oldest.
    """

    def __init__(self, today: date) -> None:
        def midnight(days: int) -> datetime:
            return datetime.combine(today - timedelta(days=days), time.min).astimezone()

        self._later = [
            (midnight(0), _tr("Today")),
            (midnight(1), _tr("Yesterday")),
            (midnight(7), _tr("Previous 7 days")),
            (datetime.min.replace(tzinfo=UTC), _tr("Earlier")),
        ]

    def title(self, updated: datetime) -> str:
        while updated < self._later[0][0]:
            del self._later[0]
        return self._later[0][1]


def group_chats(entries: Iterable[ChatEntry], today: date, known: Iterable[Row] = ()) -> list[Row]:
    """Return the rows: pinned first, then by day, newest first; empty groups are left out.

    Rows of ``known`` whose entry is the same object are used again: of thousands, one is new.
    """
    same = {id(row.entry): row for row in known}
    newest_first = sorted(entries, key=lambda entry: entry.updated, reverse=True)
    rows: list[Row] = []
    title = ""
    days = _Days(today)
    pinned_title = _tr("Pinned")
    pinned = [entry for entry in newest_first if entry.pinned]
    for entry in (*pinned, *(entry for entry in newest_first if not entry.pinned)):
        group = pinned_title if entry.pinned else days.title(entry.updated)
        if group != title:
            rows.append(Row(group))
            title = group
        rows.append(same.get(id(entry)) or Row(entry.title, entry))
    return rows


class ChatListModel(QAbstractListModel):
    """Rows of `group_chats`.

    Signals:
        renamed(str, str): a key and the new title typed into the list; the entry stays as it is
            until the controller sets it.
    """

    renamed = Signal(str, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Row] = []
        self._keys: list[tuple[bool, str]] = []
        self._entries: tuple[ChatEntry, ...] = ()

    def set_entries(self, entries: Iterable[ChatEntry], today: date | None = None) -> bool:
        """Show conversations, and return whether that is another list altogether (a reset).

        Rows that keep their places are only repainted. A chat that moves (to the top, when it is
        answered), comes or goes does so alone: a list of thousands is not built anew, and a title
        that is being edited stays so.
        """
        self._entries = tuple(entries)
        rows = group_chats(
            self._entries, today or datetime.now().astimezone().date(), known=self._rows
        )
        keys = [row.key for row in rows]
        if keys != self._keys and not self._rearrange(rows, keys):
            self.beginResetModel()
            self._rows, self._keys = rows, keys
            self.endResetModel()
            return True
        for number, (old, new) in enumerate(zip(self._rows, rows, strict=True)):
            if old is not new and old != new:
                self._rows[number] = new
                self.dataChanged.emit(self.index(number), self.index(number))
        self._rows = rows  # equal now, and the objects that the next call knows again
        return False

    def _rearrange(self, rows: list[Row], keys: list[tuple[bool, str]]) -> bool:
        """Bring the rows into an order by few steps, or tell that it takes too many."""
        steps = arranging(self._keys, keys, _MOST_STEPS)
        if steps is None:
            return False
        top = QModelIndex()
        for step in steps:
            match step:
                case Came(place):
                    self.beginInsertRows(top, place, place)
                    self._rows.insert(place, rows[place])
                    self._keys.insert(place, keys[place])
                    self.endInsertRows()
                case Went(place):
                    self.beginRemoveRows(top, place, place)
                    del self._rows[place], self._keys[place]
                    self.endRemoveRows()
                case Moved(source, target):
                    # Qt counts the place before the row is taken out.
                    below = target + 1 if target > source else target
                    self.beginMoveRows(top, source, source, top, below)
                    self._rows.insert(target, self._rows.pop(source))
                    self._keys.insert(target, self._keys.pop(source))
                    self.endMoveRows()
        return True

    def entries(self) -> tuple[ChatEntry, ...]:
        """Return the conversations, as given."""
        return self._entries

    def keys(self) -> list[str]:
        """Return the conversations' keys in the order of the list."""
        return [row.entry.key for row in self._rows if row.entry is not None]

    def entry(self, key: str) -> ChatEntry | None:
        """Return a conversation."""
        return next((entry for entry in self._entries if entry.key == key), None)

    def index_of(self, key: str) -> QModelIndex:
        """Return a conversation's index, or an invalid one."""
        for number, row in enumerate(self._rows):
            if row.entry is not None and row.entry.key == key:
                return self.index(number)
        return QModelIndex()

    # --- Qt ---

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        """Return how many rows there are."""
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: _Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        """Return a title, or the entry for `ENTRY_ROLE`."""
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == ENTRY_ROLE:
            return row.entry
        if role in {int(Qt.ItemDataRole.DisplayRole), int(Qt.ItemDataRole.EditRole)}:
            return row.title
        if role == int(Qt.ItemDataRole.ToolTipRole) and row.entry is not None:
            return row.title
        if role == int(Qt.ItemDataRole.AccessibleTextRole):
            return self._spoken(row)
        return None

    def flags(self, index: _Index) -> Qt.ItemFlag:
        """Return that titles of groups can't be chosen."""
        if not index.isValid() or self._rows[index.row()].entry is None:
            return _OF_GROUP
        return _OF_CHAT

    def setData(self, index: _Index, value: Any, role: int = int(Qt.ItemDataRole.EditRole)) -> bool:
        """Ask for a new title."""
        entry = self._rows[index.row()].entry if index.isValid() else None
        title = " ".join(str(value).split())
        if entry is None or role != int(Qt.ItemDataRole.EditRole) or not title:
            return False
        if title != entry.title:
            self.renamed.emit(entry.key, title)
        return True

    def _spoken(self, row: Row) -> str:
        if row.entry is None:
            return row.title
        parts = [row.title]
        if row.entry.pinned:
            parts.append(_tr("pinned"))
        if row.entry.answering:
            parts.append(_tr("being answered"))
        return ", ".join(parts)

"""The popup below the form's model: the library, models as typed, a file, or figures."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFont, QKeyEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.icons import IconKeeper
from app.ui.popup import Popup
from app.ui.shell.views import ModelEntry
from app.ui.theme import ThemeManager
from gguf_tools.units import format_bytes

__all__ = ["ModelPopup"]

_KEY: Final = Qt.ItemDataRole.UserRole
_WORDS: Final = int(Qt.ItemDataRole.UserRole) + 1


class ModelPopup(Popup):
    """Search, models, and two ways to one that is not listed.

    Signals:
        chosen(str key): key of an entry.
        file_wanted(): a file of one's own.
        typing_wanted(): figures of a model without a file.
    """

    chosen = Signal(str)
    file_wanted = Signal()
    typing_wanted = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(themes, parent)
        frame = self.card
        self.search = QLineEdit(frame)
        self.search.setPlaceholderText(self.tr("Search models"))
        self.search.setAccessibleName(self.tr("Search models"))
        self.search.installEventFilter(self)
        self.search.textChanged.connect(self._filter)
        self.list = QListWidget(frame)
        self.list.setAccessibleName(self.tr("Models"))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.itemClicked.connect(self._on_item)
        open_file = QPushButton(self.tr("Choose a file…"), frame)
        IconKeeper(open_file, themes, "folder", "dim", 15)
        open_file.clicked.connect(self._on_file)
        typing = QPushButton(self.tr("Type a model…"), frame)
        IconKeeper(typing, themes, "edit", "dim", 15)
        typing.clicked.connect(self._on_typing)
        for button in (open_file, typing):
            button.setProperty("kind", "flat")
        foot = QHBoxLayout()
        foot.addWidget(open_file)
        foot.addStretch(1)
        foot.addWidget(typing)
        self._column = QVBoxLayout(frame)
        self._column.addWidget(self.search)
        self._column.addWidget(self.list, 1)
        self._column.addLayout(foot)
        themes.changed.connect(self._space)
        self._space()

    def set_groups(self, groups: tuple[tuple[str, tuple[ModelEntry, ...]], ...]) -> None:
        """Show entries below headings; files that can't be planned say why."""
        self.list.clear()
        row = QSize(0, self._themes.theme.px(30))
        for title, entries in groups:
            if not entries:
                continue
            heading = QListWidgetItem(title.upper(), self.list)
            heading.setFlags(Qt.ItemFlag.NoItemFlags)
            heading.setSizeHint(row)
            heading.setFont(self._themes.theme.font(11, QFont.Weight.DemiBold))
            for entry in entries:
                size = None if entry.size_bytes is None else format_bytes(entry.size_bytes)
                quantization = "" if entry.quantization in entry.name else entry.quantization
                parts = [
                    entry.name,
                    quantization,
                    entry.reason or size,
                    "" if entry.reason else entry.found_in,
                ]
                text = " · ".join(part for part in parts if part)
                item = QListWidgetItem(text, self.list)
                item.setSizeHint(row)
                item.setData(_KEY, entry.key)
                item.setData(_WORDS, f"{text} {entry.key}".casefold())
                item.setToolTip(entry.problem or entry.key)
                if entry.problem:
                    item.setFlags(Qt.ItemFlag.NoItemFlags)
        self._filter(self.search.text())

    def open_below(self, anchor: QWidget) -> None:
        """Come on screen below a widget, within its screen."""
        theme = self._themes.theme
        self.search.clear()
        room = anchor.screen().availableGeometry()
        width = min(theme.px(420), room.width())
        rows = min(max(self.list.count(), 4), 12)
        height = min(theme.px(104) + rows * theme.px(30), room.height())
        self.resize(QSize(width, height))
        at = anchor.mapToGlobal(QPoint(0, anchor.height() + theme.px(4)))
        at.setX(max(room.left(), min(at.x(), room.right() - width)))
        at.setY(max(room.top(), min(at.y(), room.bottom() - height)))
        self.move(at)
        self.show()
        self.search.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move through the list from within the search field."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            step = {int(Qt.Key.Key_Down): 1, int(Qt.Key.Key_Up): -1}.get(event.key())
            if step is not None:
                self._step(step)
                return True
            if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                item = self.list.currentItem()
                if item is not None:
                    self._on_item(item)
                return True
        return super().eventFilter(watched, event)

    def _step(self, by: int) -> None:
        row = self.list.currentRow() + by
        while 0 <= row < self.list.count():
            item = self.list.item(row)
            if not item.isHidden() and item.flags() & Qt.ItemFlag.ItemIsEnabled:
                self.list.setCurrentRow(row)
                return
            row += by

    @Slot(str)
    def _filter(self, query: str) -> None:
        words = query.casefold().split()
        for row in range(self.list.count()):
            item = self.list.item(row)
            said = item.data(_WORDS)
            item.setHidden(bool(words) and not (said and all(word in said for word in words)))
        self.list.setCurrentRow(-1)
        if words:
            self._step(1)

    @Slot(QListWidgetItem)
    def _on_item(self, item: QListWidgetItem) -> None:
        key = item.data(_KEY)
        if key and item.flags() & Qt.ItemFlag.ItemIsEnabled:
            self.hide()
            self.chosen.emit(key)

    @Slot()
    def _on_file(self) -> None:
        self.hide()
        self.file_wanted.emit()

    @Slot()
    def _on_typing(self) -> None:
        self.hide()
        self.typing_wanted.emit()

    @Slot()
    def _space(self) -> None:
        side = self._themes.theme.px(10)
        self._column.setContentsMargins(side, side, side, side)
        self._column.setSpacing(self._themes.theme.px(8))

"""The sidebar's list of conversations: drawing, keys, inline renaming and the context menu."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QContextMenuEvent, QFont, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLineEdit,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.ui.icons import draw_icon
from app.ui.painted_list import Index, PaintedList, leading_side, paint_ground
from app.ui.row_pictures import RowPictures
from app.ui.shell.chat_list_model import ENTRY_ROLE, ChatListModel
from app.ui.shell.views import ChatEntry
from app.ui.theme import ThemeManager

__all__ = ["ChatList"]

_HOVERED = QStyle.StateFlag.State_MouseOver.value
_SELECTED = QStyle.StateFlag.State_Selected.value
_MIDDLE = Qt.AlignmentFlag.AlignVCenter.value


class _ChatDelegate(QStyledItemDelegate):
    """Draws titles of groups and conversations as in the picture."""

    def __init__(self, themes: ThemeManager, view: ChatList) -> None:
        super().__init__(view)
        self._themes = themes
        self._view = view
        self._pictures = RowPictures("panel")  # what the sidebar lies on
        self.measure()

    def sizeHint(self, _option: QStyleOptionViewItem, _index: Index) -> QSize:
        return self._size

    def measure(self) -> None:
        """Take the height of rows from the theme."""
        self._size = QSize(0, self._themes.theme.px(34))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        entry: ChatEntry | None = index.data(ENTRY_ROLE)
        if entry is None:
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self._paint_group(painter, option, str(index.data()))
            painter.restore()
            return
        # Numbers, not flags: each "&" or "|" of flags costs as much as a short text.
        state = option.state.value
        is_open = entry.key == self._view.open_key
        hovered = bool(state & _HOVERED)
        focused = bool(state & _SELECTED) and self._view.hasFocus()
        self._pictures.paint(
            painter,
            option.rect,
            self._themes.theme,
            (entry.title, entry.pinned, entry.answering, is_open, hovered, focused),
            lambda inner, rect: self._paint_chat(
                inner, rect, option, entry, is_open=is_open, hovered=hovered, focused=focused
            ),
        )

    def _paint_group(self, painter: QPainter, option: QStyleOptionViewItem, title: str) -> None:
        theme = self._themes.theme
        font = theme.font(11)
        font.setLetterSpacing(QFont.SpacingType.PercentageSpacing, 106)
        painter.setFont(font)
        painter.setPen(theme.colour("faint"))
        rect: QRect = option.rect.adjusted(theme.px(6), 0, -theme.px(6), -theme.px(5))
        painter.drawText(
            rect, int(Qt.AlignmentFlag.AlignBottom | leading_side(option)), title.upper()
        )

    def _paint_chat(
        self,
        painter: QPainter,
        rect: QRect,
        option: QStyleOptionViewItem,
        entry: ChatEntry,
        *,
        is_open: bool,
        hovered: bool,
        focused: bool,
    ) -> None:
        theme = self._themes.theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(rect).adjusted(1, 1, -1, -1)
        paint_ground(painter, theme, box, 7, raised=is_open, hovered=hovered, ringed=focused)

        text = rect.adjusted(theme.px(8), 0, -theme.px(8), 0)
        mirrored = option.direction == Qt.LayoutDirection.RightToLeft
        if entry.answering or entry.pinned:
            side = theme.px(12)
            mark = QRect(0, 0, side, side)
            mark.moveCenter(text.center())
            if mirrored:
                mark.moveLeft(text.left())
                text.setLeft(mark.right() + theme.px(6))
            else:
                mark.moveRight(text.right())
                text.setRight(mark.left() - theme.px(6))
            if entry.answering:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(theme.colour("accent"))
                dot = theme.px(7) / 2
                painter.drawEllipse(QRectF(mark).center(), dot, dot)
            else:
                draw_icon(painter, "pin", theme.css("faint"), QRectF(mark))
        painter.setFont(theme.text_font)
        painter.setPen(theme.colour("ink" if is_open else "dim"))
        shown = painter.fontMetrics().elidedText(
            entry.title, Qt.TextElideMode.ElideRight, text.width()
        )
        # A title keeps the order of its own script, and its ellipsis stands at its own end.
        painter.setLayoutDirection(Qt.LayoutDirection.LayoutDirectionAuto)
        painter.drawText(text, _MIDDLE | leading_side(option).value, shown)
        painter.setLayoutDirection(option.direction)

    def createEditor(
        self, parent: QWidget, _option: QStyleOptionViewItem, _index: Index
    ) -> QWidget:
        editor = QLineEdit(parent)
        editor.setObjectName("renameEdit")
        editor.setAccessibleName(self.tr("Title of the chat"))
        editor.setMaxLength(200)
        return editor

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        assert isinstance(editor, QLineEdit)
        model.setData(index, editor.text(), int(Qt.ItemDataRole.EditRole))


class ChatList(PaintedList):
    """Conversations by day. Arrow keys move, Enter or a click opens.

    Signals:
        chat_selected(str)
        rename_requested(str, str): key and new title.
        pin_requested(str, bool)
        duplicate_requested(str)
        copy_requested(str): all of it, as Markdown.
        export_requested(str)
        chat_settings_requested(str)
        delete_requested(str)
    """

    chat_selected = Signal(str)
    rename_requested = Signal(str, str)
    pin_requested = Signal(str, bool)
    duplicate_requested = Signal(str)
    copy_requested = Signal(str)
    export_requested = Signal(str)
    chat_settings_requested = Signal(str)
    delete_requested = Signal(str)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(themes, parent)
        self.setAccessibleName(self.tr("Chats"))
        self._themes = themes
        self._open_key = ""
        self._model = ChatListModel(self)
        self._model.renamed.connect(self.rename_requested)
        self.setModel(self._model)
        self.setUniformItemSizes(True)  # or Qt asks for the size of thousands at each change
        self._delegate = _ChatDelegate(themes, self)
        self.setItemDelegate(self._delegate)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.clicked.connect(self._on_clicked)

    @property
    def open_key(self) -> str:
        """Key of the conversation on screen, or nothing."""
        return self._open_key

    @property
    def chats(self) -> ChatListModel:
        """The model."""
        return self._model

    def set_entries(self, entries: Iterable[ChatEntry], today: date | None = None) -> None:
        """Show conversations, staying at the place that is on screen."""
        place = self.verticalScrollBar().value()
        was_reset = self._model.set_entries(entries, today)
        if not self.currentIndex().isValid():
            self._mark(self._open_key)
        if was_reset and place > 0:
            self.doItemsLayout()  # Qt would lay out later and stay at the top until then
            self.verticalScrollBar().setValue(place)

    def set_open(self, key: str) -> None:
        """Mark the conversation on screen; nothing is emitted."""
        self._open_key = key
        self._mark(key)
        self.viewport().update()

    def neighbour(self, step: int) -> str | None:
        """Return the conversation ``step`` rows below the open one, or None at the end."""
        keys = self._model.keys()
        if not keys:
            return None
        if self._open_key not in keys:
            return keys[0]
        place = keys.index(self._open_key) + step
        return keys[place] if 0 <= place < len(keys) else None

    def rename(self, key: str) -> None:
        """Edit a title in place."""
        index = self._model.index_of(key)
        if index.isValid():
            self.scrollTo(index)
            self.setCurrentIndex(index)
            self.edit(index)

    def menu_for(self, key: str) -> QMenu | None:
        """Return the context menu of a conversation; the caller shows it."""
        entry = self._model.entry(key)
        if entry is None:
            return None
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("Rename")).triggered.connect(lambda: self.rename(key))
        pin = menu.addAction(self.tr("Unpin") if entry.pinned else self.tr("Pin"))
        pin.triggered.connect(lambda: self.pin_requested.emit(key, not entry.pinned))
        for text, signal in (
            (self.tr("Duplicate"), self.duplicate_requested),
            (self.tr("Copy as Markdown"), self.copy_requested),
            (self.tr("Export…"), self.export_requested),
            (self.tr("Chat settings…"), self.chat_settings_requested),
        ):
            menu.addAction(text).triggered.connect(
                lambda _checked=False, signal=signal: signal.emit(key)
            )
        menu.addSeparator()
        menu.addAction(self.tr("Delete")).triggered.connect(lambda: self.delete_requested.emit(key))
        return menu

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open with Enter, delete with Delete."""
        key = self._key_at(self.currentIndex())
        if key and event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.chat_selected.emit(key)
        elif key and event.key() == Qt.Key.Key_Delete:
            self.delete_requested.emit(key)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Show a conversation's menu, at the pointer or below the current row."""
        place: QPoint = event.globalPos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            index = self.currentIndex()
            place = self.viewport().mapToGlobal(self.visualRect(index).center())
        else:
            index = self.indexAt(event.pos())
        menu = self.menu_for(self._key_at(index))
        if menu is not None:
            menu.popup(place)

    @Slot(QModelIndex)
    def _on_clicked(self, index: QModelIndex) -> None:
        key = self._key_at(index)
        if key:
            self.chat_selected.emit(key)

    @Slot()
    def _follow_theme(self) -> None:
        self._delegate.measure()
        super()._follow_theme()

    def _mark(self, key: str) -> None:
        index = self._model.index_of(key)
        if index.isValid():
            self.setCurrentIndex(index)
        else:
            self.clearSelection()

    def _key_at(self, index: QModelIndex) -> str:
        entry: ChatEntry | None = index.data(ENTRY_ROLE) if index.isValid() else None
        return entry.key if entry is not None else ""

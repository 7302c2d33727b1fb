"""A searchable list of models, drawn on two lines each; used by the picker and the first run."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont, QHelpEvent, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
    QWidget,
)

from app.ui.icons import draw_icon
from app.ui.numbers import grouped
from app.ui.painted_list import Index, PaintedList, paint_ground
from app.ui.shell.views import ModelEntry
from app.ui.theme import ThemeManager
from gguf_tools.units import format_bytes

__all__ = ["ModelList", "matches"]

_ENTRY_ROLE = int(Qt.ItemDataRole.UserRole)


def matches(entry: ModelEntry, query: str) -> bool:
    """Tell whether all words of a query occur in what is said about a model."""
    text = f"{entry.name} {entry.quantization} {entry.found_in} {entry.key}".casefold()
    return all(word in text for word in query.casefold().split())


class _Model(QAbstractListModel):
    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._all: tuple[ModelEntry, ...] = ()
        self._query = ""
        self.shown: list[ModelEntry] = []

    def set_entries(self, entries: tuple[ModelEntry, ...]) -> None:
        self._all = entries
        self._filter()

    def set_query(self, query: str) -> None:
        self._query = query
        self._filter()

    def _filter(self) -> None:
        self.beginResetModel()
        self.shown = [entry for entry in self._all if matches(entry, self._query)]
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.shown)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        if not index.isValid():
            return None
        entry = self.shown[index.row()]
        if role == _ENTRY_ROLE:
            return entry
        if role == int(Qt.ItemDataRole.DisplayRole):
            return entry.name
        if role == int(Qt.ItemDataRole.ToolTipRole):
            return f"{entry.problem}\n{entry.key}" if entry.problem else entry.key
        if role == int(Qt.ItemDataRole.AccessibleTextRole):
            said = [entry.name, entry.quantization, *self.facts(entry)]
            return ", ".join(part for part in said if part)
        return None

    def facts(self, entry: ModelEntry) -> list[str]:
        if entry.problem:
            return [entry.reason or entry.problem]
        facts = []
        if entry.loaded:
            facts.append(self.tr("loaded"))
        if entry.size_bytes is not None:
            facts.append(format_bytes(entry.size_bytes))
        if entry.context_tokens is not None:
            facts.append(self.tr("context %1").replace("%1", grouped(entry.context_tokens)))
        if entry.found_in:
            facts.append(entry.found_in)
        return facts


class _Delegate(QStyledItemDelegate):
    def __init__(self, themes: ThemeManager, view: ModelList) -> None:
        super().__init__(view)
        self._themes = themes
        self._view = view

    def sizeHint(self, _option: QStyleOptionViewItem, _index: Index) -> QSize:
        return QSize(0, self._themes.theme.px(48))

    def settings_rect(self, rect: QRect, *, mirrored: bool) -> QRect:
        """Return where a row's button for the load settings is."""
        side = self._themes.theme.px(28)
        button = QRect(0, 0, side, side)
        button.moveCenter(rect.center())
        gap = self._themes.theme.px(8)
        if mirrored:
            button.moveLeft(rect.left() + gap)
        else:
            button.moveRight(rect.right() - gap)
        return button

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = self._themes.theme
        entry: ModelEntry = index.data(_ENTRY_ROLE)
        mirrored = option.direction == Qt.LayoutDirection.RightToLeft
        start = Qt.AlignmentFlag.AlignRight if mirrored else Qt.AlignmentFlag.AlignLeft
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        # A list that is moved through from a search field never has the focus itself.
        active = self._view.hasFocus() or self._view.focusPolicy() == Qt.FocusPolicy.NoFocus
        selected = active and bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        box = QRectF(option.rect).adjusted(1, 1, -1, -1)
        paint_ground(painter, theme, box, 8, raised=selected, hovered=hovered)
        inner: QRect = option.rect.adjusted(theme.px(10), theme.px(7), -theme.px(10), -theme.px(7))
        if entry.problem is None and (selected or hovered):
            button = self.settings_rect(option.rect, mirrored=mirrored)
            edge = theme.px(7)
            draw_icon(
                painter,
                "settings",
                theme.css("dim"),
                QRectF(button).adjusted(edge, edge, -edge, -edge),
            )
        room = theme.px(34)
        text = inner.adjusted(room, 0, 0, 0) if mirrored else inner.adjusted(0, 0, -room, 0)
        greyed = entry.problem is not None
        self._paint_name(painter, entry, text, start, greyed=greyed)
        painter.setFont(theme.font(12))
        painter.setPen(theme.colour("warning" if greyed else "faint"))
        model = index.model()
        assert isinstance(model, _Model)
        facts = " · ".join(model.facts(entry))
        shown = painter.fontMetrics().elidedText(facts, Qt.TextElideMode.ElideRight, text.width())
        painter.drawText(text, int(Qt.AlignmentFlag.AlignBottom | start), shown)
        painter.restore()

    def _paint_name(
        self,
        painter: QPainter,
        entry: ModelEntry,
        rect: QRect,
        start: Qt.AlignmentFlag,
        *,
        greyed: bool,
    ) -> None:
        theme = self._themes.theme
        mirrored = start == Qt.AlignmentFlag.AlignRight
        small = theme.font(11.5)
        painter.setFont(small)
        tag_width = 0
        if entry.quantization:
            tag_width = painter.fontMetrics().horizontalAdvance(entry.quantization) + theme.px(12)
        mark = theme.px(20) if entry.loaded else 0
        name_font = theme.font(13.5, QFont.Weight.DemiBold if entry.loaded else QFont.Weight.Medium)
        painter.setFont(name_font)
        metrics = painter.fontMetrics()
        room = max(rect.width() - tag_width - mark - theme.px(8), theme.px(40))
        name = metrics.elidedText(entry.name, Qt.TextElideMode.ElideMiddle, room)
        painter.setPen(theme.colour("faint" if greyed else "ink"))
        painter.drawText(rect, int(Qt.AlignmentFlag.AlignTop | start), name)
        used = metrics.horizontalAdvance(name) + theme.px(8)
        if tag_width:
            tag = QRectF(rect.left() + used, rect.top() + 1, tag_width, metrics.height() - 2)
            if mirrored:
                tag.moveRight(rect.right() - used)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(theme.colour("line_strong" if not greyed else "line"))
            painter.drawRoundedRect(tag.adjusted(0.5, 0.5, -0.5, -0.5), theme.px(5), theme.px(5))
            painter.setFont(small)
            painter.setPen(theme.colour("faint" if greyed else "dim"))
            painter.drawText(tag, int(Qt.AlignmentFlag.AlignCenter), entry.quantization)
            used += tag_width + theme.px(6)
        if entry.loaded:
            side = theme.px(14)
            check = QRectF(rect.left() + used, rect.top() + theme.px(2), side, side)
            if mirrored:
                check.moveRight(rect.right() - used)
            draw_icon(painter, "check", theme.css("good"), check)


class ModelList(PaintedList):
    """Models with a search; Enter or a click chooses.

    Signals:
        model_chosen(str): key of a model that can be loaded.
        load_settings_requested(str): key; its settings button, or Ctrl+Enter.
    """

    model_chosen = Signal(str)
    load_settings_requested = Signal(str)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(themes, parent)
        self.setAccessibleName(self.tr("Models"))
        self._model = _Model(self)
        self._delegate = _Delegate(themes, self)
        self.setModel(self._model)
        self.setItemDelegate(self._delegate)
        self.setUniformItemSizes(True)

    def set_entries(self, entries: tuple[ModelEntry, ...]) -> None:
        """Show models, keeping the chosen row where it still exists."""
        key = self.current_key()
        self._model.set_entries(entries)
        self.select(key)

    def set_query(self, query: str) -> None:
        """Show only models that match."""
        key = self.current_key()
        self._model.set_query(query)
        self.select(key)

    def shown(self) -> list[ModelEntry]:
        """Return the models that match."""
        return list(self._model.shown)

    def current_key(self) -> str:
        """Return the key of the chosen row, or nothing."""
        index = self.currentIndex()
        return self._model.shown[index.row()].key if index.isValid() else ""

    def select(self, key: str) -> None:
        """Choose a row by key; without one the loaded model's, or the first."""
        shown = self._model.shown
        row = next((n for n, entry in enumerate(shown) if entry.key == key), None)
        if row is None:
            row = next((n for n, entry in enumerate(shown) if entry.loaded), 0)
        if shown:
            self.setCurrentIndex(self._model.index(row))

    def step(self, rows: int) -> None:
        """Choose another row, stopping at the ends."""
        count = self._model.rowCount()
        if count:
            row = min(max(self.currentIndex().row() + rows, 0), count - 1)
            self.setCurrentIndex(self._model.index(row))

    def open_current(self) -> None:
        """Choose the current row's model, if it can be loaded."""
        entry = self._entry(self.currentIndex())
        if entry is not None and entry.problem is None:
            self.model_chosen.emit(entry.key)

    def ask_settings(self) -> None:
        """Ask for the load settings of the current row's model."""
        entry = self._entry(self.currentIndex())
        if entry is not None and entry.problem is None:
            self.load_settings_requested.emit(entry.key)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Choose with Enter, ask for settings with Ctrl+Enter."""
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                self.ask_settings()
            else:
                self.open_current()
            return
        super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Choose a model, or ask for its settings."""
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        if event.button() != Qt.MouseButton.LeftButton or not index.isValid():
            return
        self.setCurrentIndex(index)
        if self._on_settings_button(index, event):
            self.ask_settings()
        else:
            self.open_current()

    def viewportEvent(self, event: QEvent) -> bool:
        """Explain the settings button in a tooltip."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            index = self.indexAt(event.pos())
            if index.isValid() and self._button_rect(index).contains(event.pos()):
                QToolTip.showText(event.globalPos(), self.tr("Load settings…"), self)
                return True
        return super().viewportEvent(event)

    def _button_rect(self, index: QModelIndex) -> QRect:
        return self._delegate.settings_rect(self.visualRect(index), mirrored=self.isRightToLeft())

    def _on_settings_button(self, index: QModelIndex, event: QMouseEvent) -> bool:
        return self._button_rect(index).contains(event.position().toPoint())

    def _entry(self, index: QModelIndex) -> ModelEntry | None:
        return self._model.shown[index.row()] if index.isValid() else None

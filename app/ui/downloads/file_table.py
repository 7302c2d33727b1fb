"""The files of a repository as a table: variants with size, bits per weight, fit and rate."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QRectF,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QFont, QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from app.ui.downloads.views import FileView
from app.ui.icons import draw_icon
from app.ui.models import words
from app.ui.models.delegate import VERDICT_TOKENS
from app.ui.painted_list import Index, paint_ground
from app.ui.theme import Theme, ThemeManager
from inspector.widgets.drawing import draw_text

__all__ = ["FileTable"]

_NO_INDEX: Final = QModelIndex()
_ROLE: Final = int(Qt.ItemDataRole.UserRole)
_ROW_PX: Final = 46
_PAD_PX: Final = 8
_Column: TypeAlias = Literal["name", "size", "bits", "fit", "context", "decode"]
_COLUMNS: Final[tuple[_Column, ...]] = ("name", "size", "bits", "fit", "context", "decode")
_WIDTHS: Final[dict[_Column, int]] = {
    "size": 80,
    "bits": 92,
    "fit": 140,
    "context": 92,
    "decode": 72,
}
_GIVE_WAY: Final[tuple[_Column, ...]] = ("context", "bits", "decode")
_NAME_PX: Final = 124


class _Model(QAbstractTableModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.rows: list[FileView] = []

    def set_rows(self, rows: tuple[FileView, ...]) -> None:
        """Show rows; where they are the same files, their figures change in place."""
        if [row.key for row in rows] == [row.key for row in self.rows]:
            self.rows = list(rows)
            if rows:
                last = self.index(len(rows) - 1, len(_COLUMNS) - 1)
                self.dataChanged.emit(self.index(0, 0), last)
            return
        self.beginResetModel()
        self.rows = list(rows)
        self.endResetModel()

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(_COLUMNS)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        if not index.isValid():
            return None
        row = self.rows[index.row()]
        if role == _ROLE:
            return row
        if role == int(Qt.ItemDataRole.ToolTipRole):
            return self._tip(row, _COLUMNS[index.column()])
        if role == int(Qt.ItemDataRole.DisplayRole):
            return row.name
        if role == int(Qt.ItemDataRole.AccessibleTextRole) and index.column() == 0:
            return self._spoken(row)
        return None

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = int(Qt.ItemDataRole.DisplayRole),
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        column = _COLUMNS[section]
        if role == int(Qt.ItemDataRole.DisplayRole):
            return {
                "name": self.tr("Variant"),
                "size": self.tr("Size"),
                "bits": self.tr("Bits / weight"),
                "fit": self.tr("Fit"),
                "context": self.tr("Max context"),
                "decode": self.tr("Tok/s"),
            }[column]
        if role == int(Qt.ItemDataRole.TextAlignmentRole):
            start = column in {"name", "fit"}
            side = Qt.AlignmentFlag.AlignLeft if start else Qt.AlignmentFlag.AlignRight
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        if role == int(Qt.ItemDataRole.ToolTipRole) and column == "decode":
            return self.tr("Predicted tokens per second of a reply, with an empty cache")
        return None

    def _tip(self, row: FileView, column: _Column) -> str:
        if row.problem:
            return row.problem
        if column == "size":
            return self.tr("%1 bytes, told by the hub").replace("%1", f"{row.size_bytes:,}")
        if column == "decode" and row.fit.decode_words:
            return row.fit.decode_words
        if column in {"fit", "context", "decode"}:
            return "\n".join(filter(None, (row.fit.sentence, row.basis)))
        return f"{row.key}\n{row.basis}" if row.basis else row.key

    def _spoken(self, row: FileView) -> str:
        parts = [row.name, words.size(row.size_bytes)]
        if row.bits_per_weight is not None:
            bits = words.bits(row.bits_per_weight)
            parts.append(self.tr("%1 bits per weight").replace("%1", bits))
        parts.append(row.problem or row.fit.words)
        if row.fit.decode_per_s is not None:
            rate = words.rate(row.fit.decode_per_s)
            parts.append(self.tr("about %1 tokens per second").replace("%1", rate))
        parts.append(
            {"new": "", "waiting": self.tr("being downloaded"), "here": self.tr("downloaded")}[
                row.state
            ]
        )
        return ", ".join(part for part in (*parts, row.detail) if part)


class _Delegate(QStyledItemDelegate):
    def __init__(self, themes: ThemeManager, view: FileTable) -> None:
        super().__init__(view)
        self._themes = themes

    def sizeHint(self, _option: QStyleOptionViewItem, _index: Index) -> QSize:
        theme = self._themes.theme
        return QSize(theme.px(40), theme.px(_ROW_PX))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = self._themes.theme
        row: FileView = index.data(_ROLE)
        column = _COLUMNS[index.column()]
        painter.save()
        painter.setLayoutDirection(option.direction)
        inner = QRectF(option.rect).adjusted(theme.px(_PAD_PX), 0, -theme.px(_PAD_PX), 0)
        if column == "name":
            self._paint_name(painter, theme, inner, row)
        else:
            painter.setFont(theme.font(13))
            painter.setPen(theme.colour("ink"))
            text = {
                "size": words.size(row.size_bytes),
                "bits": words.bits(row.bits_per_weight),
                "fit": row.fit.words,
                "context": words.context(row.fit.max_context_tokens),
                "decode": words.rate(row.fit.decode_per_s),
            }[column]
            if column == "fit":
                painter.setPen(theme.colour(VERDICT_TOKENS[row.fit.verdict]))
            metrics = painter.fontMetrics()
            text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(inner.width()))
            draw_text(painter, inner, text, at_end=column != "fit")
        painter.restore()

    def _paint_name(self, painter: QPainter, theme: Theme, rect: QRectF, row: FileView) -> None:
        flip = painter.layoutDirection() == Qt.LayoutDirection.RightToLeft
        upper = QRectF(rect.left(), rect.top() + theme.px(4), rect.width(), rect.height() / 2)
        upper.setHeight(rect.height() / 2 - theme.px(2))
        lower = QRectF(rect.left(), rect.center().y(), rect.width(), rect.height() / 2)
        lower.setHeight(rect.height() / 2 - theme.px(3))
        if row.state != "new":
            side = theme.px(14)
            name, token = ("check", "good") if row.state == "here" else ("import", "accent")
            box = QRectF(0, 0, side, side)
            box.moveCenter(upper.center())
            box.moveLeft(rect.right() - side if flip else rect.left())
            draw_icon(painter, name, theme.css(token), box)
            gap = side + theme.px(6)
            upper = upper.adjusted(0, 0, -gap, 0) if flip else upper.adjusted(gap, 0, 0, 0)
        for box, text, token, size, weight in (
            (upper, row.name, "ink", 13.5, QFont.Weight.Medium),
            (
                lower,
                row.problem or row.detail,
                "warning" if row.problem else "faint",
                12,
                QFont.Weight.Normal,
            ),
        ):
            painter.setFont(theme.font(size, weight))
            painter.setPen(theme.colour(token))
            shown = painter.fontMetrics().elidedText(
                text, Qt.TextElideMode.ElideMiddle, int(box.width())
            )
            draw_text(painter, box, shown)


class FileTable(QTreeView):
    """Variants; one is chosen, and Enter or a double click asks for it.

    Signals:
        chosen_changed()
        download_requested(str): key of a variant.
    """

    chosen_changed = Signal()
    download_requested = Signal(str)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "plain")
        self.setAccessibleName(self.tr("Files of the repository"))
        self._themes = themes
        self._model = _Model(self)
        self.setModel(self._model)
        self.setItemDelegate(_Delegate(themes, self))
        self.setUniformRowHeights(True)
        self.setIndentation(0)
        self.setRootIsDecorated(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        header = self.header()
        header.setSectionsMovable(False)
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(20)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.selectionModel().selectionChanged.connect(self.chosen_changed)
        self.doubleClicked.connect(self._on_double_click)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()

    def set_rows(self, rows: tuple[FileView, ...], chosen: str = "") -> None:
        """Show files; what is chosen stays so, else ``chosen`` is."""
        key = self.chosen_key() or chosen
        self._model.set_rows(rows)
        if self.chosen_key() != key or not key:
            number = next((n for n, row in enumerate(rows) if row.key == key), 0)
            if rows:
                self.setCurrentIndex(self._model.index(number, 0))
        self.chosen_changed.emit()

    def rows(self) -> list[FileView]:
        """Return what is shown."""
        return list(self._model.rows)

    def chosen_key(self) -> str:
        """Return the key of the chosen variant, or nothing."""
        row = self.chosen()
        return "" if row is None else row.key

    def chosen(self) -> FileView | None:
        """Return the chosen variant."""
        index = self.currentIndex()
        return self._model.rows[index.row()] if index.isValid() else None

    def choose(self, key: str) -> None:
        """Choose a variant by key."""
        for number, row in enumerate(self._model.rows):
            if row.key == key:
                self.setCurrentIndex(self._model.index(number, 0))

    def clear(self) -> None:
        """Show nothing, and forget what was chosen."""
        self._model.set_rows(())

    # --- Qt ---

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ask for the chosen variant with Enter."""
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and self.chosen_key():
            self.download_requested.emit(self.chosen_key())
            return
        super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show the columns that have room."""
        super().resizeEvent(event)
        self._fit_columns()

    def drawRow(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw a row's ground and the line below it, then its cells."""
        theme = self._themes.theme
        selected = self.selectionModel().isRowSelected(index.row(), _NO_INDEX)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        rect = QRectF(option.rect)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(
            QRectF(rect.left(), rect.bottom() - 0.5, rect.width(), 1), theme.colour("line")
        )
        box = rect.adjusted(1, 2, -1, -3)
        focused = selected and self.hasFocus()
        paint_ground(painter, theme, box, 8, raised=selected, hovered=hovered, ringed=focused)
        painter.restore()
        super().drawRow(painter, option, index)

    @Slot(QModelIndex)
    def _on_double_click(self, index: QModelIndex) -> None:
        self.download_requested.emit(self._model.rows[index.row()].key)

    def _fit_columns(self) -> None:
        theme = self._themes.theme
        room = self.viewport().width() - theme.px(_NAME_PX)
        widths = {column: theme.px(width) for column, width in _WIDTHS.items()}
        hidden: set[_Column] = set()
        for column in _GIVE_WAY:
            if sum(width for name, width in widths.items() if name not in hidden) <= room:
                break
            hidden.add(column)
        for number, column in enumerate(_COLUMNS[1:], start=1):
            self.setColumnHidden(number, column in hidden)
            self.header().resizeSection(number, widths[column])

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self.header().setFont(theme.font(12.5))
        self.header().setFixedHeight(theme.px(32))
        self.setStyleSheet(
            "QTreeView { background: transparent; border: none;"
            " selection-background-color: transparent; }"
            "QTreeView::item, QTreeView::item:selected, QTreeView::item:hover"
            " { background: transparent; border: none; }"
            "QTreeView::branch { background: transparent; }"
            "QHeaderView { background: transparent; border: none; }"
            f"QHeaderView::section {{ background: transparent; color: {theme.css('dim')};"
            f" border: none; border-bottom: 1px solid {theme.css('line')};"
            f" padding: 0 {theme.px(_PAD_PX)}px; font-size: {theme.pt(12.5)}pt; }}"
        )
        self.verticalScrollBar().setSingleStep(theme.px(_ROW_PX))
        self._fit_columns()
        self.doItemsLayout()

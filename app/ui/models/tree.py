"""The view of the models' tree: columns that have room, keys, selection, the context menu's place.

Left and right fold and unfold, Enter acts on what is chosen, Delete moves to the trash, and
several variants are chosen as in any list (Shift, Ctrl).
"""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import (
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import (
    QContextMenuEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from app.ui.models.columns import Extra, fit_columns, place_rest
from app.ui.models.delegate import GAP_PX, INDENT_PX, ROW_PX, LibraryDelegate, RowPainter
from app.ui.models.tree_model import (
    COLUMNS,
    GROUP_ROLE,
    KEY_ROLE,
    VARIANT_ROLE,
    Index,
    LibraryModel,
)
from app.ui.models.tree_style import tree_style
from app.ui.models.views import FitView, LibraryView, SortKey
from app.ui.models.words import group_facts
from app.ui.theme import ThemeManager

__all__ = ["LibraryTree"]

_SELECTED_OPACITY: Final = 0.55
_SORTS: Final[dict[str, SortKey]] = {
    "name": "name",
    "size": "size",
    "bits": "bits",
    "context": "context",
    "budget": "fit",
    "fit": "fit",
    "max_context": "fit",
    "decode": "decode",
    "prefill": "prefill",
}


class LibraryTree(QTreeView):
    """Groups and variants.

    Signals:
        chosen_changed(): other variants or another group are chosen.
        opened(str): Enter or a double click on a variant.
        trash_requested(): Delete was pressed.
        menu_requested(QPoint): the context menu of what is chosen is wanted there (global).
        sort_requested(str): a column's heading was clicked.
    """

    chosen_changed = Signal()
    opened = Signal(str)
    trash_requested = Signal()
    menu_requested = Signal(QPoint)
    sort_requested = Signal(str)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "plain")
        self.setAccessibleName(self.tr("Models"))
        self._themes = themes
        self._folded: set[str] = {"broken", "other", "hidden"}
        self._is_filling = False
        self._hovered = QPersistentModelIndex()
        self.library = LibraryModel(self)
        self.setModel(self.library)
        self._heights = LibraryDelegate(themes, self)
        self.setItemDelegate(self._heights)
        self._extra = Extra()
        self._rows = RowPainter(themes)
        self.setUniformRowHeights(True)
        self.setIndentation(0)
        self.setRootIsDecorated(False)
        self.setItemsExpandable(True)
        self.setExpandsOnDoubleClick(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setAllColumnsShowFocus(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        header = self.header()
        header.setSectionsClickable(True)
        header.setSectionsMovable(False)
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(20)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.sectionClicked.connect(self._on_heading)
        self.expanded.connect(self._on_expanded)
        self.collapsed.connect(self._on_collapsed)
        self.selectionModel().selectionChanged.connect(self.chosen_changed)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()

    # --- what is shown ---

    def set_view(self, view: LibraryView) -> None:
        """Show another library; what is chosen, folded and on screen stays so."""
        self._change(lambda: self.library.set_view(view))

    def set_fits(self, fits: dict[str, FitView]) -> None:
        """Show predictions."""
        self._change(lambda: self.library.set_fits(fits), always=False)

    def set_query(self, query: str) -> None:
        """Show what has these words."""
        self._change(lambda: self.library.set_query(query))
        if not self.chosen():
            self.scrollToTop()

    def set_filter(self, key: str) -> None:
        """Show a part of the library."""
        self._change(lambda: self.library.set_filter(key))

    def set_sort(self, key: SortKey) -> None:
        """Put the best of a column first."""
        self._change(lambda: self.library.set_sort(key))

    # --- what is chosen ---

    def chosen(self) -> list[str]:
        """Return the keys of the chosen variants, in the order on screen."""
        return self.library.keys_of(self.selectionModel().selectedRows())

    def chosen_group(self) -> str:
        """Return the key of the group whose heading is chosen, or nothing."""
        index = self.currentIndex().siblingAtColumn(0)
        if not index.isValid() or index.data(VARIANT_ROLE) is not None:
            return ""
        return str(index.data(KEY_ROLE))

    def choose(self, keys: list[str]) -> None:
        """Choose variants and bring the first on screen."""
        self.selectionModel().clearSelection()
        flags = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
        for number, key in enumerate(keys):
            index = self.library.index_of(key)
            if not index.isValid():
                continue
            if index.parent().isValid():
                self.expand(index.parent())
            if number == 0:
                self.selectionModel().setCurrentIndex(
                    index, QItemSelectionModel.SelectionFlag.NoUpdate
                )
                self.scrollTo(index)
            self.selectionModel().select(index, flags)

    # --- Qt ---

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Act on what is chosen."""
        index = self.currentIndex().siblingAtColumn(0)
        variant = index.data(VARIANT_ROLE) if index.isValid() else None
        key = event.key()
        if key in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space} and index.isValid():
            if variant is None:
                self.setExpanded(index, not self.isExpanded(index))
                return
            if key != Qt.Key.Key_Space:
                self.opened.emit(variant.key)
                return
        if key == Qt.Key.Key_Delete and self.chosen():
            self.trash_requested.emit()
            return
        if key == Qt.Key.Key_Left and variant is not None:
            self.setCurrentIndex(index.parent())
            return
        super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Fold or unfold a group by a click."""
        index = self.indexAt(event.position().toPoint()).siblingAtColumn(0)
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
        super().mouseReleaseEvent(event)
        left = event.button() == Qt.MouseButton.LeftButton
        if left and plain and index.isValid() and index.data(VARIANT_ROLE) is None:
            self.setExpanded(index, not self.isExpanded(index))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Mark the row below the pointer."""
        super().mouseMoveEvent(event)
        self._hover(self.indexAt(event.position().toPoint()).siblingAtColumn(0))

    def leaveEvent(self, event: QEvent) -> None:
        """Mark no row."""
        super().leaveEvent(event)
        self._hover(QModelIndex())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Act on a variant."""
        index = self.indexAt(event.position().toPoint()).siblingAtColumn(0)
        variant = index.data(VARIANT_ROLE) if index.isValid() else None
        if event.button() == Qt.MouseButton.LeftButton and variant is not None:
            self.opened.emit(variant.key)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Ask for the menu, at the pointer or at the current row."""
        place = event.globalPos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            place = self.viewport().mapToGlobal(self.visualRect(self.currentIndex()).center())
        self.menu_requested.emit(place)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show the columns that have room."""
        super().resizeEvent(event)
        self._fit_columns()

    def drawRow(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw a row's ground and the line below it, then what is in it."""
        theme = self._themes.theme
        variant = index.data(VARIANT_ROLE)
        rect = QRectF(option.rect)
        first = index.sibling(index.row(), 0)
        selected = self.selectionModel().isSelected(first)
        current = self.hasFocus() and first == self.currentIndex().siblingAtColumn(0)
        hovered = self._hovered == first
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        # The order of the words of "7.2 GiB" is their own, in any window.
        painter.setLayoutDirection(Qt.LayoutDirection.LayoutDirectionAuto)
        flip = self.isRightToLeft()
        left = theme.px(0 if variant is None else INDENT_PX)
        line = QRectF(rect.left() + left, rect.bottom() - 0.5, rect.width() - left, 1)
        if flip:
            line.moveLeft(rect.left())
        painter.fillRect(line, theme.tokens["line"])
        box = rect.adjusted(1, 2, -1, -3)
        if selected or hovered:
            ground = theme.colour("selection" if selected else "hover")
            if selected:
                ground.setAlphaF(_SELECTED_OPACITY)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(ground)
            painter.drawRoundedRect(box, theme.px(8), theme.px(8))
        if current:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(theme.colour("accent"))
            painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), theme.px(8), theme.px(8))
        if variant is None:
            group = index.data(GROUP_ROLE)
            facts = group_facts(group)
            is_open = self.isExpanded(first)
            self._rows.group(painter, rect, group, facts, is_open=is_open, flip=flip)
        else:
            self._rows.variant(painter, variant, self._cells(rect), rect, self._extra, flip=flip)
        painter.restore()

    def _hover(self, index: QModelIndex) -> None:
        """Draw the rows anew that the pointer left and entered."""
        if self._hovered == index:
            return
        before, self._hovered = self._hovered, QPersistentModelIndex(index)
        width = self.viewport().width()
        for changed in (before, self._hovered):
            if changed.isValid():
                rect = self.visualRect(self.library.index_of(str(changed.data(KEY_ROLE))))
                self.viewport().update(0, rect.top(), width, rect.height())

    def _cells(self, rect: QRectF) -> dict[str, QRectF]:
        """Return where the columns on screen are in a row."""
        header = self.header()
        return {
            str(name): QRectF(
                header.sectionViewportPosition(section),
                rect.top(),
                header.sectionSize(section),
                rect.height(),
            )
            for section, name in enumerate(COLUMNS)
            if not header.isSectionHidden(section)
        }

    def drawBranches(self, _painter: QPainter, _rect: QRect, _index: QModelIndex) -> None:  # type: ignore[override]
        """Leave the branches out: headings have marks of their own."""

    # --- inner ---

    def _change(self, change: object, *, always: bool = True) -> None:
        """Do something to the model, and keep what is chosen, unfolded and on screen."""
        assert callable(change)
        keys = self.chosen()
        current = str(self.currentIndex().siblingAtColumn(0).data(KEY_ROLE) or "")
        place = self.verticalScrollBar().value()
        self._is_filling = True
        was_reset: list[bool] = []
        connection = self.library.modelReset.connect(lambda: was_reset.append(True))
        try:
            change()
        finally:
            self.library.modelReset.disconnect(connection)
        if was_reset or always:
            self._unfold()
            self._choose_quietly(keys, current)
            self.verticalScrollBar().setValue(place)
        self._is_filling = False
        if was_reset:
            self.chosen_changed.emit()

    def _unfold(self) -> None:
        folded = [group.key in self._folded for group in self.library.groups]
        # One call for all is much faster than one for each; most are unfolded, or most folded.
        most_folded = sum(folded) * 2 > len(folded)
        (self.collapseAll if most_folded else self.expandAll)()
        for number, is_folded in enumerate(folded):
            index = self.library.index(number, 0)
            if is_folded != most_folded:
                self.setExpanded(index, not is_folded)

    def _choose_quietly(self, keys: list[str], current: str) -> None:
        selection = self.selectionModel()
        flags = QItemSelectionModel.SelectionFlag
        index = self.library.index_of(current) if current else QModelIndex()
        if index.isValid():
            selection.setCurrentIndex(index, flags.NoUpdate)
        for key in keys:
            found = self.library.index_of(key)
            if found.isValid():
                selection.select(found, flags.Select | flags.Rows)

    @Slot(QModelIndex)
    def _on_expanded(self, index: QModelIndex) -> None:
        if not self._is_filling:
            self._folded.discard(str(index.data(KEY_ROLE)))

    @Slot(QModelIndex)
    def _on_collapsed(self, index: QModelIndex) -> None:
        if not self._is_filling:
            self._folded.add(str(index.data(KEY_ROLE)))

    @Slot(int)
    def _on_heading(self, section: int) -> None:
        self.sort_requested.emit(_SORTS[COLUMNS[section]])

    def _fit_columns(self) -> None:
        theme = self._themes.theme
        width = self.viewport().width()
        shown = fit_columns(width / theme.scale)
        room = width - theme.px(INDENT_PX + 8)
        scale = theme.scale
        needs = {name: need / scale for name, need in self._rows.needs_px().items()}
        self._extra = place_rest(shown, needs, room / scale, GAP_PX)
        for section, name in enumerate(COLUMNS):
            if name == "name":
                continue
            self.setColumnHidden(section, name not in shown)
            if name in shown:
                self.header().resizeSection(section, theme.px(shown[name]))
        if self._heights.lines != len(self._extra.lines):
            self._heights.lines = len(self._extra.lines)
            self.setUniformRowHeights(not self._extra.lines)
            self.doItemsLayout()
        self.viewport().update()

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self._rows.set_theme()
        self.header().setFont(theme.font(12.5))
        self.header().setFixedHeight(theme.px(32))
        self.setStyleSheet(tree_style(theme))
        self.verticalScrollBar().setSingleStep(theme.px(ROW_PX))
        self._fit_columns()
        self.doItemsLayout()

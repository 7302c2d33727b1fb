"""A row of the planner's table: a machine, its bar, and what follows."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QContextMenuEvent,
    QEnterEvent,
    QFocusEvent,
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolButton, QToolTip, QWidget

from app.ui.icons import IconKeeper
from app.ui.planner.bar import OVERHANG_PX, draw_bar, draw_bar_name, part_at
from app.ui.planner.columns import Column, column_at, columns
from app.ui.planner.row_ground import draw_ground, draw_mark
from app.ui.planner.row_text import Block, block, left_out, wrapped
from app.ui.planner.views import CELLS, BarView, CellKey, RowView
from app.ui.theme import Theme, ThemeManager
from inspector.planner_words import Tone
from inspector.widgets.drawing import draw_text, mirrored
from inspector.widgets.text import tip

__all__ = ["MachineRow"]

_HEIGHT_PX: Final = 53
_BAR_PX: Final = 24
_PAIR_PX: Final = 13
_SUB_PX: Final = 12
_MARK_PX: Final = 11  # before a row's words stands the mark of the one that is chosen
_MORE_PX: Final = 24
_SIDE_PX: Final = 4
_NUMBERS: Final[frozenset[CellKey]] = frozenset({"context", "users", "ceiling", "realistic"})
_TOKENS: Final[dict[Tone, str]] = {
    "good": "good",
    "warning": "warning",
    "danger": "danger",
    "dim": "dim",
}


class MachineRow(QWidget):
    """One row. The arrow keys go to its neighbours and from cell to cell, Delete removes it.

    Signals:
        chosen(str key): it was clicked, or the keyboard came to it.
        stepped(str key, int by): the row above (-1) or below (1) is wanted.
        removed(str key): it is not wanted any more.
        edited(str key): its machine is to be changed.
        menu_wanted(str key, QPoint at): its commands are wanted, at a place on the screen.
    """

    chosen = Signal(str)
    stepped = Signal(str, int)
    removed = Signal(str)
    edited = Signal(str)
    menu_wanted = Signal(str, QPoint)

    def __init__(self, themes: ThemeManager, view: RowView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._view = view
        self._columns: tuple[Column, ...] = ()
        self._high = 0
        self._is_chosen = False
        self._hovered = False
        self._marked: CellKey | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._more = QToolButton(self)
        self._more.setProperty("kind", "flat")
        self._more.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._more.setToolTip(self.tr("Change, duplicate or remove this row"))
        self._more.clicked.connect(self._ask_menu)
        IconKeeper(self._more, themes, "more", "dim", 15)
        self._more.hide()
        themes.changed.connect(self._on_theme_changed)
        self._describe()

    @property
    def view(self) -> RowView:
        """What is shown."""
        return self._view

    @property
    def key(self) -> str:
        """The row's key."""
        return self._view.key

    def set_view(self, view: RowView) -> None:
        """Show a row; redraws only what differs."""
        if view == self._view:
            return
        self._view = view
        self._describe()
        if self._columns:
            self._fit_height()
        self.update()

    def set_chosen(self, is_chosen: bool) -> None:
        """Mark the row whose charts are shown."""
        if is_chosen != self._is_chosen:
            self._is_chosen = is_chosen
            self._describe()
            self._show_more()
            self.update()

    def sizeHint(self) -> QSize:
        """Return what the words need, with room around them."""
        theme = self._themes.theme
        return QSize(theme.px(400), max(self._high, theme.px(_HEIGHT_PX)))

    def explanation(self, key: CellKey, bar: int = 0, x: float | None = None) -> list[str]:
        """Return what is to be said of a cell, headline first; of a bar's part at ``x`` pixels."""
        view = self._view
        if key == "bar" and x is not None and bar < len(view.bars):
            width = self._column("bar").width
            part = part_at(view.bars[bar], width, x)
            if part is not None:
                return list(part.tip)
        return list(view.tips.get(key, ()))

    # --- events

    def event(self, event: QEvent) -> bool:
        """Explain what is below the pointer."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            lines = self._lines_at(event.pos())
            if lines:
                QToolTip.showText(event.globalPos(), tip(lines), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the row."""
        super().mousePressEvent(event)
        self._marked = None
        self.chosen.emit(self.key)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Change the machine."""
        super().mouseDoubleClickEvent(event)
        self.edited.emit(self.key)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer the row's commands."""
        self.menu_wanted.emit(self.key, event.globalPos())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move among rows and cells; Return changes the machine, Delete removes the row."""
        key = event.key()
        if key in {Qt.Key.Key_Up, Qt.Key.Key_Down}:
            self.stepped.emit(self.key, -1 if key == Qt.Key.Key_Up else 1)
        elif key in {Qt.Key.Key_Left, Qt.Key.Key_Right}:
            back = (key == Qt.Key.Key_Left) != self._is_mirrored
            self._mark(-1 if back else 1)
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.edited.emit(self.key)
        elif key in {Qt.Key.Key_Delete, Qt.Key.Key_Backspace}:
            self.removed.emit(self.key)
        elif key == Qt.Key.Key_Escape and self._marked is not None:
            self._unmark()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Choose the row that the keyboard comes to."""
        super().focusInEvent(event)
        self._show_more()
        self.update()
        if event.reason() in {Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason}:
            self.chosen.emit(self.key)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take mark and explanation away."""
        super().focusOutEvent(event)
        self._unmark()
        self._show_more()
        self.update()

    def enterEvent(self, event: QEnterEvent) -> None:
        """Show that it can be clicked."""
        super().enterEvent(event)
        self._hovered = True
        self._show_more()
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """Be quiet again."""
        super().leaveEvent(event)
        self._hovered = False
        self._show_more()
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay the columns out."""
        super().resizeEvent(event)
        self._place()
        if event.size().width() != event.oldSize().width():
            self._fit_height(anew=True)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the row."""
        theme, view = self._themes.theme, self._view
        painter = QPainter(self)
        draw_ground(
            painter, theme, self.size(), flip=self._is_mirrored, chosen=self._is_chosen,
            focused=self.hasFocus(), hovered=self._hovered,
        )  # fmt: skip
        self._draw_cell(painter, theme, "machine")
        if view.problem:
            self._draw_problem(painter, theme)
            return
        for index, (_, rect) in enumerate(self._bar_rects()):
            placed = mirrored(rect, float(self.width()), self._is_mirrored)
            painter.save()
            if self._is_mirrored:
                painter.translate(2 * placed.center().x(), 0)
                painter.scale(-1, 1)
            draw_bar(painter, theme, placed, view.bars[index], self.devicePixelRatioF())
            painter.restore()
            if len(view.bars) > 1:
                draw_bar_name(painter, theme, placed, view.bars[index].name)
        for key in CELLS[2:]:
            if self._column(key).width == 0:
                continue
            self._draw_cell(painter, theme, key)
        self._draw_left_out(painter, theme)
        if self._marked is not None:
            draw_mark(
                painter, theme, self.size(), self._column(self._marked), flip=self._is_mirrored
            )

    # --- inner

    @property
    def _is_mirrored(self) -> bool:
        return self.layoutDirection() == Qt.LayoutDirection.RightToLeft

    def _column(self, key: CellKey) -> Column:
        return self._columns[CELLS.index(key)]

    def _bar_rects(self) -> list[tuple[BarView, QRectF]]:
        theme, column, bars = self._themes.theme, self._column("bar"), self._view.bars[:3]
        if not bars:
            return []
        height = theme.px(_BAR_PX if len(bars) == 1 else _PAIR_PX)
        gap = theme.px(2 * OVERHANG_PX - 1)
        whole = len(bars) * height + (len(bars) - 1) * gap
        top = (self._main_height - whole) / 2
        return [
            (bar, QRectF(column.start, top + index * (height + gap), column.width, height))
            for index, bar in enumerate(bars)
        ]

    def _lines_at(self, at: QPoint) -> list[str]:
        x = self.width() - 1 - at.x() if self._is_mirrored else at.x()
        column = column_at(self._columns, x)
        if column is None:
            return []
        if column.key != "bar":
            return self.explanation(column.key)
        for index, (_, rect) in enumerate(self._bar_rects()):
            if rect.top() - 4 <= at.y() <= rect.bottom() + 4:
                return self.explanation("bar", index, x - column.start)
        return self.explanation("bar")

    def _mark(self, by: int) -> None:
        shown = [column.key for column in self._columns if column.width > 0]
        at = shown.index(self._marked) + by if self._marked in shown else (0 if by > 0 else -1)
        self._marked = shown[at % len(shown)]
        self.update()
        lines = self.explanation(self._marked)
        column = self._column(self._marked)
        x = self.width() - column.end if self._is_mirrored else column.start
        if lines:
            QToolTip.showText(self.mapToGlobal(QPoint(x, self.height())), tip(lines), self)
            self.setAccessibleDescription(" ".join(lines))

    def _unmark(self) -> None:
        if self._marked is not None:
            self._marked = None
            QToolTip.hideText()
            self._describe()
            self.update()

    @Slot()
    def _ask_menu(self) -> None:
        self.menu_wanted.emit(self.key, self._more.mapToGlobal(self._more.rect().bottomLeft()))

    def _show_more(self) -> None:
        self._more.setVisible(self._hovered or self.hasFocus())

    def _describe(self) -> None:
        self.setAccessibleName(self._view.said or self._view.title)
        state = self.tr("Its charts are shown.") if self._is_chosen else ""
        self.setAccessibleDescription(state)

    def _place(self) -> None:
        theme = self._themes.theme
        self._columns = columns(self.width(), theme.scale)
        machine = self._column("machine")
        side = theme.px(_MORE_PX)
        x = machine.end - side
        if self._is_mirrored:
            x = self.width() - machine.end
        self._more.setGeometry(x, theme.px(4), side, side)

    def _cell(self, key: CellKey) -> Block:
        """Return the words of a cell."""
        theme, view, column = self._themes.theme, self._view, self._column(key)
        if key == "machine":
            width = column.width - theme.px(_MARK_PX)
            # The button for the row's commands comes over the first line.
            first = width - theme.px(_MORE_PX + 2)
            return block(
                theme, view.title, view.sub, width=width, first=first,
                weight=QFont.Weight.DemiBold, token="ink", is_figure=False,
            )  # fmt: skip
        return block(
            theme, view.texts.get(key, ""), view.subs.get(key, ""), width=column.width,
            first=column.width, weight=QFont.Weight.Normal,
            token=_TOKENS[view.tone] if key == "verdict" else "ink", is_figure=key in _NUMBERS,
        )  # fmt: skip

    def _left_out(self) -> list[str]:
        """Return what columns without room say, in lines over the whole row."""
        said = left_out(self._view, self._columns)
        theme, metrics = self._themes.theme, QFontMetricsF(self._themes.theme.font(_SUB_PX))
        return wrapped(metrics, said, self.width() - theme.px(_MARK_PX)) if said else []

    def _draw_cell(self, painter: QPainter, theme: Theme, key: CellKey) -> None:
        """Draw a cell's words as one block in the middle of the row."""
        column, words = self._column(key), self._cell(key)
        start = column.start + (theme.px(_MARK_PX) if key == "machine" else 0)
        top = (self._main_height - words.height) / 2
        for line in words.lines:
            painter.setFont(line.font)
            painter.setPen(theme.colour(line.token))
            rect = QRectF(start, top, column.end - start, line.height)
            placed = mirrored(rect, float(self.width()), self._is_mirrored)
            draw_text(painter, placed, line.text, at_end=key in _NUMBERS)
            top += line.height

    def _draw_left_out(self, painter: QPainter, theme: Theme) -> None:
        font = theme.font(_SUB_PX)
        painter.setFont(font)
        painter.setPen(theme.colour("dim"))
        high = QFontMetricsF(font).height()
        for number, text in enumerate(self._left_out()):
            top = self._main_height - theme.px(4) + number * high
            rect = QRectF(theme.px(_MARK_PX), top, self.width() - theme.px(_MARK_PX), high)
            draw_text(painter, mirrored(rect, float(self.width()), self._is_mirrored), text)

    @property
    def _main_height(self) -> float:
        """Return the height of the part with the cells."""
        return self.height() - len(self._left_out()) * self._line_height

    @property
    def _line_height(self) -> float:
        return QFontMetricsF(self._themes.theme.font(_SUB_PX)).height()

    def _fit_height(self, *, anew: bool = False) -> None:
        """Be high enough for the words; not lower again, so that nothing jumps under a slider."""
        theme = self._themes.theme
        cells = [self._cell(key).height for key in ("machine", "verdict")]
        high = max(theme.px(_HEIGHT_PX), max(cells) + 2 * theme.px(_SIDE_PX))
        high += len(self._left_out()) * self._line_height
        if anew or high > self._high:
            self._high = round(high + 0.49)
            self.updateGeometry()

    def _draw_problem(self, painter: QPainter, theme: Theme) -> None:
        painter.setFont(theme.font(_SUB_PX + 0.5))
        painter.setPen(theme.colour("danger" if self._view.tone == "danger" else "dim"))
        start = self._column("bar").start
        rect = QRectF(start, 0, self.width() - start, self.height())
        placed = mirrored(rect, float(self.width()), self._is_mirrored)
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeading
        painter.drawText(placed, int(flags) | int(Qt.TextFlag.TextWordWrap), self._view.problem)

    @Slot()
    def _on_theme_changed(self) -> None:
        self._place()
        self._fit_height(anew=True)
        self.update()

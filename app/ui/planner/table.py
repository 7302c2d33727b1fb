"""The planner's table: a head, a row for each machine, and the way to add one."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from app.ui.elide import fitting
from app.ui.planner.columns import column_at, columns, is_narrow
from app.ui.planner.machine_row import MachineRow
from app.ui.planner.views import CellKey, RowView
from app.ui.theme import ThemeManager
from inspector.widgets.drawing import draw_text, mirrored
from inspector.widgets.text import tip

__all__ = ["PlannerTable", "TableHead"]

_FONT_PX: Final = 12
_NUMBERS: Final = frozenset({"context", "users", "ceiling", "realistic"})


class TableHead(QWidget):
    """Names of the columns; the pointer over one says what it means."""

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        themes.changed.connect(self._on_theme_changed)

    def sizeHint(self) -> QSize:
        """Return a line with room below it."""
        return QSize(self._themes.theme.px(400), self._themes.theme.px(27))

    def labels(self) -> dict[CellKey, tuple[str, str]]:
        """Return each column's name and what it means."""
        narrow = is_narrow(self.width(), self._themes.theme.scale)
        return {
            "machine": (self.tr("Machine"), self.tr("Memory, bandwidth and operations a byte.")),
            "bar": (
                self.tr("Budget") if narrow else self.tr("Budget at this context"),
                self.tr(
                    "Weights, cache at this context, compute buffers, other programs and what is "
                    "free. The line stands at 90 %, the load line."
                ),
            ),
            "verdict": (self.tr("Verdict"), self.tr("Whether it fits, and what breaks first.")),
            "context": (
                self.tr("Context") if narrow else self.tr("Max context"),
                self.tr("The longest context of a chat that keeps below the load line, in tokens."),
            ),
            "users": (
                self.tr("Users"),
                self.tr("Chats of this context that keep below the load line at once."),
            ),
            "ceiling": (
                self.tr("Ceiling"),
                self.tr(
                    "Tokens per second that no software passes, with the context full. After an "
                    "arrow: with the layers that don't fit in main memory."
                ),
            ),
            "realistic": (
                self.tr("Realistic"),
                self.tr("Tokens per second that software usually reaches."),
            ),
        }

    def event(self, event: QEvent) -> bool:
        """Say what a column means."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            x = self.width() - 1 - event.pos().x() if self._is_mirrored else event.pos().x()
            column = column_at(columns(self.width(), self._themes.theme.scale), x)
            if column is not None:
                QToolTip.showText(event.globalPos(), tip(self.labels()[column.key]), self)
            return True
        return super().event(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the names."""
        theme = self._themes.theme
        painter = QPainter(self)
        font = theme.font(_FONT_PX)
        painter.setFont(font)
        painter.setPen(theme.colour("dim"))
        labels = self.labels()
        for column in columns(self.width(), theme.scale):
            if column.width == 0:
                continue
            start = column.start + (theme.px(11) if column.key == "machine" else 0)
            rect = QRectF(start, 0, column.end - start, self.height() - theme.px(6))
            drawn, sized = fitting(font, labels[column.key][0], rect.width())
            painter.setFont(drawn)
            text = sized.elidedText(
                labels[column.key][0], Qt.TextElideMode.ElideRight, rect.width()
            )
            placed = mirrored(rect, float(self.width()), self._is_mirrored)
            draw_text(painter, placed, text, at_end=column.key in _NUMBERS)

    @property
    def _is_mirrored(self) -> bool:
        return self.layoutDirection() == Qt.LayoutDirection.RightToLeft

    @Slot()
    def _on_theme_changed(self) -> None:
        self.updateGeometry()
        self.update()


class PlannerTable(QFrame):
    """Rows by key. Its signals are those of its rows.

    Signals:
        chosen(str), removed(str), edited(str): keys of rows.
        menu_wanted(str, QPoint): the commands of a row, at a place on the screen.
    """

    chosen = Signal(str)
    removed = Signal(str)
    edited = Signal(str)
    menu_wanted = Signal(str, QPoint)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._themes = themes
        self._rows: list[MachineRow] = []
        self.head = TableHead(themes, self)
        self._empty = QLabel(self.tr("No machine yet: add one, or take an example."), self)
        self._empty.setProperty("kind", "dim")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._column = QVBoxLayout(self)
        self._column.setSpacing(0)
        self._column.addWidget(self.head)
        self._column.addWidget(self._empty)
        themes.changed.connect(self._space)
        self._space()

    @property
    def rows(self) -> tuple[MachineRow, ...]:
        """The rows, from the top."""
        return tuple(self._rows)

    def set_rows(self, views: tuple[RowView, ...], chosen: str) -> None:
        """Show rows; those of a known key are kept, so that keyboard and pointer stay."""
        old = {row.key: row for row in self._rows}
        had_focus = next((row.key for row in self._rows if row.hasFocus()), None)
        at = [row.key for row in self._rows].index(had_focus) if had_focus else 0
        self._rows = []
        for place, view in enumerate(views):
            row = old.pop(view.key, None)
            if row is None:
                row = self._make(view)
            row.set_view(view)
            row.set_chosen(view.key == chosen)
            if self._column.indexOf(row) != place + 1:
                self._column.insertWidget(place + 1, row)
            self._rows.append(row)
        for row in old.values():
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        self._empty.setVisible(not self._rows)
        if had_focus in old and self._rows:
            self._rows[min(at, len(self._rows) - 1)].setFocus(Qt.FocusReason.OtherFocusReason)

    def set_row(self, view: RowView) -> None:
        """Show one row anew."""
        for row in self._rows:
            if row.key == view.key:
                row.set_view(view)

    def set_chosen(self, key: str) -> None:
        """Mark the row whose charts are shown."""
        for row in self._rows:
            row.set_chosen(row.key == key)

    def _make(self, view: RowView) -> MachineRow:
        row = MachineRow(self._themes, view, self)
        row.chosen.connect(self.chosen)
        row.removed.connect(self.removed)
        row.edited.connect(self.edited)
        row.menu_wanted.connect(self.menu_wanted)
        row.stepped.connect(self._on_stepped)
        return row

    @Slot(str, int)
    def _on_stepped(self, key: str, by: int) -> None:
        keys = [row.key for row in self._rows]
        at = keys.index(key) + by
        if 0 <= at < len(keys):
            self._rows[at].setFocus(Qt.FocusReason.TabFocusReason)

    @Slot()
    def _space(self) -> None:
        theme = self._themes.theme
        side = theme.px(16)
        self._column.setContentsMargins(side, theme.px(12), side, theme.px(8))
        self._empty.setMinimumHeight(theme.px(90))

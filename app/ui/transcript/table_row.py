"""Lines of a table: quiet rules, aligned columns, sideways scrolling when it is wide."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QMimeData, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPalette,
    QPen,
    QTextBlockFormat,
    QTextCursor,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
    QTextTableFormat,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from app.ui.numbers import numbered
from app.ui.transcript.blocks import Place, Span, to_markdown
from app.ui.transcript.document import BlockDocument
from app.ui.transcript.entry import Entry
from app.ui.transcript.host import RowHost
from app.ui.transcript.linked_text import LinkedText
from app.ui.transcript.place_text import select_place
from app.ui.transcript.rows import Row
from app.ui.transcript.style import REASONING_INSET
from app.ui.transcript.table_slices import TableSlice, column_widths
from app.ui.transcript.text_row import make_plain_view

__all__ = ["TableRow"]

_ALIGN: Final = {
    "left": Qt.AlignmentFlag.AlignLeft,
    "center": Qt.AlignmentFlag.AlignHCenter,
    "right": Qt.AlignmentFlag.AlignRight,
}


def _constraints(widths: list[int]) -> list[QTextLength]:
    return [QTextLength(QTextLength.Type.FixedLength, width) for width in widths]


class _TableView(LinkedText):
    """The cells, laid out by Qt's text tables."""

    def __init__(self, host: RowHost, owner: TableRow) -> None:
        super().__init__(owner)
        self._owner = owner
        make_plain_view(self)
        self.cells = BlockDocument(host.style_in_force, host.formulas, self)
        self.setDocument(self.cells)
        self.viewport().setMouseTracking(True)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll sideways here; leave up and down to the transcript."""
        delta = event.angleDelta()
        sideways = abs(delta.x()) > abs(delta.y()) or (
            event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        )
        bar = self.horizontalScrollBar()
        if sideways and bar.maximum() > 0:
            bar.setValue(bar.value() - (delta.x() or delta.y()) // 2)
        else:
            event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the lines between rows under the text."""
        self.cells.set_ratio(self.devicePixelRatioF())
        painter = QPainter(self.viewport())
        self._owner.draw_lines(painter, self.horizontalScrollBar().value())
        painter.end()
        super().paintEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Let the row show the menu of its message."""
        event.ignore()

    def createMimeDataFromSelection(self) -> QMimeData:
        """Copy cells as lines separated by tabs."""
        data = QMimeData()
        data.setText(self._owner.selected_plain())
        return data

    def follow(self, address: str) -> None:
        """Open a link of the table's message."""
        self._owner.open_link(address)


class TableRow(QWidget):
    """Shows one TABLE row: a slice of a table."""

    def __init__(self, host: RowHost, parent: QWidget) -> None:
        super().__init__(parent)
        self._host = host
        self._row: Row | None = None
        self._entry: Entry | None = None
        self._slice = TableSlice((), (), (), Place(), 0, True, (), 0)
        self._shown: TableSlice | None = None
        self._grid: QTextTable | None = None
        self._lines: list[float] = []
        self._content_width = 0
        self._room = 0
        self.view = _TableView(host, self)
        self.view.horizontalScrollBar().valueChanged.connect(self._on_scrolled)
        self.restyle()

    def widget(self) -> QWidget:
        """Return the widget itself."""
        return self

    def bind(self, row: Row, entry: Entry) -> None:
        """Show a row, new or changed."""
        self._row, self._entry = row, entry
        self._slice = row.content
        policy = Qt.ScrollBarPolicy
        self.view.setHorizontalScrollBarPolicy(
            policy.ScrollBarAsNeeded if self._slice.last else policy.ScrollBarAlwaysOff
        )
        self._fill(self._slice)
        self.view.setAccessibleName(
            self.tr("Table, {rows}, {columns}").format(
                rows=numbered(
                    self._slice.total or len(self._slice.rows),
                    self.tr("1 row"),
                    self.tr("%n rows"),
                ),
                columns=numbered(
                    len(self._slice.aligns), self.tr("1 column"), self.tr("%n columns")
                ),
            )
        )
        self.update()

    @property
    def _lead(self) -> int:
        """How many lines of the grid are the header's."""
        return 0 if self._slice.first else 1

    def _fill(self, wanted: TableSlice) -> None:
        """Write the cells; a slice that only grew gets its new lines alone."""
        shown = self._shown
        same = 0
        if (
            shown is not None
            and self._grid is not None
            and (shown.header, shown.aligns, shown.first)
            == (wanted.header, wanted.aligns, wanted.first)
            and len(shown.rows) <= len(wanted.rows)
        ):
            for before, after in zip(shown.rows, wanted.rows, strict=False):
                if before is not after and before != after:
                    break
                same += 1
            if len(shown.rows) - same > 2:
                shown = None
        else:
            shown = None
        if shown is not None and same == len(wanted.rows) == len(shown.rows):
            self._shown = wanted
            return
        cursor = QTextCursor(self.view.cells)
        cursor.beginEditBlock()
        if shown is not None and self._grid is not None:
            missing = len(wanted.rows) - len(shown.rows)
            if missing:
                self._grid.appendRows(missing)
        else:
            same = 0
            self._make_grid(cursor, wanted)
        for index in range(same, len(wanted.rows)):
            self._write_line(index + self._lead, wanted.rows[index], header=False)
        cursor.endEditBlock()
        # Qt keeps its cursor in view, which would scroll a wide table to its end.
        start = self.view.textCursor()
        if not start.hasSelection():
            start.movePosition(QTextCursor.MoveOperation.Start)
            self.view.setTextCursor(start)
        self._shown = wanted

    def _make_grid(self, cursor: QTextCursor, wanted: TableSlice) -> None:
        self.view.cells.waits_for.clear()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.removeSelectedText()
        cursor.setBlockFormat(QTextBlockFormat())
        made = QTextTableFormat()
        made.setBorder(0)
        made.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_None)
        made.setCellSpacing(0)
        made.setCellPadding(0)
        made.setMargin(0)
        made.setHeaderRowCount(self._lead)
        if self._room:  # else the cells would be laid out twice
            widths = self._widths(self._room)
            made.setColumnWidthConstraints(_constraints(widths))
            self.view.setLineWrapColumnOrWidth(sum(widths))
        lines = max(len(wanted.rows) + self._lead, 1)
        self._grid = cursor.insertTable(lines, max(len(wanted.aligns), 1), made)
        if self._lead:
            self._write_line(0, wanted.header, header=True)

    def _write_line(
        self, number: int, cells: tuple[tuple[Span, ...], ...], *, header: bool
    ) -> None:
        style = self._host.style_in_force
        assert self._grid is not None
        for column, (spans, align) in enumerate(zip(cells, self._slice.aligns, strict=False)):
            cell = self._grid.cellAt(number, column)
            made = cell.format().toTableCellFormat()
            made.setLeftPadding(style.px(12))
            made.setRightPadding(style.px(12))
            made.setTopPadding(style.px(6))
            made.setBottomPadding(style.px(6))
            cell.setFormat(made)
            cursor = cell.firstCursorPosition()
            last = cell.lastCursorPosition()
            if last.position() > cursor.position():
                cursor.setPosition(last.position(), QTextCursor.MoveMode.KeepAnchor)
                cursor.removeSelectedText()
            block = QTextBlockFormat()
            block.setAlignment(_ALIGN[align])
            cursor.setBlockFormat(block)
            for span in spans:
                self.view.cells.write_span(cursor, span, header=header)

    def unbind(self) -> None:
        """Let go of the row."""
        self._row = self._entry = None

    def restyle(self) -> None:
        """Take the style in force."""
        style = self._host.style_in_force
        self.view.cells.set_style(style)
        self._shown = None
        palette = self.view.palette()
        palette.setColor(QPalette.ColorRole.Highlight, style.colour("selection"))
        palette.setColor(QPalette.ColorRole.HighlightedText, style.colour("ink"))
        self.view.setPalette(palette)
        if self._row is not None and self._entry is not None:
            self.bind(self._row, self._entry)

    def height_at(self, width: int) -> int:
        """Return the height needed at a width; lays the parts out."""
        style = self._host.style_in_force
        place = self._slice.place
        left = style.indent(place.quotes, place.items) + (
            style.px(REASONING_INSET) if self._row and self._row.reasoning else 0
        )
        room = max(width - left - 2, 60)
        self._content_width = self._set_widths(room)
        bar = 0
        if self._slice.last and self._content_width > room:
            bar = max(self.view.horizontalScrollBar().sizeHint().height(), 6)
        body = self._grid_bottom()
        top = 1 if self._lead else 0
        end = 1 if self._slice.last else 0
        self.view.setGeometry(left + 1, top, min(self._content_width, room), body + bar)
        if self._entry is not None:
            sideways = self._entry.table_scroll.get(self._slice.header, 0)
            self.view.horizontalScrollBar().setValue(sideways)
        self._find_lines()
        return body + bar + top + end

    def _grid_bottom(self) -> int:
        """Return where the last line ends; below it Qt keeps an empty paragraph and a margin."""
        if self._grid is None:
            return 0
        layout = self.view.cells.documentLayout()
        last = self._grid.rows() - 1
        bottoms = (
            layout.blockBoundingRect(self._grid.cellAt(last, column).lastCursorPosition().block())
            for column in range(self._grid.columns())
        )
        pad = self._host.style_in_force.px(6)
        return int(max(box.bottom() for box in bottoms) + pad + 0.99)

    def _set_widths(self, room: int) -> int:
        """Give the columns their widths, the same in every slice of a table; return their sum."""
        if self._grid is None:
            return 0
        self._room = room
        widths = self._widths(room)
        made = self._grid.format()
        wanted = _constraints(widths)
        if made.columnWidthConstraints() != wanted:
            made.setColumnWidthConstraints(wanted)
            self._grid.setFormat(made)
        total = sum(widths)
        if self.view.lineWrapColumnOrWidth() != total:
            self.view.setLineWrapColumnOrWidth(total)
        return total

    def _widths(self, room: int) -> list[int]:
        style = self._host.style_in_force
        padding = style.px(24) + 2
        natural = [
            max(style.cell_width(head, header=True), style.cell_width(cell)) + padding
            for head, cell in self._slice.widest
        ]
        return [int(width) for width in column_widths(natural, room, style.px(170))]

    def _find_lines(self) -> None:
        """Note where lines of the table begin, for the rules between them."""
        self._lines = []
        if self._grid is None:
            return
        layout = self.view.cells.documentLayout()
        pad = self._host.style_in_force.px(6)
        for number in range(1, self._grid.rows()):
            block = self._grid.cellAt(number, 0).firstCursorPosition().block()
            self._lines.append(layout.blockBoundingRect(block).top() - pad)

    def draw_lines(self, painter: QPainter, scrolled: int) -> None:
        """Draw the ground of the header and the rules between lines."""
        style = self._host.style_in_force
        wide = max(self._content_width, self.view.width())
        if self._lead and self._lines:
            painter.fillRect(QRectF(-scrolled, 0, wide, self._lines[0]), style.colour("panel"))
        painter.setPen(QPen(style.colour("line"), 1))
        for y in self._lines if self._lead else [1.0, *self._lines]:
            painter.drawLine(QPointF(-scrolled, round(y) - 0.5), QPointF(wide, round(y) - 0.5))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the frame, which goes on in the next slice."""
        style = self._host.style_in_force
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.view.geometry()).adjusted(-0.5, -0.5, 0.5, 0.5)
        if not self._lead:
            box.setTop(-20)
        if not self._slice.last:
            box.setBottom(self.height() + 20)
        path = QPainterPath()
        path.addRoundedRect(box, 5, 5)
        painter.setPen(QPen(style.colour("line"), 1))
        painter.drawPath(path)

    def _on_scrolled(self, value: int) -> None:
        if self._entry is not None and self._row is not None:
            self._entry.table_scroll[self._slice.header] = value
            self._host.table_scrolled(self._entry, self._slice.header, value)

    def scroll_sideways(self, header: object, value: int) -> None:
        """Follow another slice of the same table."""
        if header == self._slice.header:
            self.view.horizontalScrollBar().setValue(value)

    def formula_ready(self, latex: str) -> None:
        """Draw a formula that was waited for."""
        if latex in self.view.cells.waits_for and self._row is not None:
            self._shown = None
            self._fill(self._slice)
            self._host.row_resized(self._row)

    def selected_plain(self) -> str:
        """Return the selected cells as tab-separated lines."""
        cursor = self.view.textCursor()
        grid = self._grid
        if not cursor.hasSelection() or grid is None:
            return ""
        first = grid.cellAt(max(cursor.selectionStart(), grid.firstPosition()))
        last = grid.cellAt(min(cursor.selectionEnd(), grid.lastPosition()))
        if not (first.isValid() and last.isValid()):
            return ""
        if (first.row(), first.column()) == (last.row(), last.column()):
            return cursor.selection().toPlainText().strip("\n")
        left, right = sorted((first.column(), last.column()))
        lines = (self._slice.header, *self._slice.rows) if self._lead else self._slice.rows
        return "\n".join(
            "\t".join("".join(span.text for span in cell) for cell in line[left : right + 1])
            for line in lines[first.row() : last.row() + 1]
        )

    def select_text(self, needle: str, number: int = 0) -> int:
        """Select a place that has a text, from 0 on; return how far down it is, in pixels.

        Where there is none, nothing is selected any more.
        """
        return self.view.y() + select_place(self.view, needle, number)

    def selected_markdown(self) -> str:
        """Return these lines of the table as Markdown."""
        return to_markdown((self._slice.table,))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done with the table and the message."""
        if self._entry is not None:
            self._host.show_menu(self._entry.view.id, event.globalPos(), self)

    def open_link(self, href: str) -> None:
        """Follow a link in a cell."""
        if self._entry is not None:
            self._host.open_link(self._entry.view.id, href)

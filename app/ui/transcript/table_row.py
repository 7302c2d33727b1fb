"""A table: its own quiet lines, aligned columns, sideways scrolling when it is wide."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QMimeData, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QMouseEvent,
    QPainter,
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
from PySide6.QtWidgets import QTextEdit, QWidget

from app.ui.transcript.blocks import Span, Table, to_markdown
from app.ui.transcript.buttons import TextButton
from app.ui.transcript.document import BlockDocument
from app.ui.transcript.entry import Entry
from app.ui.transcript.host import RowHost
from app.ui.transcript.rows import Row
from app.ui.transcript.style import HREF
from app.ui.transcript.text_row import make_plain_view

__all__ = ["TableRow"]

_FOLDED_ROWS: Final = 40
_FOLD_ABOVE: Final = 60
_ALIGN: Final = {
    "left": Qt.AlignmentFlag.AlignLeft,
    "center": Qt.AlignmentFlag.AlignHCenter,
    "right": Qt.AlignmentFlag.AlignRight,
}


class _TableView(QTextEdit):
    """The cells, laid out by Qt's text tables."""

    def __init__(self, host: RowHost, owner: TableRow) -> None:
        super().__init__(owner)
        self._host = host
        self._owner = owner
        make_plain_view(self)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setLineWrapMode(QTextEdit.LineWrapMode.NoWrap)
        self.cells = BlockDocument(host.style_in_force, host.formulas, self)
        self.setDocument(self.cells)
        self.viewport().setMouseTracking(True)
        self._pressed = ""

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll sideways here; leave up and down to the transcript."""
        delta = event.angleDelta()
        sideways = abs(delta.x()) > abs(delta.y()) or (
            event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        )
        if sideways and self.horizontalScrollBar().maximum() > 0:
            super().wheelEvent(event)
        else:
            event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the lines between rows under the text."""
        self._owner.draw_lines(QPainter(self.viewport()), self.horizontalScrollBar().value())
        super().paintEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Let the row show the menu of its message."""
        event.ignore()

    def createMimeDataFromSelection(self) -> QMimeData:
        """Copy cells as lines separated by tabs."""
        data = QMimeData()
        data.setText(self._owner.selected_plain())
        return data

    def link_at(self, at: QPoint) -> str:
        """Return the address under a point of the viewport."""
        place = QPointF(at.x() + self.horizontalScrollBar().value(), at.y())
        position = self.cells.documentLayout().hitTest(place, Qt.HitTestAccuracy.ExactHit)
        if position < 0:
            return ""
        cursor = self.textCursor()
        cursor.setPosition(min(position + 1, self.cells.characterCount() - 1))
        found = cursor.charFormat().property(HREF)
        return str(found) if found else ""

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Remember the link under the mouse."""
        self._pressed = self.link_at(event.position().toPoint())
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Follow a link that was clicked."""
        super().mouseReleaseEvent(event)
        pressed, self._pressed = self._pressed, ""
        if pressed and pressed == self.link_at(event.position().toPoint()):
            self._owner.open_link(pressed)


class TableRow(QWidget):
    """Shows one TABLE row."""

    def __init__(self, host: RowHost, parent: QWidget) -> None:
        super().__init__(parent)
        self._host = host
        self._row: Row | None = None
        self._entry: Entry | None = None
        self._table = Table((), (), ())
        self._shown: Table | None = None
        self._shown_rows = 0
        self._grid: QTextTable | None = None
        self._lines: list[float] = []
        self._content_width = 0.0
        self.view = _TableView(host, self)
        self.fold_button = TextButton(host, self, "unfolded", "")
        self.fold_button.clicked.connect(self._toggle)
        self.restyle()

    def widget(self) -> QWidget:
        """Return the widget itself."""
        return self

    def bind(self, row: Row, entry: Entry) -> None:
        """Show a row, new or changed."""
        self._row, self._entry = row, entry
        table: Table = row.content
        self._table = table
        if row.live:
            row.expanded = True
        total = len(table.rows)
        folded = not row.expanded and total > _FOLD_ABOVE
        count = _FOLDED_ROWS if folded else total
        self.fold_button.setVisible(total > _FOLD_ABOVE and not row.live)
        self.fold_button.set_face(
            "unfolded" if folded else "folded",
            self.tr("Show all {count} rows").format(count=f"{total:,}")
            if folded
            else self.tr("Show fewer rows"),
        )
        self._fill(table, count)
        self.view.setAccessibleName(
            self.tr("Table, {rows} rows, {columns} columns").format(
                rows=total, columns=len(table.aligns)
            )
        )

    def _fill(self, table: Table, count: int) -> None:
        """Write the cells; a table that only grew gets its new rows alone."""
        shown = self._shown
        grows = (
            shown is not None
            and self._grid is not None
            and shown.header == table.header
            and self._shown_rows <= count
            and shown.rows[: self._shown_rows - 1] == table.rows[: self._shown_rows - 1]
        )
        cells = self.view.cells
        cursor = QTextCursor(cells)
        cursor.beginEditBlock()
        if grows and self._grid is not None and shown is not None:
            first = max(self._shown_rows - 1, 0)
            same_last = shown.rows[first : self._shown_rows] == table.rows[first : self._shown_rows]
            first = self._shown_rows if same_last else first
            if count > self._shown_rows:
                self._grid.appendRows(count - self._shown_rows)
        else:
            first = 0
            cells.waits_for.clear()
            cursor.select(QTextCursor.SelectionType.Document)
            cursor.removeSelectedText()
            cursor.setBlockFormat(QTextBlockFormat())
            self._grid = cursor.insertTable(count + 1, max(len(table.aligns), 1), self._format())
            self._write_row(0, table.header, header=True)
        for index in range(first, count):
            self._write_row(index + 1, table.rows[index], header=False)
        cursor.endEditBlock()
        self._shown, self._shown_rows = table, count

    @staticmethod
    def _format() -> QTextTableFormat:
        made = QTextTableFormat()
        made.setBorder(0)
        made.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_None)
        made.setCellSpacing(0)
        made.setCellPadding(0)
        made.setMargin(0)
        made.setHeaderRowCount(1)
        return made

    def _write_row(self, number: int, cells: tuple[tuple[Span, ...], ...], *, header: bool) -> None:
        style = self._host.style_in_force
        assert self._grid is not None
        for column, (spans, align) in enumerate(zip(cells, self._table.aligns, strict=False)):
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
        place = self._table.place
        left = style.indent(place.quotes, place.items) + (
            style.px(14) if self._row and self._row.reasoning else 0
        )
        room = max(width - left - 2, 60)
        cells = self.view.cells
        self._limit_columns(room)
        cells.setTextWidth(-1)
        size = cells.size()
        self._content_width = size.width()
        bar = 0
        if size.width() > room:
            bar = max(self.view.horizontalScrollBar().sizeHint().height(), 6)
        # Qt keeps an empty paragraph below a table, which is not to be seen.
        grid = self._grid
        bottom_of = (
            cells.documentLayout().frameBoundingRect(grid).bottom() if grid else size.height()
        )
        body = int(bottom_of + 0.99)
        shown = int(min(size.width(), room))
        self.view.setGeometry(left + 1, 1, shown, body + bar)
        self._find_lines()
        bottom = body + bar + 2
        if not self.fold_button.isHidden():
            hint = self.fold_button.sizeHint()
            self.fold_button.setGeometry(left, bottom + style.px(4), hint.width(), hint.height())
            bottom += hint.height() + style.px(6)
        return bottom

    def _limit_columns(self, room: int) -> None:
        """Let long cells wrap: a column may take a share of the room, never less than is fair."""
        if self._grid is None:
            return
        columns = self._grid.columns()
        metrics = self.view.fontMetrics()
        style = self._host.style_in_force
        padding = style.px(24) + 2
        widths: list[float] = []
        sample = (self._table.header, *self._table.rows[: self._shown_rows])
        for column in range(columns):
            longest = max(
                ("".join(span.text for span in row[column]) for row in sample if column < len(row)),
                key=len,
                default="",
            )
            widths.append(metrics.horizontalAdvance(longest[:400]) * 1.08 + padding)
        if sum(widths) > room:
            fair = max(room / columns, style.px(110))
            spare = room - sum(min(width, fair) for width in widths)
            wide = [width for width in widths if width > fair]
            share = fair + max(spare, 0) / max(len(wide), 1)
            limit = min(max(share, fair), style.px(420))
            widths = [min(width, limit) for width in widths]
        made = self._grid.format()
        wanted = [QTextLength(QTextLength.Type.FixedLength, width) for width in widths]
        if made.columnWidthConstraints() != wanted:
            made.setColumnWidthConstraints(wanted)
            self._grid.setFormat(made)

    def _find_lines(self) -> None:
        """Note where rows end, for the lines between them."""
        self._lines = []
        if self._grid is None:
            return
        layout = self.view.cells.documentLayout()
        for number in range(1, self._grid.rows()):
            block = self._grid.cellAt(number, 0).firstCursorPosition().block()
            top = layout.blockBoundingRect(block).top()
            self._lines.append(top - self._host.style_in_force.px(6))

    def draw_lines(self, painter: QPainter, scrolled: int) -> None:
        """Draw the ground of the header and the lines between rows."""
        style = self._host.style_in_force
        wide = max(self._content_width, self.view.width())
        if self._lines:
            painter.fillRect(
                QRectF(-scrolled, 0, wide, self._lines[0]),
                style.colour("panel"),
            )
        painter.setPen(QPen(style.colour("line"), 1))
        for y in self._lines:
            painter.drawLine(QPointF(-scrolled, round(y) - 0.5), QPointF(wide, round(y) - 0.5))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the frame."""
        style = self._host.style_in_force
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.view.geometry()).adjusted(-0.5, -0.5, 0.5, 0.5)
        painter.setPen(QPen(style.colour("line"), 1))
        painter.drawRoundedRect(box, 4, 4)

    def formula_ready(self, latex: str) -> None:
        """Draw a formula that was waited for."""
        if latex in self.view.cells.waits_for and self._row is not None:
            self._shown = None
            self._fill(self._table, self._shown_rows)
            self._host.row_resized(self._row)

    def selected_plain(self) -> str:
        """Return the selected cells as tab-separated lines."""
        cursor = self.view.textCursor()
        if not cursor.hasSelection() or self._grid is None:
            return ""
        first, rows, column, columns = self._selected_cells(cursor)
        if rows < 1:
            return cursor.selection().toPlainText()
        source = (self._table.header, *self._table.rows)
        return "\n".join(
            "\t".join(
                "".join(span.text for span in cell) for cell in row[column : column + columns]
            )
            for row in source[first : first + rows]
        )

    @staticmethod
    def _selected_cells(cursor: QTextCursor) -> tuple[int, int, int, int]:
        found = cursor.selectedTableCells()
        if isinstance(found, tuple) and len(found) == 4:
            first, rows, column, columns = found
            return first, rows, column, columns
        return -1, -1, -1, -1

    def selected_markdown(self) -> str:
        """Return the table as Markdown."""
        return to_markdown((self._table,))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done with the table and the message."""
        if self._entry is not None:
            self._host.show_menu(self._entry.view.id, event.globalPos(), self)

    def open_link(self, href: str) -> None:
        """Follow a link in a cell."""
        if self._entry is not None:
            self._host.open_link(self._entry.view.id, href)

    def _toggle(self) -> None:
        row, entry = self._row, self._entry
        if row is None or entry is None:
            return
        row.expanded = not row.expanded
        self.bind(row, entry)
        self._host.row_resized(row)

"""Text of a message: paragraphs, headings, lists and quotes in one selectable piece."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import QMimeData, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QTextBlock,
    QTextLine,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QTextEdit, QWidget

from app.ui.transcript.blocks import Block, Rule, to_markdown
from app.ui.transcript.document import BlockDocument, selected_text
from app.ui.transcript.entry import Entry
from app.ui.transcript.host import RowHost
from app.ui.transcript.icons import icon_pixmap
from app.ui.transcript.linked_text import LinkedText
from app.ui.transcript.place_text import select_place
from app.ui.transcript.rows import Row

__all__ = ["TextRow", "make_plain_view"]


def make_plain_view(view: QTextEdit) -> None:
    """Turn a text widget into a piece of the page: no frame, no scrolling, no background."""
    view.setFrameShape(QFrame.Shape.NoFrame)
    view.setReadOnly(True)
    view.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    view.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    view.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
    view.setAcceptDrops(False)
    view.setLineWrapMode(QTextEdit.LineWrapMode.FixedPixelWidth)
    view.viewport().setAutoFillBackground(False)
    # The widget is as high as its text; a selection that is drawn past the end, or a cursor that
    # is placed, must not scroll it.
    bar = view.verticalScrollBar()
    bar.valueChanged.connect(lambda value: bar.setValue(0) if value else None)
    view.setProperty("kind", "bare")


def _x_of(line: QTextLine, position: int) -> float:
    """Return where a position of a line is drawn (the binding also returns the position)."""
    found = cast("tuple[float, int]", line.cursorToX(position))
    return found[0]


class TextRow(LinkedText):
    """Shows the blocks of one TEXT row."""

    def __init__(self, host: RowHost, parent: QWidget) -> None:
        super().__init__(parent)
        self._host = host
        self._row: Row | None = None
        self._entry: Entry | None = None
        make_plain_view(self)
        self._document = BlockDocument(host.style_in_force, host.formulas, self)
        self.setDocument(self._document)
        self.viewport().setMouseTracking(True)
        self.restyle()

    def set_tight(self) -> None:
        """Let paragraphs follow each other like lines."""
        self._document.tight = True

    def widget(self) -> QWidget:
        """Return the widget itself."""
        return self

    def bind(self, row: Row, entry: Entry) -> None:
        """Show a row, new or changed."""
        if row is not self._row:
            self._clear_selection()
        self._row, self._entry = row, entry
        self._document.set_content(row.content, quiet=row.reasoning)
        part = "Reasoning" if row.reasoning else "Reply"
        self.setAccessibleName(self.tr("{part}, text").format(part=self.tr(part)))
        self.viewport().update()

    def unbind(self) -> None:
        """Let go of the row."""
        self._row = self._entry = None

    def restyle(self) -> None:
        """Take the style in force."""
        style = self._host.style_in_force
        self._document.set_style(style)
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.Highlight, style.colour("selection"))
        palette.setColor(QPalette.ColorRole.HighlightedText, style.colour("ink"))
        self.setPalette(palette)
        if self._row is not None and self._entry is not None:
            self.bind(self._row, self._entry)

    def height_at(self, width: int) -> int:
        """Return the height needed at a width."""
        # Told to the widget rather than to the document, which the widget would else lay out at
        # the width it still has.
        if self.lineWrapColumnOrWidth() != width:
            self.setLineWrapColumnOrWidth(width)
        return int(self._document.size().height() + 0.99)

    def formula_ready(self, latex: str) -> None:
        """Draw a formula that was waited for."""
        if self._document.formula_ready(latex) and self._row is not None:
            self._host.row_resized(self._row)

    # What is drawn beside the text.

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw markers, quote bars and rules, the text, and the caret of a growing text."""
        self._document.set_ratio(self.devicePixelRatioF())
        painter = QPainter(self.viewport())
        layout = self._document.documentLayout()
        block = self._document.begin()
        visible = QRectF(event.rect())
        style = self._host.style_in_force
        if self._document.inset:
            bar = QRectF(0, 0, style.px(2), self.viewport().height())
            painter.fillRect(bar, style.colour("line"))
        for content in self._document.content:
            if not block.isValid():
                break
            place = content.place
            if place.marker or place.quotes or isinstance(content, Rule):
                box = layout.blockBoundingRect(block)
                if box.bottom() >= visible.top() - 40 and box.top() <= visible.bottom():
                    self._draw_beside(painter, block, box, content)
            block = block.next()
        painter.end()
        super().paintEvent(event)
        if self._row is not None and self._row.caret:
            self._draw_caret()

    def _draw_beside(
        self, painter: QPainter, block: QTextBlock, box: QRectF, content: Block
    ) -> None:
        style = self._host.style_in_force
        place = content.place
        width = self._document.textWidth()
        if isinstance(content, Rule):
            painter.setPen(QPen(style.colour("line"), 1))
            y = round(box.center().y()) + 0.5
            painter.drawLine(
                QPointF(self._document.inset + style.indent(place.quotes, place.items), y),
                QPointF(width, y),
            )
            return
        for depth in range(min(place.quotes, 8)):
            left = self._document.inset + style.px(16 * depth)
            bar = QRectF(left, box.top(), style.px(3), box.height())
            if block.previous().isValid() and depth < place.quotes:
                above = block.blockFormat().topMargin()
                number = block.blockNumber()
                if self._document.content[number - 1].place.quotes <= depth:
                    above = 0.0
                bar.setTop(bar.top() - above)
            painter.fillRect(bar, style.colour("line_strong"))
        if place.marker:
            self._draw_marker(painter, block, box, place.marker)

    def _draw_marker(self, painter: QPainter, block: QTextBlock, box: QRectF, marker: str) -> None:
        style = self._host.style_in_force
        layout = block.layout()
        if not layout.lineCount():
            return
        line = layout.lineAt(0)
        baseline = layout.position().y() + line.y() + line.ascent()
        indent = block.blockFormat().leftMargin()
        gap = style.px(7)
        rtl = block.textDirection() == Qt.LayoutDirection.RightToLeft
        edge = self._document.textWidth() - indent + gap if rtl else indent - gap
        colour = style.colour("dim")
        metrics = self.fontMetrics()
        middle = baseline - metrics.xHeight() / 2
        if marker == "•":
            radius = style.px(2.6) if style.px(2.6) > 2 else 2.4
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour)
            centre = edge + radius if rtl else edge - radius
            painter.drawEllipse(QPointF(centre, middle), radius, radius)
        elif marker in "☐☑":
            self._draw_box(painter, edge, middle, marker == "☑", rtl)
        else:
            painter.setFont(style.text_font)
            painter.setPen(colour)
            wide = metrics.horizontalAdvance(marker)
            painter.drawText(QPointF(edge if rtl else edge - wide, baseline), marker)

    def _draw_box(
        self, painter: QPainter, edge: float, middle: float, checked: bool, rtl: bool
    ) -> None:
        style = self._host.style_in_force
        side = style.px(13)
        left = round(edge if rtl else edge - side) + 0.5
        box = QRectF(left, round(middle - side / 2) + 0.5, side - 1, side - 1)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        fill = style.colour("accent_fill") if checked else QColor(Qt.GlobalColor.transparent)
        painter.setPen(QPen(fill if checked else style.colour("faint"), 1.2))
        painter.setBrush(fill)
        painter.drawRoundedRect(box, 3, 3)
        if checked:
            ratio = self.devicePixelRatioF()
            mark = icon_pixmap("check", style.colour("on_accent"), side - 2, ratio)
            painter.drawPixmap(QPointF(box.left() + 0.5, box.top() + 0.5), mark)

    def _draw_caret(self) -> None:
        style = self._host.style_in_force
        block = self._document.lastBlock()
        layout = block.layout()
        if not layout.lineCount():
            return
        line = layout.lineAt(layout.lineCount() - 1)
        at = layout.position()
        x = at.x() + _x_of(line, block.length() - 1) + 2
        ascent = self.fontMetrics().ascent()
        top = at.y() + line.y() + line.ascent() - ascent
        painter = QPainter(self.viewport())
        painter.fillRect(
            QRectF(round(x), round(top), style.px(7), self.fontMetrics().height()),
            style.colour("ink"),
        )

    # Links, selection, menus.

    def follow(self, address: str) -> None:
        """Open a link of the message that is shown."""
        if self._entry:
            self._host.open_link(self._entry.view.id, address)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the transcript."""
        event.ignore()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Drop the selection when the focus goes to another text, not to a menu."""
        super().focusOutEvent(event)
        if event.reason() in (Qt.FocusReason.MouseFocusReason, Qt.FocusReason.TabFocusReason):
            self._clear_selection()

    def _clear_selection(self) -> None:
        cursor = self.textCursor()
        if cursor.hasSelection():
            cursor.clearSelection()
            self.setTextCursor(cursor)

    def createMimeDataFromSelection(self) -> QMimeData:
        """Copy plain text: no fonts or colours of ours, formulas as their source."""
        data = QMimeData()
        data.setText(selected_text(self.textCursor(), self._document.content))
        return data

    def selected_plain(self) -> str:
        """Return the selected text."""
        return selected_text(self.textCursor(), self._document.content)

    def select_text(self, needle: str, number: int = 0) -> int:
        """Select a place that has a text, from 0 on; return how far down it is, in pixels.

        Where there is none, nothing is selected any more.
        """
        return select_place(self, needle, number)

    def selected_markdown(self) -> str:
        """Return Markdown of the paragraphs that the selection touches."""
        cursor = self.textCursor()
        first = self._document.findBlock(cursor.selectionStart()).blockNumber()
        last = self._document.findBlock(cursor.selectionEnd()).blockNumber()
        return to_markdown(self._document.content[first : last + 1])

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done with the text and the message."""
        if self._entry is not None:
            at = self.viewport().mapFrom(self, event.pos())
            self._host.show_menu(self._entry.view.id, event.globalPos(), self, self.link_at(at))

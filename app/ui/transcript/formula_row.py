"""A displayed formula: centred, scrolled sideways when wide, its source when it can't be drawn."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QContextMenuEvent, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.ui.transcript.blocks import Formula
from app.ui.transcript.document import em_of
from app.ui.transcript.entry import Entry
from app.ui.transcript.formula import Drawing, formula_pixmap
from app.ui.transcript.host import RowHost
from app.ui.transcript.place_text import fold
from app.ui.transcript.rows import Row

__all__ = ["FormulaRow"]


class FormulaRow(QWidget):
    """Shows one FORMULA row."""

    def __init__(self, host: RowHost, parent: QWidget) -> None:
        super().__init__(parent)
        self._host = host
        self._row: Row | None = None
        self._entry: Entry | None = None
        self._formula = Formula("")
        self._drawing: Drawing | None = None
        self._scale = 1.0
        self._is_marked = False
        self.waits = False

    def widget(self) -> QWidget:
        """Return the widget itself."""
        return self

    def bind(self, row: Row, entry: Entry) -> None:
        """Show a row, new or changed."""
        self._row, self._entry = row, entry
        formula: Formula = row.content
        self._formula = formula
        self._drawing = None
        self.waits = False
        if formula.closed:
            found = self._host.formulas.lookup(formula.text, display=True)
            self.waits = found == "pending"
            self._drawing = found if isinstance(found, Drawing) else None
        self.setAccessibleName(self.tr("Formula: {source}").format(source=formula.text[:500]))
        self.setToolTip("" if self._drawing is None else formula.text[:500])
        self.update()

    def unbind(self) -> None:
        """Let go of the row."""
        self._row = self._entry = None
        self._is_marked = False

    def restyle(self) -> None:
        """Take the style in force."""
        self.update()

    def formula_ready(self, latex: str) -> None:
        """Draw a formula that was waited for."""
        if self.waits and latex == self._formula.text and self._row and self._entry:
            self.bind(self._row, self._entry)
            self._host.row_resized(self._row)

    def _source(self) -> str:
        text = self._formula.text
        return text if self._formula.closed else f"$$\n{text}"

    def _indent(self) -> int:
        place = self._formula.place
        return self._host.style_in_force.indent(place.quotes, place.items)

    def height_at(self, width: int) -> int:
        """Return the height needed at a width."""
        style = self._host.style_in_force
        room = max(width - self._indent(), 40)
        if self._drawing is not None:
            em = em_of(style) * 1.12
            # A formula wider than the column is drawn smaller, down to half; then it is cut.
            wide = self._drawing.width * em
            self._scale = max(min(room / wide, 1.0), 0.5) if wide else 1.0
            high = (self._drawing.ascent + self._drawing.descent) * em * self._scale
            return int(high + style.px(8) + 0.99)
        metrics = QFontMetricsF(style.code_font)
        box = metrics.boundingRect(
            QRectF(0, 0, room, 100_000), self._flags(), self._source()[:4000]
        )
        return int(box.height() + style.px(4) + 0.99)

    @staticmethod
    def _flags() -> int:
        return int(Qt.AlignmentFlag.AlignLeft) | int(Qt.TextFlag.TextWrapAnywhere)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the formula or its source."""
        style = self._host.style_in_force
        painter = QPainter(self)
        quiet = self._row is not None and self._row.reasoning
        colour = style.colour("dim" if quiet else "ink")
        left = self._indent()
        room = self.width() - left
        if self._drawing is None:
            if self._is_marked:
                painter.fillRect(self.rect(), style.colour("selection"))
            painter.setFont(style.code_font)
            painter.setPen(style.colour("dim"))
            box = QRectF(left, style.px(2), room, self.height())
            painter.drawText(box, self._flags(), self._source()[:4000])
            return
        em = em_of(style) * 1.12 * self._scale
        pixmap = formula_pixmap(self._drawing, em, colour, self.devicePixelRatioF())
        wide = pixmap.width() / pixmap.devicePixelRatio()
        at = QPointF(left + max(round((room - wide) / 2), 0), style.px(4))
        if self._is_marked:
            high = pixmap.height() / pixmap.devicePixelRatio()
            air = style.px(4)
            box = QRectF(at.x(), at.y(), wide, high).adjusted(-air, -air, air, air)
            painter.fillRect(box.intersected(QRectF(self.rect())), style.colour("selection"))
        painter.drawPixmap(at, pixmap)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done with the formula and the message."""
        if self._entry is not None:
            self._host.show_menu(self._entry.view.id, event.globalPos(), self)

    def select_text(self, needle: str, _number: int = 0) -> int:
        """Mark the formula if its source has a text, else no more; return how far down it is."""
        self._is_marked = bool(needle) and fold(needle) in fold(self._formula.text)
        self.update()
        return 0

    def unmark(self) -> None:
        """Be drawn as it is."""
        self.select_text("")

    def selected_plain(self) -> str:
        """Return the formula's source."""
        return self._formula.text

    def selected_markdown(self) -> str:
        """Return the formula as Markdown."""
        return f"$$\n{self._formula.text}\n$$"

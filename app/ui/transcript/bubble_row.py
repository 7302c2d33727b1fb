"""What the user wrote: literally, in a bubble, with its files and controls beside it."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QFontMetricsF,
    QPainter,
    QPainterPath,
    QPaintEvent,
)
from PySide6.QtWidgets import QWidget

from app.ui.transcript.blocks import Paragraph, Span
from app.ui.transcript.buttons import TextButton
from app.ui.transcript.controls import ControlBar
from app.ui.transcript.entry import Entry
from app.ui.transcript.host import RowHost
from app.ui.transcript.icons import icon_pixmap
from app.ui.transcript.items import AttachmentView
from app.ui.transcript.rows import Row, RowKind
from app.ui.transcript.text_row import TextRow

__all__ = ["BubbleRow", "literal_blocks"]

_FOLD_LINES: Final = 24
_FOLD_CHARACTERS: Final = 3000
_PIECE: Final = 1500


def literal_blocks(text: str, *, folded: bool) -> tuple[tuple[Paragraph, ...], bool]:
    """Return a text as paragraphs that show every character, and whether some is left out.

    Endless lines become several paragraphs, since laying out one costs more than many.
    """
    text = text.replace("\x00", "\ufffd").replace("\r\n", "\n").replace("\r", "\n")
    shown = text
    if folded and (len(text) > _FOLD_CHARACTERS or text.count("\n") >= _FOLD_LINES):
        shown = "\n".join(text[:_FOLD_CHARACTERS].split("\n", _FOLD_LINES)[:_FOLD_LINES])
        if len(shown) > len(text) - 200:
            shown = text
    pieces: list[str] = []
    for line in shown.split("\n"):
        pieces.extend(line[at : at + _PIECE] for at in range(0, max(len(line), 1), _PIECE))
    paragraphs = tuple(Paragraph((Span(piece),)) for piece in pieces)
    return paragraphs, len(shown) < len(text)


def _attachment_label(attachment: AttachmentView) -> str:
    if attachment.tokens is None:
        return attachment.name
    return f"{attachment.name} · {attachment.tokens:,} tokens"


class BubbleRow(QWidget):
    """Shows one BUBBLE row."""

    def __init__(self, host: RowHost, parent: QWidget) -> None:
        super().__init__(parent)
        self._host = host
        self._row: Row | None = None
        self._entry: Entry | None = None
        self._box = QRect()
        self._files: list[tuple[QRect, str]] = []
        self._version_box = QRect()
        self._active = False
        self._folded = False
        self.text = TextRow(host, self)
        self.text.set_tight()
        self.fold_button = TextButton(host, self, "unfolded", "")
        self.fold_button.clicked.connect(self._toggle)
        self.bar = ControlBar(host, self, words=False)

    def widget(self) -> QWidget:
        """Return the widget itself."""
        return self

    def bind(self, row: Row, entry: Entry) -> None:
        """Show a row, new or changed."""
        self._row, self._entry = row, entry
        view = entry.view
        blocks, self._folded = literal_blocks(view.text, folded=not row.expanded)
        inner = Row(RowKind.TEXT, blocks)
        self.text.bind(inner, entry)
        self.text.setAccessibleName(self.tr("You: {text}").format(text=view.text[:200]))
        self.fold_button.setVisible(self._folded or row.expanded)
        self.fold_button.set_face(
            "unfolded" if self._folded else "folded",
            self.tr("Show all") if self._folded else self.tr("Show less"),
        )
        self.bar.set_view(view)
        self.set_active(self._active)
        self.update()

    def unbind(self) -> None:
        """Let go of the row."""
        self._row = self._entry = None
        self._active = False
        self.text.unbind()

    def restyle(self) -> None:
        """Take the style in force."""
        self.text.restyle()
        self.update()

    def set_active(self, active: bool, *, tab: bool = False) -> None:
        """Show the controls beside the bubble."""
        self._active = active
        self.bar.set_shown(active, tab=tab)

    def height_at(self, width: int) -> int:
        """Return the height needed at a width; lays the parts out."""
        style = self._host.style_in_force
        pad_x, pad_y = style.px(14), style.px(9)
        self.bar.set_compact(True)
        buttons = sum(button.sizeHint().width() for button in self.bar.buttons)
        version = self._version_width()
        widest = max(
            min(round(width * 0.7), width - buttons - version - style.px(8)), style.px(120)
        )
        room = widest - 2 * pad_x
        self.text.height_at(room)
        wanted = int(self.text.document().idealWidth() + 3)
        files = self._entry.view.attachments if self._entry else ()
        metrics = QFontMetricsF(style.small_font)
        labels = [_attachment_label(file) for file in files]
        chip_pad = style.px(30)
        chips = [min(round(metrics.horizontalAdvance(label)) + chip_pad, room) for label in labels]
        has_text = bool(self._entry and self._entry.view.text) or not files
        fold = self.fold_button.sizeHint() if not self.fold_button.isHidden() else None
        inner = max(wanted if has_text else 0, max(chips, default=0), fold.width() if fold else 0)
        inner = min(inner, room)
        left = width - inner - 2 * pad_x
        y = pad_y
        self._files = []
        chip_height = style.px(24)
        for label, chip in zip(labels, chips, strict=True):
            self._files.append((QRect(left + pad_x, y, chip, chip_height), label))
            y += chip_height + style.px(5)
        self.text.setVisible(has_text)
        if has_text:
            high = self.text.height_at(inner)
            self.text.setGeometry(left + pad_x, y, inner, high)
            y += high
        if fold is not None:
            self.fold_button.setGeometry(
                left + pad_x - style.px(4), y + style.px(2), fold.width(), fold.height()
            )
            y += fold.height() + style.px(2)
        y += pad_y
        self._box = QRect(left, 0, inner + 2 * pad_x, y)
        self._place_buttons(left - style.px(6), y)
        return y

    def _version_width(self) -> int:
        style = self._host.style_in_force
        if not self.bar.version:
            return 0
        return round(
            QFontMetricsF(style.small_font).horizontalAdvance(self.bar.version)
        ) + style.px(4)

    def _place_buttons(self, right: int, bottom: int) -> None:
        """Put the buttons left of the bubble, in line with its last line of text."""
        style = self._host.style_in_force
        self._version_box = QRect()
        total = sum(button.sizeHint().width() for button in self.bar.buttons)
        at = right - total - self._version_width()
        # Versions are always shown, so they stand next to the bubble.
        order = sorted(
            self.bar.buttons, key=lambda button: button.objectName().endswith("_version")
        )
        for button in order:
            size = button.sizeHint()
            top = bottom - size.height() - style.px(8)
            button.setGeometry(QRect(QPoint(at, top), size))
            at += size.width()
            if button.objectName() == "previous_version":
                wide = self._version_width()
                self._version_box = QRect(at, top, wide, size.height())
                at += wide

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the bubble and its files."""
        style = self._host.style_in_force
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self._box)
        path = QPainterPath()
        path.setFillRule(Qt.FillRule.WindingFill)
        path.addRoundedRect(box, style.px(14), style.px(14))
        corner = QRectF(box.center(), box.bottomRight())
        path.addRoundedRect(corner, style.px(4), style.px(4))
        if not style.theme.is_dark:
            painter.setPen(style.colour("line"))
            painter.setBrush(style.colour("panel"))
            painter.translate(0.5, 0.5)
            box.adjust(0, 0, -1, -1)
            path = QPainterPath()
            path.setFillRule(Qt.FillRule.WindingFill)
            path.addRoundedRect(box, style.px(14), style.px(14))
            path.addRoundedRect(QRectF(box.center(), box.bottomRight()), style.px(4), style.px(4))
            painter.drawPath(path.simplified())
            painter.translate(-0.5, -0.5)
        else:
            painter.fillPath(path, style.colour("raised"))
        ratio = self.devicePixelRatioF()
        painter.setFont(style.small_font)
        metrics = QFontMetricsF(style.small_font)
        for rect, label in self._files:
            painter.setPen(style.colour("line_strong"))
            painter.setBrush(style.colour("background"))
            painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
            side = style.px(14)
            mark = icon_pixmap("file", style.colour("dim"), side, ratio)
            painter.drawPixmap(
                rect.left() + style.px(5), rect.top() + (rect.height() - side) // 2, mark
            )
            painter.setPen(style.colour("dim"))
            shown = metrics.elidedText(
                label, Qt.TextElideMode.ElideMiddle, rect.width() - style.px(28)
            )
            painter.drawText(
                QRectF(rect).adjusted(style.px(22), 0, 0, 0),
                int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter),
                shown,
            )
        if self.bar.version:
            painter.setPen(style.colour("dim"))
            painter.drawText(
                QRectF(self._version_box), int(Qt.AlignmentFlag.AlignCenter), self.bar.version
            )

    def select_text(self, needle: str) -> int:
        """Select the first place that has a text; return how far down it is, in pixels."""
        return self.text.y() + self.text.select_text(needle)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done with the message."""
        if self._entry is not None:
            self._host.show_menu(self._entry.view.id, event.globalPos(), None)

    def _toggle(self) -> None:
        row, entry = self._row, self._entry
        if row is None or entry is None:
            return
        row.expanded = not row.expanded
        self.bind(row, entry)
        self._host.row_resized(row)

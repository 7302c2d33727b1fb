"""What the user wrote: literally, in a bubble, with its files and controls beside it."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QCoreApplication, QPoint, QRect, QRectF, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QFontMetricsF,
    QPainter,
    QPainterPath,
    QPaintEvent,
)
from PySide6.QtWidgets import QWidget

from app.ui.numbers import numbered
from app.ui.transcript.bubble_slices import BubbleSlice
from app.ui.transcript.buttons import TextButton
from app.ui.transcript.controls import ControlBar
from app.ui.transcript.entry import Entry
from app.ui.transcript.host import RowHost
from app.ui.transcript.icons import icon_pixmap
from app.ui.transcript.items import AttachmentView
from app.ui.transcript.rows import Row, RowKind
from app.ui.transcript.text_row import TextRow

__all__ = ["BubbleRow"]

_BEYOND: Final = 40
"""How far the outline of a bubble that goes on is drawn beyond its slice, in pixels."""


def _tr(text: str) -> str:
    return QCoreApplication.translate("BubbleRow", text)


def _attachment_label(attachment: AttachmentView) -> str:
    if attachment.tokens is None:
        return attachment.name
    tokens = numbered(attachment.tokens, _tr("1 token"), _tr("%n tokens"))
    return f"{attachment.name} · {tokens}"


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
        self._slice: BubbleSlice | None = None
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
        part: BubbleSlice = row.content
        self._slice = part
        self.text.bind(Row(RowKind.TEXT, part.blocks), entry)
        self.text.setAccessibleName(self.tr("You: {text}").format(text=part.text[:200]))
        self.fold_button.setVisible(part.last and (part.folded or part.unfolded))
        self.fold_button.set_face(
            "unfolded" if part.folded else "folded",
            self.tr("Show all") if part.folded else self.tr("Show less"),
        )
        self.bar.set_view(part.view if part.last else None)
        self.set_active(self._active)
        self.update()

    def unbind(self) -> None:
        """Let go of the row."""
        self._row = self._entry = self._slice = None
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
        part = self._slice
        first, last = part is None or part.first, part is None or part.last
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
        files = part.view.attachments if part is not None and first else ()
        metrics = QFontMetricsF(style.small_font)
        labels = [_attachment_label(file) for file in files]
        chip_pad = style.px(30)
        chips = [min(round(metrics.horizontalAdvance(label)) + chip_pad, room) for label in labels]
        has_text = bool(part is not None and part.view.text) or not files
        fold = self.fold_button.sizeHint() if not self.fold_button.isHidden() else None
        inner = max(wanted if has_text else 0, max(chips, default=0), fold.width() if fold else 0)
        # The slices of one message are of one width.
        inner = min(inner, room) if first and last else room
        left = width - inner - 2 * pad_x
        y = pad_y if first else 0
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
        y += pad_y if last else 0
        # The bubble goes on in the slices above and below, so its ends lie outside.
        above, below = (0 if first else _BEYOND), (0 if last else _BEYOND)
        self._box = QRect(left, -above, inner + 2 * pad_x, y + above + below)
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
        if self.bar.version and not self._version_box.isNull():
            painter.setPen(style.colour("dim"))
            painter.drawText(
                QRectF(self._version_box), int(Qt.AlignmentFlag.AlignCenter), self.bar.version
            )

    def select_text(self, needle: str, number: int = 0) -> int:
        """Select a place that has a text, from 0 on; return how far down it is, in pixels."""
        return self.text.y() + self.text.select_text(needle, number)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done with the message."""
        if self._entry is not None:
            self._host.show_menu(self._entry.view.id, event.globalPos(), None)

    def _toggle(self) -> None:
        if self._entry is not None:
            self._host.act("toggle_text", self._entry.view.id)

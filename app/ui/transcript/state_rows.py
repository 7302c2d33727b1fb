"""The small rows: folded reasoning, waiting for the first token, notes, and cuts in memory."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QContextMenuEvent, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QPushButton, QWidget

from app.ui.numbers import numbered
from app.ui.restyle import polish
from app.ui.transcript.buttons import TextButton
from app.ui.transcript.entry import Entry
from app.ui.transcript.host import RowHost
from app.ui.transcript.icons import icon_pixmap
from app.ui.transcript.rows import Row

__all__ = ["CutRow", "NoteRow", "ReasoningRow", "WaitingRow"]


class _RowBase(QWidget):
    """What the small rows have in common."""

    def __init__(self, host: RowHost, parent: QWidget) -> None:
        super().__init__(parent)
        self._host = host
        self._row: Row | None = None
        self._entry: Entry | None = None

    def widget(self) -> QWidget:
        """Return the widget itself."""
        return self

    def bind(self, row: Row, entry: Entry) -> None:
        """Show a row, new or changed."""
        self._row, self._entry = row, entry
        self.update()

    def unbind(self) -> None:
        """Let go of the row."""
        self._row = self._entry = None

    def restyle(self) -> None:
        """Take the style in force."""
        self.update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done with the message."""
        if self._entry is not None:
            self._host.show_menu(self._entry.view.id, event.globalPos(), None)


class _FoldHead(QAbstractButton):
    """The line that folds and unfolds reasoning."""

    def __init__(self, host: RowHost, parent: QWidget) -> None:
        super().__init__(parent)
        self._host = host
        self.icon_name = "folded"
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:
        """Return the room for icon and words."""
        style = self._host.style_in_force
        wide = QFontMetricsF(style.small_font).horizontalAdvance(self.text())
        return QSize(round(wide) + style.px(34), style.px(26))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw a quiet pill."""
        style = self._host.style_in_force
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        forward = self.underMouse() or self.hasFocus()
        painter.setPen(QPen(style.colour("accent" if self.hasFocus() else "line"), 1))
        painter.setBrush(style.colour("raised" if forward else "panel"))
        painter.drawRoundedRect(box, style.px(8), style.px(8))
        side = style.px(12)
        colour = style.colour("ink" if forward else "dim")
        mark = icon_pixmap(self.icon_name, colour, side, self.devicePixelRatioF())
        painter.drawPixmap(style.px(8), round((self.height() - side) / 2), mark)
        painter.setFont(style.small_font)
        painter.setPen(colour)
        painter.drawText(
            QRectF(style.px(24), 0, self.width() - style.px(24), self.height()),
            int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter),
            self.text(),
        )


class ReasoningRow(_RowBase):
    """Shows that the model thought first, and folds what it thought."""

    def __init__(self, host: RowHost, parent: QWidget) -> None:
        super().__init__(host, parent)
        self.head = _FoldHead(host, self)
        self.head.clicked.connect(self._toggle)
        self.copy_button = TextButton(host, self, "copy", self.tr("Copy"))
        self.copy_button.setAccessibleName(self.tr("Copy reasoning"))
        self.copy_button.clicked.connect(self._copy)

    def bind(self, row: Row, entry: Entry) -> None:
        """Show a row, new or changed."""
        view = entry.view
        thinking = entry.is_live and not view.text
        words = self.tr("Reasoning…") if thinking else self.tr("Reasoning")
        if view.reasoning_tokens:
            count = view.reasoning_tokens
            words += " · " + numbered(count, self.tr("1 token"), self.tr("%n tokens"))
        if not thinking and not view.text and view.state != "complete":
            words += self.tr(" · unfinished")
        self.head.icon_name = "unfolded" if entry.unfolded else "folded"
        self.head.setText(words)
        self.head.setAccessibleName(
            self.tr("{words}, shown").format(words=words)
            if entry.unfolded
            else self.tr("{words}, folded").format(words=words)
        )
        self.copy_button.setVisible(entry.unfolded)
        super().bind(row, entry)
        self.head.update()

    def height_at(self, width: int) -> int:
        """Return the height needed; lays the parts out."""
        size = self.head.sizeHint()
        self.head.setGeometry(QRect(0, 0, size.width(), size.height()))
        button = self.copy_button.sizeHint()
        self.copy_button.setGeometry(
            size.width() + 8,
            (size.height() - button.height()) // 2,
            button.width(),
            button.height(),
        )
        return size.height()

    def _toggle(self) -> None:
        if self._entry is not None:
            self._host.act("toggle_reasoning", self._entry.view.id)

    def _copy(self) -> None:
        if self._entry is not None:
            self._host.copy_text(self._entry.view.reasoning)
            self.copy_button.confirm(self.tr("Copied"))


class WaitingRow(_RowBase):
    """Shows how far the prompt has been read."""

    def _words(self) -> str:
        progress = self._entry.view.progress if self._entry is not None else None
        if progress is None:
            return self.tr("Waiting for the model…")
        done, total = progress
        return self.tr("Reading the prompt · {done} of {total} tokens").format(
            done=f"{done:,}", total=f"{total:,}"
        )

    def bind(self, row: Row, entry: Entry) -> None:
        """Show a row, new or changed."""
        super().bind(row, entry)
        self.setAccessibleName(self._words())

    def height_at(self, width: int) -> int:
        """Return the height needed."""
        return self._host.style_in_force.px(32)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the words and a thin bar."""
        style = self._host.style_in_force
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(style.small_font)
        painter.setPen(style.colour("dim"))
        painter.drawText(
            QRectF(0, 0, self.width(), style.px(20)),
            int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter),
            self._words(),
        )
        progress = self._entry.view.progress if self._entry is not None else None
        if progress is None:
            return
        done, total = progress
        bar = QRectF(0, style.px(25), min(self.width(), style.px(260)), style.px(4))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(style.colour("line"))
        painter.drawRoundedRect(bar, 2, 2)
        share = min(max(done / total, 0.0), 1.0) if total > 0 else 0.0
        if share > 0:
            painter.setBrush(style.colour("accent"))
            full = QRectF(bar)
            full.setWidth(max(bar.width() * share, bar.height()))
            painter.drawRoundedRect(full, 2, 2)


class _ActionRow(_RowBase):
    """A sentence with things to do about it."""

    def __init__(self, host: RowHost, parent: QWidget) -> None:
        super().__init__(host, parent)
        self._buttons: list[QPushButton] = []

    def _make_buttons(self, entry: Entry) -> None:
        wanted = entry.view.actions
        while len(self._buttons) < len(wanted):
            button = QPushButton(self)
            button.setProperty("kind", "small")
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(partial(self._choose, len(self._buttons)))
            self._buttons.append(button)
        for index, button in enumerate(self._buttons):
            button.setVisible(index < len(wanted))
            if index < len(wanted):
                button.setText(wanted[index].label)
                button.setAccessibleName(wanted[index].label)

    def restyle(self) -> None:
        """Take the style in force; its rules come to hidden buttons later, which is too late."""
        for button in self._buttons:
            polish(button)
        super().restyle()

    def _choose(self, index: int, _checked: bool = False) -> None:
        if self._entry is not None and index < len(self._entry.view.actions):
            self._host.act(self._entry.view.actions[index].kind, self._entry.view.id)

    def _place_buttons(self, left: int, top: int, width: int) -> int:
        """Lay the buttons out in lines; return the bottom."""
        gap = self._host.style_in_force.px(6)
        x, y, bottom = left, top, top
        for button in self._buttons:
            if button.isHidden():
                continue
            button.ensurePolished()
            size = button.sizeHint()
            if x > left and x + size.width() > width:
                x, y = left, bottom + gap
            button.setGeometry(x, y, size.width(), size.height())
            x += size.width() + gap
            bottom = y + size.height()
        return bottom


_NOTES: Final = {
    "interrupted": "This reply was interrupted.",
    "stopped": "Stopped.",
    "failed": "This reply failed.",
}


class NoteRow(_ActionRow):
    """A note: why a reply ended early, or a notice of its own."""

    def _words(self) -> str:
        if self._entry is None:
            return ""
        view = self._entry.view
        if view.role == "notice":
            return view.note or view.text
        return view.note or self.tr(_NOTES.get(view.state, ""))

    def _look(self) -> tuple[str, str, str]:
        """Return icon, colour of the icon, and kind of ground ("" for none)."""
        state = self._entry.view.state if self._entry is not None else "complete"
        if state == "failed":
            return "warning", "danger", "danger"
        if state == "interrupted":
            return "warning", "warning", "warning"
        if state == "stopped":
            return "stopped", "faint", ""
        return "info", "accent", "notice" if self._is_notice() else ""

    def _is_notice(self) -> bool:
        return self._entry is not None and self._entry.view.role == "notice"

    def bind(self, row: Row, entry: Entry) -> None:
        """Show a row, new or changed."""
        super().bind(row, entry)
        self._make_buttons(entry)
        self.setAccessibleName(self._words())

    def _flags(self) -> int:
        return int(Qt.AlignmentFlag.AlignLeft) | int(Qt.TextFlag.TextWordWrap)

    def _pad(self) -> tuple[int, int]:
        style = self._host.style_in_force
        return (style.px(11), style.px(9)) if self._look()[2] else (0, style.px(2))

    def height_at(self, width: int) -> int:
        """Return the height needed at a width; lays the parts out."""
        style = self._host.style_in_force
        pad_x, pad_y = self._pad()
        left = pad_x + style.px(22)
        metrics = QFontMetricsF(style.note_font)
        room = QRectF(0, 0, max(width - left - pad_x, 60), 10_000)
        box = metrics.boundingRect(room, self._flags(), self._words())
        bottom = pad_y + int(box.height() + 0.99)
        if any(not button.isHidden() for button in self._buttons):
            bottom = self._place_buttons(left, bottom + style.px(7), width - pad_x)
        return bottom + pad_y

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the ground, the icon and the sentence."""
        style = self._host.style_in_force
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        icon, token, ground = self._look()
        pad_x, pad_y = self._pad()
        if ground:
            painter.setPen(QPen(style.colour(f"{ground}_line"), 1))
            painter.setBrush(style.colour(f"{ground}_fill"))
            box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
            painter.drawRoundedRect(box, style.px(9), style.px(9))
        side = style.px(15)
        mark = icon_pixmap(icon, style.colour(token), side, self.devicePixelRatioF())
        painter.drawPixmap(pad_x, pad_y + style.px(1), mark)
        painter.setFont(style.note_font)
        painter.setPen(style.colour("ink" if ground else "dim"))
        left = pad_x + style.px(22)
        painter.drawText(
            QRectF(left, pad_y, max(self.width() - left - pad_x, 60), self.height()),
            self._flags(),
            self._words(),
        )


class CutRow(_ActionRow):
    """The line where the model's memory was cut."""

    def bind(self, row: Row, entry: Entry) -> None:
        """Show a row, new or changed."""
        super().bind(row, entry)
        self._make_buttons(entry)
        self.setAccessibleName(entry.view.text)

    def _text_box(self, width: int) -> QRectF:
        style = self._host.style_in_force
        metrics = QFontMetricsF(style.small_font)
        room = QRectF(0, 0, max(width - style.px(120), 120), 10_000)
        text = self._entry.view.text if self._entry is not None else ""
        box = metrics.boundingRect(room, self._flags(), text)
        return QRectF((width - box.width()) / 2, style.px(5), box.width(), box.height())

    @staticmethod
    def _flags() -> int:
        return int(Qt.AlignmentFlag.AlignHCenter) | int(Qt.TextFlag.TextWordWrap)

    def height_at(self, width: int) -> int:
        """Return the height needed at a width; lays the parts out."""
        style = self._host.style_in_force
        bottom = int(self._text_box(width).bottom() + style.px(5))
        shown = [button for button in self._buttons if not button.isHidden()]
        if shown:
            for button in shown:
                button.ensurePolished()
            gap = style.px(6)
            total = sum(button.sizeHint().width() for button in shown) + gap * (len(shown) - 1)
            left = max((width - total) // 2, 0)
            bottom = self._place_buttons(left, bottom + style.px(2), width) + style.px(4)
        return bottom

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw a dashed line with the sentence in its middle."""
        if self._entry is None:
            return
        style = self._host.style_in_force
        painter = QPainter(self)
        box = self._text_box(self.width())
        pen = QPen(style.colour("warning"), 1, Qt.PenStyle.DashLine)
        painter.setPen(pen)
        y = round(box.center().y()) + 0.5
        side = style.px(14)
        left, right = box.left() - style.px(28), box.right() + style.px(10)
        painter.drawLine(QPointF(0, y), QPointF(max(left, 0), y))
        painter.drawLine(QPointF(right, y), QPointF(self.width(), y))
        mark = icon_pixmap("cut", style.colour("warning"), side, self.devicePixelRatioF())
        painter.drawPixmap(QPointF(box.left() - style.px(20), round(y - side / 2)), mark)
        painter.setFont(style.small_font)
        painter.setPen(style.colour("dim"))
        painter.drawText(box.adjusted(-2, 0, 2, 2), self._flags(), self._entry.view.text)

"""The editor that takes a message's place while it is changed."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QPushButton, QWidget

from app.ui.elide import ElidedLabel
from app.ui.restyle import polish
from app.ui.send_keys import is_enter, line_hint, send_name, sends
from app.ui.transcript.entry import Entry
from app.ui.transcript.host import RowHost
from app.ui.transcript.rows import Row

__all__ = ["EditorRow"]


class _Edit(QPlainTextEdit):
    """Text to be changed; the key that sends a draft ends it, and Esc gives up."""

    def __init__(self, owner: EditorRow) -> None:
        super().__init__(owner)
        self._owner = owner
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setProperty("kind", "bare")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Send, give up, or type."""
        if is_enter(event):
            if self._owner.ends_edit(event):
                self._owner.save()
            else:
                self.insertPlainText("\n")
                self.ensureCursorVisible()
        elif event.key() == Qt.Key.Key_Escape:
            self._owner.cancel()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Say the keys anew: their setting may have been changed while the editor was open."""
        super().focusInEvent(event)
        self._owner.tell_keys()


class EditorRow(QWidget):
    """Shows one EDITOR row."""

    def __init__(self, host: RowHost, parent: QWidget) -> None:
        super().__init__(parent)
        self._host = host
        self._row: Row | None = None
        self._entry: Entry | None = None
        self._height = 0
        self.edit = _Edit(self)
        self.edit.setAccessibleName(self.tr("Change the message"))
        self.save_button = QPushButton(self)
        self.save_button.setProperty("kind", "primary")
        self.save_button.clicked.connect(self.save)
        self.cancel_button = QPushButton(self.tr("Cancel"), self)
        self.cancel_button.clicked.connect(self.cancel)
        self.hint = ElidedLabel("", self)
        self.hint.setProperty("kind", "faint")
        self.cancel_button.setToolTip(self.tr("Esc"))
        self.edit.textChanged.connect(self._on_changed)

    def widget(self) -> QWidget:
        """Return the widget itself."""
        return self

    def bind(self, row: Row, entry: Entry) -> None:
        """Show a row, new or changed."""
        self._row = row
        if entry is self._entry:
            return
        self._entry = None
        own = entry.view.role == "user"
        self.save_button.setText(self.tr("Save && send") if own else self.tr("Save"))
        self.edit.setPlainText(entry.view.text if entry.draft is None else entry.draft)
        cursor = self.edit.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        self.edit.setTextCursor(cursor)
        self._entry = entry
        self.save_button.setEnabled(bool(self.edit.toPlainText().strip()))
        self.tell_keys()

    def ends_edit(self, event: QKeyEvent) -> bool:
        """Tell whether Enter, pressed so, hands the text over."""
        return sends(event, self._host.send_key)

    def tell_keys(self) -> None:
        """Say which key does what."""
        key = self._host.send_key
        own = self._entry is not None and self._entry.view.role == "user"
        text = self.tr("%1 sends") if own else self.tr("%1 saves")
        short = text.replace("%1", send_name(key))
        self.hint.setText(f"{short}, {line_hint(key)}")
        self.hint.set_short(short)
        self.save_button.setToolTip(send_name(key))

    def unbind(self) -> None:
        """Let go of the row; what was typed stays in the entry."""
        self._row = self._entry = None

    def restyle(self) -> None:
        """Take the style in force."""
        self.edit.setFont(self._host.style_in_force.text_font)
        for button in (self.save_button, self.cancel_button):
            polish(button)
        self.update()

    def height_at(self, width: int) -> int:
        """Return the height needed at a width; lays the parts out."""
        style = self._host.style_in_force
        pad = style.px(12)
        inner = max(width - 2 * pad, 60)
        metrics = self.edit.fontMetrics()
        text = self.edit.toPlainText()
        per_line = max(inner // max(metrics.averageCharWidth(), 1), 10)
        lines = sum(len(line) // per_line + 1 for line in text[:20_000].split("\n"))
        body = min(max(lines + 1, 3), 16) * metrics.lineSpacing() + style.px(8)
        self.edit.setGeometry(pad, pad, inner, body)
        for button in (self.save_button, self.cancel_button):
            button.ensurePolished()
        size = self.save_button.sizeHint()
        high = max(size.height(), self.cancel_button.sizeHint().height())
        top = pad + body + style.px(8)
        self.save_button.setGeometry(width - pad - size.width(), top, size.width(), high)
        other = self.cancel_button.sizeHint()
        self.cancel_button.setGeometry(
            width - pad - size.width() - style.px(8) - other.width(), top, other.width(), high
        )
        room = self.cancel_button.x() - 2 * style.px(8) - pad
        self.hint.setGeometry(pad + style.px(2), top, max(room, 0), high)
        self._height = top + high + pad
        return self._height

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the card."""
        style = self._host.style_in_force
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(style.colour("accent"), 1))
        painter.setBrush(style.colour("raised"))
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(box, style.px(12), style.px(12))

    def _on_changed(self) -> None:
        if self._entry is None or self._row is None:
            return
        self._entry.draft = self.edit.toPlainText()
        self.save_button.setEnabled(bool(self._entry.draft.strip()))
        before = self._height
        if self.height_at(self.width()) != before:
            self._host.row_resized(self._row)

    def save(self) -> None:
        """Hand the new text over, if there is any."""
        if self._entry is not None and self.save_button.isEnabled():
            self._host.act("save_edit", self._entry.view.id, self.edit.toPlainText())

    def cancel(self) -> None:
        """Leave the message as it was."""
        if self._entry is not None:
            self._host.act("cancel_edit", self._entry.view.id)

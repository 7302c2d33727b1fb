"""A label that shortens its text with an ellipsis and shows the whole in its tooltip."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QStyle, QStyleOption, QWidget

__all__ = ["ElidedLabel"]


class ElidedLabel(QLabel):
    """One line of plain text that never pushes its row apart and is never cut in mid-letter."""

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(parent)
        self._mode = mode
        self._hint = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self.setText(text)

    def setText(self, text: str) -> None:
        """Show a text; line breaks become spaces."""
        super().setText(" ".join(text.split()))
        self._update_tooltip()

    def set_hint(self, hint: str) -> None:
        """Set a tooltip that is shown below the whole text of a shortened label."""
        self._hint = hint
        self._update_tooltip()

    def is_elided(self) -> bool:
        """Tell whether the text is shortened at the present width."""
        return self.fontMetrics().horizontalAdvance(self.text()) > self._text_width()

    def minimumSizeHint(self) -> QSize:
        """Leave room for three letters and the ellipsis."""
        hint = super().sizeHint()
        shortest = self.fontMetrics().horizontalAdvance("WWW…") + hint.width() - self._natural()
        return QSize(min(hint.width(), shortest), hint.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show the whole text in the tooltip when it no longer fits."""
        super().resizeEvent(event)
        self._update_tooltip()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the frame of the style sheet, then as much of the text as fits."""
        painter = QPainter(self)
        option = QStyleOption()
        option.initFrom(self)
        self.style().drawPrimitive(QStyle.PrimitiveElement.PE_Widget, option, painter, self)
        shown = self.fontMetrics().elidedText(self.text(), self._mode, self._text_width())
        flags = QStyle.visualAlignment(self.layoutDirection(), self.alignment())
        self.style().drawItemText(
            painter,
            self.contentsRect(),
            int(flags) | int(Qt.TextFlag.TextSingleLine),
            self.palette(),
            self.isEnabled(),
            shown,
            self.foregroundRole(),
        )

    def _natural(self) -> int:
        return self.fontMetrics().horizontalAdvance(self.text())

    def _text_width(self) -> int:
        return self.contentsRect().width()

    def _update_tooltip(self) -> None:
        lines = [self.text()] if self.is_elided() else []
        if self._hint:
            lines.append(self._hint)
        self.setToolTip("\n".join(lines))

"""Says that the panel shows a recorded turn, and leads back to what is live."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal, Slot
from PySide6.QtGui import QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from inspector.widgets.palette import Painted, Palette
from inspector.widgets.wrapped import WrappedText

__all__ = ["RecordedBar"]


class RecordedBar(Painted):
    """A plate with a sentence and a button.

    Signals:
        live_requested(): back to what is live.
    """

    live_requested = Signal()

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(palette, parent)
        self.ground = "notice_fill"
        weight = QFont.Weight.DemiBold
        self.title = WrappedText(palette, self, size_px=12.5, token="accent", weight=weight)
        self.text = WrappedText(palette, self, token="dim")
        self.button = QPushButton(self.tr("Back to live"), self)
        self.button.setProperty("kind", "small")
        self.button.clicked.connect(self.live_requested)
        self._rows = QVBoxLayout(self)
        self._rows.addWidget(self.title)
        self._rows.addWidget(self.text)
        self._rows.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeading)
        self._space()
        self.hide()

    def show_record(self, title: str, text: str) -> None:
        """Show what is replayed; an empty title hides the bar."""
        self.title.show_text(title)
        self.text.show_text(text)
        self.setAccessibleName(title)
        self.setVisible(bool(title))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the plate."""
        theme = self.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.colour("notice_line"), 1))
        painter.setBrush(theme.colour("notice_fill"))
        radius = theme.px(9)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)

    def _space(self) -> None:
        theme = self.theme
        self._rows.setContentsMargins(theme.px(11), theme.px(9), theme.px(11), theme.px(9))
        self._rows.setSpacing(theme.px(6))

    @Slot()
    def _on_theme_changed(self) -> None:
        super()._on_theme_changed()
        self._space()

"""What stands in place of a list: a title, a sentence, and the button that helps."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.ui.downloads.views import MessageView
from app.ui.icons import pixmap
from app.ui.theme import ThemeManager

__all__ = ["MessagePanel"]


class MessagePanel(QWidget):
    """Signals:
    chosen(str): the key of the button that was pressed.
    """

    chosen = Signal(str)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._view = MessageView("")
        self._icon = QLabel(self)
        self._icon.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._title = QLabel(self)
        self._title.setProperty("kind", "heading")
        self._title.setWordWrap(True)
        self._title.setTextFormat(Qt.TextFormat.PlainText)
        self._title.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._text = QLabel(self)
        self._text.setProperty("kind", "dim")
        self._text.setWordWrap(True)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._text.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self._busy = QProgressBar(self)
        self._busy.setRange(0, 0)
        self._busy.setTextVisible(False)
        self._busy.setAccessibleName(self.tr("Waiting for an answer"))
        self.button = QPushButton(self)
        self.button.clicked.connect(self._on_clicked)
        self._column = QVBoxLayout(self)
        self._column.addStretch(2)
        for widget in (self._icon, self._title, self._text):
            self._column.addWidget(widget)
        for part in (self._busy, self.button):
            self._column.addWidget(part, 0, Qt.AlignmentFlag.AlignHCenter)
        self._column.addStretch(3)
        themes.changed.connect(self._apply_theme)
        self.say(self._view)

    @property
    def view(self) -> MessageView:
        """What is said."""
        return self._view

    def say(self, view: MessageView) -> None:
        """Say something else."""
        self._view = view
        self._title.setText(view.title)
        self._text.setText(view.text)
        self._text.setVisible(bool(view.text))
        self._busy.setVisible(view.busy)
        self.button.setText(view.label)
        self.button.setVisible(bool(view.label))
        self._apply_theme()

    @Slot()
    def _on_clicked(self) -> None:
        self.chosen.emit(self._view.choice)

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        side = theme.px(20)
        self._column.setContentsMargins(side, side, side, side)
        self._column.setSpacing(theme.px(10))
        self._busy.setFixedWidth(theme.px(200))
        self._icon.setPixmap(
            pixmap(
                self._view.icon,
                theme.css("faint"),
                theme.px(28),
                ratio=self.devicePixelRatioF(),
            )
        )

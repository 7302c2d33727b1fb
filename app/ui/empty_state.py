"""What stands in place of something that is not there: the same look on every page."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.ui.icons import IconKeeper, pixmap
from app.ui.theme import ThemeManager
from inspector.widgets.flow import FlowLayout

__all__ = ["EmptyState"]

_STEPS = 1000


class EmptyState(QWidget):
    """An icon, a title, a sentence, how far it is if something runs, and buttons that help."""

    def __init__(self, themes: ThemeManager, icon: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._icon_name = icon
        self._icon = QLabel(self)
        self._icon.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._title = QLabel(self)
        self._title.setProperty("kind", "heading")
        self._title.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._text = QLabel(self)
        self._text.setProperty("kind", "dim")
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._text.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        for label in (self._title, self._text):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        self._progress = QProgressBar(self)
        self._progress.setTextVisible(False)
        self._progress.hide()
        self._buttons = QWidget(self)
        self._flow = FlowLayout(self._buttons)
        self._buttons.hide()
        self._column = QVBoxLayout(self)
        self._column.addStretch(2)
        self._column.addWidget(self._icon)
        self._column.addWidget(self._title)
        for widget in (self._text, self._progress):
            # In a row with stretches: a centred widget would not be asked for its height.
            row = QHBoxLayout()
            row.addStretch(1)
            row.addWidget(widget, 100)
            row.addStretch(1)
            self._column.addLayout(row)
        self._column.addWidget(self._buttons, 0, Qt.AlignmentFlag.AlignHCenter)
        self._column.addStretch(3)
        themes.changed.connect(self._apply_look)
        self._apply_look()

    def say(self, title: str, text: str = "", icon: str = "") -> None:
        """Say what is not there, and in a sentence why or what helps."""
        self._title.setText(title)
        self._text.setText(text)
        self._text.setVisible(bool(text))
        if icon and icon != self._icon_name:
            self._icon_name = icon
            self._apply_look()

    def add_button(self, text: str, *, primary: bool = False, icon: str = "") -> QPushButton:
        """Add a button that helps; hiding it is for the caller."""
        button = QPushButton(text, self._buttons)
        if primary:
            button.setProperty("kind", "primary")
        if icon:
            IconKeeper(button, self._themes, icon, "dim", 15)
        self._flow.addWidget(button)
        self._buttons.show()
        return button

    def set_progress(self, share: float | None, *, busy: bool = False, name: str = "") -> None:
        """Show how far it is (0 to 1), with ``busy`` that nobody knows, or with None nothing."""
        self._progress.setVisible(busy or share is not None)
        self._progress.setAccessibleName(name)
        self._progress.setRange(0, 0 if busy else _STEPS)
        if share is not None:
            self._progress.setValue(round(min(max(share, 0.0), 1.0) * _STEPS))

    @Slot()
    def _apply_look(self) -> None:
        theme = self._themes.theme
        side = theme.px(24)
        self._column.setContentsMargins(side, side, side, side)
        self._column.setSpacing(theme.px(10))
        self._flow.setSpacing(theme.px(8))
        self._text.setMaximumWidth(theme.px(440))
        self._progress.setMaximumWidth(theme.px(240))
        ratio = self.devicePixelRatioF()
        self._icon.setPixmap(pixmap(self._icon_name, theme.css("faint"), theme.px(30), ratio=ratio))

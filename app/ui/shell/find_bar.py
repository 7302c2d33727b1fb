"""Find in the chat on screen: a field over the transcript's corner, how many places, and steps."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QToolButton, QWidget

from app.ui.icons import IconKeeper
from app.ui.shell.focus import hand_focus_on
from app.ui.theme import ThemeManager

__all__ = ["FindBar"]

_WIDTH_PX = 380
_FIELD_PX = 30


class FindBar(QFrame):
    """Enter goes to the next message, Shift+Enter to the one before, Esc closes.

    Signals:
        looked_for(str): the text has changed.
        stepped(int): the next (1) or the previous (-1) place is wanted.
        closed(): the bar has gone.
    """

    looked_for = Signal(str)
    stepped = Signal(int)
    closed = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("toast")
        self._themes = themes
        self._field = QLineEdit(self)
        self._field.setAccessibleName(self.tr("Find in this chat"))
        self._field.setPlaceholderText(self.tr("Find in this chat"))
        self._field.installEventFilter(self)
        self._field.textChanged.connect(self.looked_for)
        self._count = QLabel(self)
        self._count.setProperty("kind", "faint")
        self._before = self._button("chevron-up", self.tr("Previous place"))
        self._before.clicked.connect(lambda: self.stepped.emit(-1))
        self._after = self._button("chevron-down", self.tr("Next place"))
        self._after.clicked.connect(lambda: self.stepped.emit(1))
        self._cross = self._button("close", self.tr("Close"))
        self._cross.clicked.connect(self.close_bar)
        self._row = QHBoxLayout(self)
        self._row.addWidget(self._field, 1)
        for widget in (self._count, self._before, self._after, self._cross):
            self._row.addWidget(widget)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()
        self.set_count(0, 0)
        self.hide()

    @property
    def field(self) -> QLineEdit:
        """Where the text is typed."""
        return self._field

    def text(self) -> str:
        """Return what is looked for."""
        return self._field.text().strip()

    def count_text(self) -> str:
        """Return what is said of the places."""
        return self._count.text()

    def open_bar(self, text: str = "") -> None:
        """Come on screen with the text of before, or with a new one, ready to be typed over."""
        if text:
            self._field.setText(text)
        self.show()
        self.raise_()
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()
        self.looked_for.emit(self._field.text())

    @Slot()
    def close_bar(self) -> None:
        """Go, and give the keyboard back to what had it."""
        if self.isHidden():
            return
        hand_focus_on(self)
        self.hide()
        self.closed.emit()

    def set_count(self, at: int, among: int) -> None:
        """Say which of how many places is selected, counted from 1; 0 of 0 is none."""
        if among:
            text = self.tr("{0} of {1}").format(f"{at:,}", f"{among:,}")
        else:
            text = self.tr("not here") if self.text() else ""
        self._count.setText(text)
        for button in (self._before, self._after):
            button.setEnabled(among > 0)

    def place(self, left: int, right: int, top: int, *, is_mirrored: bool) -> None:
        """Stand in the upper far corner between two sides of the parent, in its pixels."""
        gap = self._themes.theme.px(12)
        width = min(self._themes.theme.px(_WIDTH_PX), max(right - left - 2 * gap, 1))
        x = left + gap if is_mirrored else right - gap - width
        self.setGeometry(x, top + gap, width, self.sizeHint().height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take Esc before it stops a reply, and Enter in both directions."""
        if watched is not self._field or not isinstance(event, QKeyEvent):
            return super().eventFilter(watched, event)
        key = event.key()
        if event.type() == QEvent.Type.ShortcutOverride and key == Qt.Key.Key_Escape:
            event.accept()
            return True
        if event.type() != QEvent.Type.KeyPress:
            return super().eventFilter(watched, event)
        if key == Qt.Key.Key_Escape:
            self.close_bar()
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            is_back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self.stepped.emit(-1 if is_back else 1)
        elif key in {Qt.Key.Key_Down, Qt.Key.Key_Up}:
            self.stepped.emit(1 if key == Qt.Key.Key_Down else -1)
        else:
            return False
        return True

    def _button(self, icon: str, name: str) -> QToolButton:
        button = QToolButton(self)
        button.setProperty("kind", "flat")
        button.setAccessibleName(name)
        button.setToolTip(name)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        IconKeeper(button, self._themes, icon, "dim", 13)
        return button

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self._field.setFixedHeight(theme.px(_FIELD_PX))
        side = theme.px(8)
        self._row.setContentsMargins(side, side, side, side)
        self._row.setSpacing(theme.px(4))

"""Says for some seconds what was done and offers to undo it; Ctrl+Z undoes it later, too."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAccessible, QAccessibleEvent, QEnterEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QPlainTextEdit, QPushButton, QWidget

from app.ui.elide import ElidedLabel
from app.ui.shell.focus import hand_focus_on, return_focus
from app.ui.theme import ThemeManager

__all__ = ["UndoKey", "UndoToast"]

_LEFT_MS: Final = 4000  # at least so long after the pointer or the keyboard has left it


class UndoToast(QFrame):
    """An offer on screen, and the offers before it, which Ctrl+Z takes from the newest on.

    Time stands still while the pointer or the keyboard is on it.

    Signals:
        undone(str): the token given to `offer`.
        expired(str): this can't be undone any more: the program ends, or too much was done since.
        available_changed(bool): there is something to undo, or no longer.
        dismissed(): it has left the screen.
    """

    undone = Signal(str)
    expired = Signal(str)
    available_changed = Signal(bool)
    dismissed = Signal()

    SHOWN_MS = 10_000
    MOST = 20

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("toast")
        self._themes = themes
        self._tokens: list[str] = []
        self._held: set[str] = set()  # by the pointer, by the keyboard
        # In the middle: what happened is said at the end, behind a title that may be long.
        self._text = ElidedLabel("", self, Qt.TextElideMode.ElideMiddle)
        self._undo = QPushButton(self.tr("Undo"), self)
        self._undo.setProperty("kind", "link")
        self._undo.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        keys = QKeySequence(QKeySequence.StandardKey.Undo)
        self._undo.setToolTip(keys.toString(QKeySequence.SequenceFormat.NativeText))
        self._undo.clicked.connect(self._on_undo)
        self._undo.installEventFilter(self)
        self._row = QHBoxLayout(self)
        self._row.addWidget(self._text, 1)
        self._row.addWidget(self._undo)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.dismiss)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()
        self.hide()

    @property
    def undo_button(self) -> QPushButton:
        """The button."""
        return self._undo

    @property
    def is_available(self) -> bool:
        """Tell whether there is something to undo."""
        return bool(self._tokens)

    def offer(self, text: str, token: str) -> None:
        """Say what was done and offer to undo it."""
        self._tokens.append(token)
        for old in self._tokens[: -self.MOST]:
            self.expired.emit(old)
        del self._tokens[: -self.MOST]
        self._text.setText(text)
        self._undo.setAccessibleName(self.tr("Undo: %1").replace("%1", text))
        self.setAccessibleName(text)
        self.show()
        self.raise_()
        if not self._held:
            self._timer.start(self.SHOWN_MS)
        QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))
        self.available_changed.emit(True)

    def place(self, width: int, bottom: int, gap: int) -> None:
        """Stand in the middle of a width, above a line, with a gap on both sides."""
        self.set_widest(width - 2 * gap)
        self.move((width - self.width()) // 2, bottom - self.height())
        self.raise_()

    def set_widest(self, width: int) -> None:
        """Take the size of the text, but at most a width in pixels."""
        wanted = self.sizeHint()
        self.resize(min(wanted.width(), width, self._themes.theme.px(460)), wanted.height())

    @Slot()
    def dismiss(self) -> None:
        """Take it off the screen; it can still be undone."""
        self._timer.stop()
        hand_focus_on(self)
        self.hide()
        self._held.clear()
        self.dismissed.emit()

    @Slot()
    def undo_last(self) -> None:
        """Undo what was done last and is not undone yet."""
        if not self._tokens:
            return
        token = self._tokens.pop()
        self.dismiss()
        self.undone.emit(token)
        self.available_changed.emit(bool(self._tokens))

    def forget_all(self) -> None:
        """End all offers, because the program ends."""
        self.dismiss()
        tokens, self._tokens = self._tokens, []
        for token in tokens:
            self.expired.emit(token)
        self.available_changed.emit(False)

    # --- Qt ---

    def enterEvent(self, event: QEnterEvent) -> None:
        """Stand still below the pointer."""
        super().enterEvent(event)
        self._hold("pointer", held=True)

    def leaveEvent(self, event: QEvent) -> None:
        """Go on."""
        super().leaveEvent(event)
        self._hold("pointer", held=False)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stand still while the keyboard is on the button."""
        if watched is self._undo and event.type() in {QEvent.Type.FocusIn, QEvent.Type.FocusOut}:
            self._hold("keyboard", held=event.type() == QEvent.Type.FocusIn)
        return super().eventFilter(watched, event)

    def _hold(self, what: str, *, held: bool) -> None:
        """Let time stand still, or go on when neither pointer nor keyboard is there any more."""
        (self._held.add if held else self._held.discard)(what)
        if self._held:
            self._timer.stop()
        elif self.isVisible():
            self._timer.start(_LEFT_MS)

    @Slot()
    def _on_undo(self) -> None:
        return_focus(self._undo)
        self.undo_last()

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self._row.setContentsMargins(theme.px(14), theme.px(8), theme.px(10), theme.px(8))
        self._row.setSpacing(theme.px(14))


class UndoKey(QObject):
    """Leaves Ctrl+Z to the window where a text field has nothing of its own to undo.

    Fields take the key even then. While an offer is on screen it goes first, until something is
    typed.
    """

    def __init__(self, toast: UndoToast, *fields: QPlainTextEdit | QLineEdit) -> None:
        super().__init__(toast)
        self._toast = toast
        for field in fields:
            field.installEventFilter(self)
            field.textChanged.connect(self._on_typed)
        self._is_first = False
        toast.available_changed.connect(self._on_available)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Pass the key by."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.matches(QKeySequence.StandardKey.Undo)
            and self._toast.is_available
            and ((self._is_first and self._toast.isVisible()) or not _has_own(watched))
        ):
            event.ignore()
            return True
        return super().eventFilter(watched, event)

    @Slot()
    def _on_typed(self) -> None:
        self._is_first = False

    @Slot(bool)
    def _on_available(self, available: bool) -> None:
        self._is_first = available


def _has_own(field: QObject) -> bool:
    """Tell whether a text field has something to undo itself."""
    if isinstance(field, QPlainTextEdit):
        return field.document().isUndoAvailable()
    return isinstance(field, QLineEdit) and field.isUndoAvailable()

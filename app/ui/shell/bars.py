"""Bars that say what happened or ask what to do: notices and overflow."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.icons import IconKeeper, pixmap
from app.ui.numbers import numbered
from app.ui.shell.focus import hand_focus_on, return_focus
from app.ui.shell.sentence_row import SentenceRow
from app.ui.shell.views import Choice, Notice, Overflow, Severity
from app.ui.theme import ThemeManager
from inspector.widgets.flow import FlowLayout

__all__ = ["Bar", "NoticeArea", "OverflowBar"]

_LOOK: dict[Severity, tuple[str, str]] = {
    "info": ("info", "accent"),
    "warning": ("warning", "warning"),
    "error": ("error", "danger"),
}


class Bar(QFrame):
    """A sentence with a sign, buttons, and details that unfold.

    Signals:
        chosen(str): key of the pressed choice.
        closed(): the cross was pressed.
        others_wanted(): the words of `set_others` were pressed.
    """

    chosen = Signal(str)
    closed = Signal()
    others_wanted = Signal()

    def __init__(
        self,
        themes: ThemeManager,
        severity: Severity,
        text: str,
        choices: tuple[Choice, ...] = (),
        *,
        details: str = "",
        closable: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("bar")
        self.setProperty("severity", severity)
        self._themes = themes
        self._severity = severity
        self._sign = QLabel(self)
        self._text = QLabel(text, self)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        wide = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        wide.setHeightForWidth(True)
        self._text.setSizePolicy(wide)
        self.setAccessibleName(text)

        self._top = QHBoxLayout()
        self._top.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        # After the buttons or below the sentence, which needs the width in a narrow window.
        self._has_buttons = bool(choices) or bool(details)
        self._others = self._make_others()
        self._row = SentenceRow(self._text, None if self._has_buttons else self._others)
        self._top.addLayout(self._row, 1)
        self._buttons = QWidget(self)
        flow = FlowLayout(self._buttons)
        for choice in choices:
            flow.addWidget(self._button(choice))
        self._details = QPlainTextEdit(details, self)
        self._details.setReadOnly(True)
        self._details.setAccessibleName(self.tr("Details"))
        self._details.hide()
        self._unfold = QPushButton(self.tr("Details"), self._buttons)
        self._unfold.setProperty("kind", "flat")
        self._unfold.setCheckable(True)
        self._unfold.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._unfold.clicked.connect(lambda: return_focus(self._unfold))
        self._unfold.toggled.connect(self._show_details)
        flow.addWidget(self._unfold)
        self._unfold.setVisible(bool(details))
        if self._has_buttons:
            flow.addWidget(self._others)
        self._buttons.setVisible(self._has_buttons)
        if closable:
            cross = QToolButton(self)
            cross.setProperty("kind", "flat")
            cross.setAccessibleName(self.tr("Close this notice"))
            cross.setToolTip(self.tr("Close"))
            IconKeeper(cross, themes, "close", "dim", 13)
            cross.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            cross.clicked.connect(lambda: return_focus(cross))
            cross.clicked.connect(self.closed)
            self._top.addWidget(cross, 0, Qt.AlignmentFlag.AlignTop)
        self._column = QVBoxLayout(self)
        self._column.addLayout(self._top)
        self._column.addWidget(self._buttons)
        self._column.addWidget(self._details)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()

    @property
    def text(self) -> str:
        """The sentence."""
        return self._text.text()

    @property
    def others(self) -> str:
        """The words of the way to other notices, empty where there is none."""
        return self._others.text()

    def set_others(self, words: str) -> None:
        """Offer a way to other notices, or with no words none."""
        if not words:
            hand_focus_on(self._others)
        self._others.setText(words)
        said = self.tr("Other notices: {0}").format(words) if words else self.tr("Other notices")
        self._others.setAccessibleName(said)
        self._others.setVisible(bool(words))

    def buttons(self) -> list[QPushButton]:
        """Return the buttons of the choices, in order."""
        return [
            button
            for button in self._buttons.findChildren(QPushButton)
            if button not in {self._unfold, self._others}
        ]

    def _make_others(self) -> QPushButton:
        button = QPushButton(self)
        button.setProperty("kind", "flat")
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setToolTip(self.tr("There are other notices"))
        button.setAccessibleName(self.tr("Other notices"))
        # First: what is pressed may hide.
        button.clicked.connect(lambda: return_focus(button))
        button.clicked.connect(self.others_wanted)
        button.hide()
        return button

    @Slot(bool)
    def _show_details(self, shown: bool) -> None:
        """Unfold the details at their end: the last lines of a log tell why something ended."""
        self._details.setVisible(shown)
        self._details.moveCursor(QTextCursor.MoveOperation.End)
        self._details.ensureCursorVisible()

    def _button(self, choice: Choice) -> QPushButton:
        button = QPushButton(choice.text, self._buttons)
        button.setProperty("kind", "small")
        if choice.kind != "normal":
            button.setProperty("look", choice.kind)
        button.setToolTip(choice.tooltip)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        # First, since what is chosen may open a dialog that takes the focus.
        button.clicked.connect(lambda: return_focus(button))
        button.clicked.connect(lambda _checked=False, key=choice.key: self.chosen.emit(key))
        return button

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        name, token = _LOOK[self._severity]
        ratio = self.devicePixelRatioF()
        self._sign.setPixmap(pixmap(name, theme.css(token), theme.px(16), ratio=ratio))
        self._sign.setContentsMargins(0, theme.px(2), 0, 0)
        self._top.setSpacing(theme.px(9))
        self._row.setSpacing(theme.px(9))
        self._column.setSpacing(theme.px(7))
        self._column.setContentsMargins(theme.px(11), theme.px(8), theme.px(9), theme.px(8))
        self._buttons.setContentsMargins(theme.px(25), 0, 0, 0)
        self._details.setFont(theme.font(11.5, code=True))
        self._details.setFixedHeight(theme.px(130))


# What stands in front; a sentence that passes was asked for a moment ago.
_RANKS: dict[Severity, int] = {"error": 2, "warning": 1, "info": 0}


class NoticeArea(QWidget):
    """Notices above the transcript: one, and a way to the others; the oldest give way.

    In front stands what is worst or passes, of these the newest: three bars, one above the other,
    would take the room of the conversation, and nobody would read them all. One that the pointer
    or the keyboard is on stays in front. Those that pass go after `PASSING_MS`, later while the
    pointer or the keyboard is on them.

    Signals:
        chosen(str, str): key of the notice and of the pressed choice.
        closed(str): key of a notice that was closed.
        shown_changed(bool): there are notices, or no longer.
    """

    chosen = Signal(str, str)
    closed = Signal(str)
    shown_changed = Signal(bool)

    MOST = 3
    PASSING_MS = 10_000

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._bars: dict[str, Bar] = {}
        self._passing: set[str] = set()  # keys of those that go by themselves
        self._severities: dict[str, Severity] = {}
        self._is_unfolded = False
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)

    def show_notice(self, notice: Notice) -> None:
        """Show a notice; one of the same key is replaced."""
        self._remove(notice.key)
        bar = Bar(
            self._themes,
            notice.severity,
            notice.text,
            notice.choices,
            details=notice.details,
            closable=notice.closable,
            parent=self,
        )
        bar.chosen.connect(lambda choice, key=notice.key: self.chosen.emit(key, choice))
        bar.closed.connect(lambda key=notice.key: self._close(key))
        bar.others_wanted.connect(self._toggle)
        self._bars[notice.key] = bar
        self._severities[notice.key] = notice.severity
        if notice.passing:
            timer = QTimer(bar)
            timer.timeout.connect(lambda key=notice.key: self._pass(key))
            timer.start(self.PASSING_MS)
            self._passing.add(notice.key)
        self._column.addWidget(bar)
        while len(self._bars) > self.MOST:
            self._remove(next(iter(self._bars)))
        self._arrange()
        self.shown_changed.emit(True)

    def remove_notice(self, key: str) -> None:
        """Take a notice away, if it is there."""
        self._remove(key)
        self._arrange()
        self.shown_changed.emit(bool(self._bars))

    def clear(self) -> None:
        """Take all notices away."""
        for key in list(self._bars):
            self.remove_notice(key)

    def clear_passing(self) -> None:
        """Take away what goes by itself: another chat is shown."""
        for key in list(self._passing):
            self.remove_notice(key)

    def notices(self) -> list[str]:
        """Return the keys of the notices, also of those behind the front one, oldest first."""
        return list(self._bars)

    @property
    def front(self) -> str:
        """Key of the notice in front, empty where there is none."""
        return next(iter(self._ordered()), "")

    def bar(self, key: str) -> Bar:
        """Return the bar of a notice.

        Raises:
            KeyError: there is no such notice.
        """
        return self._bars[key]

    @Slot()
    def _toggle(self) -> None:
        """Show the other notices, or the front one alone again."""
        self._is_unfolded = not self._is_unfolded
        self._arrange()

    def _ordered(self) -> list[str]:
        """Return the keys, that of the notice in front first."""
        ages = {key: age for age, key in enumerate(self._bars)}

        def place(key: str) -> tuple[bool, int, int]:
            rank = 2 if key in self._passing else _RANKS[self._severities[key]]
            return _is_attended(self._bars[key]), rank, ages[key]

        return sorted(self._bars, key=place, reverse=True)

    def _arrange(self) -> None:
        """Put the notices in order, and show the first or all."""
        self._is_unfolded = self._is_unfolded and len(self._bars) > 1
        words = numbered(len(self._bars) - 1, self.tr("1 more"), self.tr("%n more"))
        for place, key in enumerate(self._ordered()):
            bar = self._bars[key]
            if self._column.indexOf(bar) != place:
                self._column.removeWidget(bar)
                self._column.insertWidget(place, bar)
            if place > 0 or len(self._bars) == 1:
                bar.set_others("")
            else:
                bar.set_others(self.tr("Show less") if self._is_unfolded else words)
            bar.setVisible(place == 0 or self._is_unfolded)

    def _close(self, key: str) -> None:
        self.remove_notice(key)
        self.closed.emit(key)

    def _pass(self, key: str) -> None:
        if not _is_attended(self._bars[key]):
            self.remove_notice(key)

    def _remove(self, key: str) -> None:
        self._passing.discard(key)
        self._severities.pop(key, None)
        bar = self._bars.pop(key, None)
        if bar is not None:
            hand_focus_on(bar)
            self._column.removeWidget(bar)
            bar.hide()
            for timer in bar.findChildren(QTimer):
                timer.stop()  # it is of this notice, not of one that has its key next
            bar.deleteLater()


def _is_attended(bar: Bar) -> bool:
    """Tell whether the pointer or the keyboard is on a bar."""
    focus = QApplication.focusWidget()
    return bar.underMouse() or (focus is not None and bar.isAncestorOf(focus))


class OverflowBar(QWidget):
    """Above the composer: what would not fit, and the choices.

    Signals:
        chosen(str): key of the pressed choice.
        shown_changed(bool): there is something to say, or no longer.
    """

    chosen = Signal(str)
    shown_changed = Signal(bool)

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._overflow: Overflow | None = None
        self._bar: Bar | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)

    @property
    def bar(self) -> Bar | None:
        """The bar on screen."""
        return self._bar

    def set_overflow(self, overflow: Overflow | None) -> None:
        """Show what would not fit, or with None nothing."""
        if overflow == self._overflow:
            return
        self._overflow = overflow
        if self._bar is not None:
            hand_focus_on(self._bar)
            self._column.removeWidget(self._bar)
            self._bar.hide()
            self._bar.deleteLater()
            self._bar = None
        if overflow is not None:
            self._bar = Bar(
                self._themes, overflow.severity, overflow.text, overflow.choices, parent=self
            )
            self._bar.chosen.connect(self.chosen)
            self._column.addWidget(self._bar)
        self.shown_changed.emit(overflow is not None)

"""The foot of the list: what is chosen, and what can be done with it."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QToolButton, QWidget

from app.ui.elide import ElidedLabel
from app.ui.icons import IconKeeper
from app.ui.theme import ThemeManager

__all__ = ["ActionBar", "Offered"]

_WORDS_PX = 110  # enough to tell what is chosen


@dataclass(frozen=True, slots=True)
class Offered:
    """What can be done with what is chosen. ``words`` names it; ``compare`` counts variants."""

    words: str = ""
    chat: bool = False
    details: bool = False
    plan: bool = False
    make: bool = False
    compare: int = 0
    more: bool = False


class ActionBar(QWidget):
    """What is chosen, in words, and buttons for what can be done with it.

    Signals:
        chosen(str): ``chat``, ``details``, ``plan``, ``make`` or ``compare``.
        more_requested(): the menu with the rest is wanted at `more`.
    """

    chosen = Signal(str)
    more_requested = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._words = ElidedLabel("", self)
        self._words.setProperty("kind", "dim")
        self.chat = self._button("chat", self.tr("Chat with it"), primary=True)
        self.details = self._button("details", self.tr("Details"))
        self.plan = self._button("plan", self.tr("Plan"))
        self.make = self._button("make", self.tr("Make a variant…"))
        self.compare = self._button("compare", self.tr("Compare"))
        self.more = QToolButton(self)
        self.more.setProperty("kind", "flat")
        self.more.setToolTip(self.tr("More: show the file, remove, move to the trash"))
        self.more.setAccessibleName(self.tr("More"))
        IconKeeper(self.more, themes, "more", "dim", 16)
        self.more.clicked.connect(self.more_requested)
        self._row = QHBoxLayout(self)
        self._row.addWidget(self._words, 1)
        self._row.addStretch(0)
        for button in (self.details, self.plan, self.make, self.compare, self.chat, self.more):
            self._row.addWidget(button)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()
        self.offer(Offered())

    def offer(self, offered: Offered) -> None:
        """Enable what can be done."""
        hint = self.tr("Choose a variant; with Ctrl or Shift several to compare.")
        self._words.setText(offered.words or hint)
        self._words.set_short("" if offered.words else self.tr("Choose a variant"))
        self.chat.setEnabled(offered.chat)
        self.details.setEnabled(offered.details)
        self.plan.setEnabled(offered.plan)
        self.make.setEnabled(offered.make)
        count = offered.compare
        self.compare.setEnabled(2 <= count <= 6)
        text = self.tr("Compare %1").replace("%1", str(count)) if count >= 2 else self.tr("Compare")
        self.compare.setText(text)
        self.compare.setToolTip(
            self.tr("At most 6 variants can be compared")
            if count > 6
            else self.tr("Choose 2 to 6 variants to compare them")
        )
        self.more.setEnabled(offered.more)
        self._fit()

    def _button(self, key: str, text: str, *, primary: bool = False) -> QPushButton:
        button = QPushButton(text, self)
        if primary:
            button.setProperty("kind", "primary")
        button.clicked.connect(lambda _checked=False: self.chosen.emit(key))
        return button

    def minimumSizeHint(self) -> QSize:
        """Allow any width: what has no room is in the menu, too."""
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show the buttons that have room."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        margins, gap = self._row.contentsMargins(), self._row.spacing()
        room = self.width() - margins.left() - margins.right()
        kept = sum(b.sizeHint().width() + gap for b in (self.more, self.chat))
        self._words.setVisible(room - kept >= self._words.minimumSizeHint().width())
        room -= self._themes.theme.px(_WORDS_PX) + gap
        # The first of these is what is left out last.
        for button in (self.more, self.chat, self.compare, self.make, self.plan, self.details):
            button.ensurePolished()
            room -= max(button.sizeHint().width(), button.minimumWidth()) + gap
            button.setVisible(room >= 0 or button in {self.more, self.chat})

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self._row.setContentsMargins(theme.px(14), theme.px(10), theme.px(12), theme.px(10))
        self._row.setSpacing(theme.px(8))
        for button in (self.details, self.plan, self.make, self.compare, self.chat):
            button.setFixedHeight(theme.px(32))
        self.more.setFixedSize(theme.px(32), theme.px(32))
        self._fit()

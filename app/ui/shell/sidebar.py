"""The left column: new chat, search, conversations, and the other pages."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QBoxLayout,
    QFrame,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QSpacerItem,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.ui.icons import IconKeeper
from app.ui.look import set_look
from app.ui.shell.chat_list import ChatList
from app.ui.shell.search_results import SearchResults
from app.ui.shell.views import ChatEntry, SearchHit
from app.ui.tasks import Throttle
from app.ui.theme import ThemeManager

__all__ = ["Sidebar"]

_SEARCH_EVERY_MS = 120
_HEAD_PX = 112  # new chat, search and the gaps around them
_LEAST_LIST_PX = 110  # a heading and two conversations


class Sidebar(QFrame):
    """Signals of the conversations are those of `chats` (a `ChatList`).

    Signals:
        new_chat_requested()
        search_changed(str): what to look for, at most every 120 ms; empty ends the search.
        hit_selected(str, str): key of the chat and of the message (empty: the title matched).
        page_requested(str): key of a page.
        settings_requested()
    """

    new_chat_requested = Signal()
    search_changed = Signal(str)
    hit_selected = Signal(str, str)
    page_requested = Signal(str)
    settings_requested = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sidebar")
        self._themes = themes
        self._pages: dict[str, QPushButton] = {}

        self._new = QPushButton(self.tr("New chat"), self)
        self._new.setProperty("kind", "primary")
        self._new.clicked.connect(self.new_chat_requested)
        self._search = QLineEdit(self)
        self._search.setAccessibleName(self.tr("Search all chats"))
        self._search.setClearButtonEnabled(False)
        self._search.installEventFilter(self)
        self._throttle: Throttle[[str]] = Throttle(_SEARCH_EVERY_MS, self.search_changed.emit, self)
        self._search.textChanged.connect(self._on_search_text)

        self.chats = ChatList(themes, self)
        self.results = SearchResults(themes, self)
        self.results.hit_selected.connect(self.hit_selected)
        self._nothing = QLabel(self)
        self._nothing.setProperty("kind", "faint")
        self._nothing.setWordWrap(True)
        self._nothing.setTextFormat(Qt.TextFormat.PlainText)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._stack = QStackedWidget(self)
        for widget in (self.chats, self.results, self._nothing):
            self._stack.addWidget(widget)

        self._stack.setMinimumHeight(1)  # on a low window the list gives way, not the buttons

        self._footer = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._settings = self._nav(self.tr("Settings"), "settings")
        self._settings.clicked.connect(self.settings_requested)
        self._footer.addWidget(self._settings)
        self._column = QVBoxLayout(self)
        self._column.addWidget(self._new)
        self._gap = QSpacerItem(0, 0)
        self._column.addItem(self._gap)
        self._column.addWidget(self._search)
        self._list_gap = QSpacerItem(0, 0)
        self._column.addItem(self._list_gap)
        self._column.addWidget(self._stack, 1)
        self._rule = self._make_rule()
        self._column.addWidget(self._rule)
        self._column.addLayout(self._footer)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()
        self.set_hints("", "")

    # --- conversations ---

    def set_chats(self, entries: Iterable[ChatEntry], today: date | None = None) -> None:
        """Show conversations; ``today`` is the local day unless a test names one."""
        self.chats.set_entries(entries, today)

    def set_current(self, key: str | None) -> None:
        """Mark the conversation on screen; nothing is emitted."""
        self.chats.set_open(key or "")

    def rename(self, key: str) -> None:
        """Edit a conversation's title in place."""
        self.clear_search()
        self.chats.rename(key)

    # --- search ---

    def search_text(self) -> str:
        """Return what is looked for."""
        return self._search.text().strip()

    def set_results(self, query: str, hits: tuple[SearchHit, ...]) -> None:
        """Show what was found for a query; results of an older query are ignored."""
        if query.strip() != self.search_text() or not query.strip():
            return
        self.results.set_hits(hits)
        if hits:
            self._stack.setCurrentWidget(self.results)
        else:
            self._nothing.setText(self.tr("No chat contains “%1”.").replace("%1", query.strip()))
            self._stack.setCurrentWidget(self._nothing)

    @Slot()
    def focus_search(self) -> None:
        """Go to the search field."""
        self._search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._search.selectAll()

    @Slot()
    def clear_search(self) -> None:
        """Show the conversations again."""
        self._search.clear()

    # --- pages ---

    def add_page(self, key: str, title: str, icon: str) -> None:
        """Offer a page below the conversations."""
        button = self._nav(title, icon)
        button.setCheckable(True)
        button.clicked.connect(lambda _checked=False: self._on_page(key))
        self._footer.insertWidget(self._footer.count() - 1, button)
        button.setFixedHeight(self._themes.theme.px(32))
        self._pages[key] = button
        self._fit_footer()

    def set_page(self, key: str) -> None:
        """Mark the page on screen."""
        for name, button in self._pages.items():
            button.setChecked(name == key)

    def set_hints(self, new_chat: str, search: str) -> None:
        """Name the shortcuts of New chat and of the search."""
        self._new.setToolTip(new_chat)
        text = self.tr("Search chats")
        self._search.setPlaceholderText(f"{text}  {search}" if search else text)

    # --- inner ---

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the conversations room on a low window."""
        super().resizeEvent(event)
        self._fit_footer()

    def _fit_footer(self) -> None:
        """Set the pages in a row of icons where their rows would leave no room for the chats."""
        theme = self._themes.theme
        buttons = (*self._pages.values(), self._settings)
        rows = (theme.px(32) + self._footer.spacing()) * len(buttons)
        rest = self.height() - theme.px(_HEAD_PX)
        low = rest - rows < theme.px(_LEAST_LIST_PX)
        ways = QBoxLayout.Direction
        self._footer.setDirection(ways.LeftToRight if low else ways.TopToBottom)
        for button in buttons:
            words = button.accessibleName()
            button.setText("" if low else words)
            button.setToolTip(words if low else "")
            set_look(button, "centred", low)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move through what was found from within the search field; Esc ends the search."""
        if watched is not self._search:
            return super().eventFilter(watched, event)
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            # Esc also stops a reply; in a search that has begun it ends the search.
            if event.key() == Qt.Key.Key_Escape and self._search.text():
                event.accept()
                return True
        elif event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._on_search_key(event)
        return super().eventFilter(watched, event)

    def _on_search_key(self, event: QKeyEvent) -> bool:
        key = event.key()
        found = self._stack.currentWidget() is self.results
        if key == Qt.Key.Key_Escape and self._search.text():
            self._search.clear()
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and found:
            self.results.open_current()
        elif key in {Qt.Key.Key_Down, Qt.Key.Key_Up}:
            step = 1 if key == Qt.Key.Key_Down else -1
            if found:
                self.results.step(step)
            elif step > 0:
                self.chats.setFocus(Qt.FocusReason.TabFocusReason)
        elif key in {Qt.Key.Key_PageDown, Qt.Key.Key_PageUp} and found:
            self.results.step(8 if key == Qt.Key.Key_PageDown else -8)
        else:
            return False
        return True

    @Slot(str)
    def _on_search_text(self, text: str) -> None:
        if not text.strip():
            self._throttle.cancel()
            self._stack.setCurrentWidget(self.chats)
            self.search_changed.emit("")
            return
        self._throttle.call(text.strip())

    def _on_page(self, key: str) -> None:
        self.set_page(key)
        self.page_requested.emit(key)

    def _make_rule(self) -> QFrame:
        """Return the line that a list which goes on below its end is cut off by.

        Without it the last row in sight seems to be the first of the pages.
        """
        rule = QFrame(self)
        rule.setObjectName("rule")
        rule.setFixedHeight(1)
        policy = rule.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        rule.setSizePolicy(policy)
        for shown in (self.chats, self.results):
            shown.verticalScrollBar().rangeChanged.connect(self._show_rule)
        self._stack.currentChanged.connect(self._show_rule)
        rule.hide()
        return rule

    @Slot()
    def _show_rule(self) -> None:
        shown = self._stack.currentWidget()
        goes_on = isinstance(shown, QAbstractScrollArea) and shown.verticalScrollBar().maximum() > 0
        self._rule.setVisible(goes_on)

    def _nav(self, text: str, icon: str) -> QPushButton:
        button = QPushButton(text, self)
        button.setAccessibleName(text)  # also where only its icon has room
        button.setProperty("kind", "nav")
        IconKeeper(button, self._themes, icon, "dim", 16)
        return button

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self.setFixedWidth(min(theme.px(236), 420))
        side = theme.px(10)
        self._column.setContentsMargins(side, side, side, side)
        self._column.setSpacing(0)
        self._new.setFixedHeight(theme.px(34))
        self._search.setFixedHeight(theme.px(34))
        self._gap.changeSize(0, theme.px(10))
        self._list_gap.changeSize(0, theme.px(8))
        self._column.invalidate()
        self._footer.setContentsMargins(0, theme.px(6), 0, 0)
        self._footer.setSpacing(theme.px(2))
        for button in (self._settings, *self._pages.values()):
            button.setFixedHeight(theme.px(32))
        self._fit_footer()
        self._nothing.setContentsMargins(theme.px(8), theme.px(8), theme.px(8), 0)

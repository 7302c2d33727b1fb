"""Trouble of the store in the window: a full disk is told, and tried again until it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer, Slot

from app.ui.main_window import MainWindow
from app.ui.shell.views import Choice, Notice, Severity
from app.ui.store_bridge import StoreBridge

if TYPE_CHECKING:
    from app.data.database import StoreNotice

__all__ = ["StorePresenter"]

_RETRY_MS: Final = 5000
_NOTICE: Final = "store"
_KEPT_IN_MEMORY: Final = frozenset({"full", "read_only", "unreadable"})


class StorePresenter(QObject):
    """Says when chats can't be stored, and when they can again."""

    def __init__(
        self, store: StoreBridge, window: MainWindow, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._notices = window.chat.notices
        self._in_use = ""  # says that another program writes the chats
        self._again = QTimer(self)
        self._again.setInterval(_RETRY_MS)
        self._again.timeout.connect(self.retry)
        store.notice_changed.connect(self._on_notice)
        store.unavailable.connect(self._on_trouble)
        self._notices.chosen.connect(self._on_choice)

    @Slot()
    def retry(self) -> None:
        """Try to write what is kept in memory."""
        self._store.do(lambda store: store.retry())

    def close(self) -> None:
        """Try no more, at the end of the program."""
        self._again.stop()

    @Slot(object)
    def _on_notice(self, notice: StoreNotice | None) -> None:
        in_use = notice is not None and notice.kind == "in_use"
        self._in_use = notice.sentence if notice is not None and in_use else ""
        if notice is None:
            self._again.stop()
            self._notices.remove_notice(_NOTICE)
            self._say("store-back", self.tr("Chats are stored again."), "info")
        elif notice.kind in _KEPT_IN_MEMORY:
            self._on_trouble(notice.sentence)
            self._again.start()
        else:
            self._say(_NOTICE, notice.sentence, "warning")

    @Slot(str)
    def _on_trouble(self, sentence: str) -> None:
        if self._in_use:  # said already; trying again helps no more than it did
            way_on = self.tr("To write, close it and start this one again.")
            self._say(_NOTICE, f"{self._in_use} {way_on}", "error")
            return
        self._notices.show_notice(
            Notice(_NOTICE, sentence, "error", "", (Choice("retry", self.tr("Try again")),))
        )

    @Slot(str, str)
    def _on_choice(self, notice: str, choice: str) -> None:
        if notice == _NOTICE and choice == "retry":
            self.retry()

    def _say(self, key: str, sentence: str, severity: Severity) -> None:
        self._notices.show_notice(Notice(key, sentence, severity))

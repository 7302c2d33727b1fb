"""What of the chat on screen outlives the window: which one it is, and the draft that is written.

A start opens the chat again that was on screen last. The window takes keys before it is there, so
what is typed until then is meant for it, and goes on with the draft that it has.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Slot

from app.data.state import StateFile
from app.ui.chat_controller import ChatController
from app.ui.main_window import MainWindow
from app.ui.store_bridge import StoreBridge

if TYPE_CHECKING:
    from app.data.conversations import ConversationStore
    from app.data.records import Conversation

__all__ = ["ChatKeeper"]

log = logging.getLogger(__name__)

_DRAFT_MS = 1000
_DRAFT_LATEST_S = 3.0
_NEW_DRAFT = "new-draft"  # of a chat that is not stored yet


def _keep(store: ConversationStore, conversation_id: str, draft: str) -> None:
    """Store a draft, unless it is what the store has; the window's own copy may be an old one."""
    chat = store.get(conversation_id)
    if chat is not None and chat.draft != draft and not store.read_only:
        store.update(conversation_id, draft=draft)


def _add(store: ConversationStore, conversation_id: str, typed: str) -> None:
    chat = store.get(conversation_id)
    if chat is not None:
        _keep(store, conversation_id, chat.draft + typed)


class ChatKeeper(QObject):
    """Keeps both while the window is used. The files of a draft are kept by `DraftFiles`."""

    def __init__(
        self,
        store: StoreBridge,
        controller: ChatController,
        window: MainWindow,
        state: StateFile,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._controller = controller
        self._composer = window.chat.composer
        self._state = state
        self._last = state.last_chat  # as it is remembered for the next start
        self._opening: str | None = None  # the chat that this start is to bring on screen
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_DRAFT_MS)
        self._timer.timeout.connect(self.keep_draft)
        self._since_s: float | None = None  # what is typed since then is not kept yet
        self._composer.draft_changed.connect(self._on_draft)
        controller.asker.asked.connect(self._on_asked)
        controller.conversation_changed.connect(self._on_conversation)

    # --- the chat that was on screen last ---

    def at_start(self, *, reopens: bool) -> tuple[str, str | None]:
        """Return a new chat's draft, and the chat to open (with `open_last`), None for a new one.

        Args:
            reopens: this start opens the chat again that was on screen last. Who opens a model
                begins anew with it.
        """
        self._opening = self._last if reopens else None
        draft = self._state.blob(_NEW_DRAFT) or b""
        return draft.decode("utf-8", "replace"), self._opening

    @property
    def is_opening(self) -> bool:
        """Tell whether the chat that was on screen last is still to come."""
        return self._opening is not None

    @Slot()
    def open_last(self) -> None:
        """Open the expected chat, unless another one was asked for or it is there no more."""
        key = self._opening
        if key is None:
            return

        def found(chat: Conversation | None) -> None:
            if self._opening != key:
                return
            if chat is None or chat.deleted_ms is not None:
                self._controller.new_chat()
            else:
                self._controller.open(key)

        def failed(error: Exception) -> None:
            log.error("the last chat can't be read: %r", error)
            found(None)

        self._store.do(lambda store: store.get(key), found, failed)

    def forget_last(self) -> None:
        """The user was faster than the start, and asked for another chat."""
        self._opening = None

    @Slot(object)
    def _on_conversation(self, conversation: Conversation | None) -> None:
        self._opening = None
        key = None if conversation is None else conversation.id
        if key != self._last:
            self._last, state = key, self._state
            # Not here: the file is flushed to the disk, and the window waits for none.
            self._store.do(lambda _store: state.set_last_chat(key))

    # --- the draft ---

    @Slot()
    def _on_draft(self) -> None:
        now_s = time.monotonic()
        if self._since_s is None:
            self._since_s = now_s
        # Who types without a pause is not to lose all of it.
        if now_s - self._since_s < _DRAFT_LATEST_S or not self._timer.isActive():
            self._timer.start()

    @Slot()
    def keep_draft(self) -> None:
        """Store the draft on screen: a second after the last key, at the latest four after the
        first, and before another chat comes on screen.
        """
        if self._opening is not None:
            return  # it goes on with what that chat has, and is told as changed then
        self._since_s = None
        here, draft = self._controller.conversation, self._composer.text()
        if here is None:
            self._keep_new_draft(draft)
        else:
            self._store.do(lambda store: _keep(store, here.id, draft))

    def close(self) -> None:
        """Store the draft before the window closes, be its chat there already or not."""
        key, typed = self._opening, self._composer.text()
        if key is None:
            self.keep_draft()
        elif typed:
            self._store.do(lambda store: _add(store, key, typed))

    def _keep_new_draft(self, draft: str) -> None:
        kept = draft.encode("utf-8", "replace")
        if kept != (self._state.blob(_NEW_DRAFT) or b""):
            self._state.set_blob(_NEW_DRAFT, kept)

    @Slot(object, object)
    def _on_asked(self, _opened: object, shown: str | None) -> None:
        if shown is None:  # it is a chat now: the next start must not offer its message again
            self._keep_new_draft("")

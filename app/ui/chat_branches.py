"""What is done to messages that stand: another version shown, one deleted, and both taken back.

Nothing is erased: a deleted message is hidden, and a branch that was left can be shown again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.data.records import Deletion, Message
from app.ui.chat_state import Opened
from app.ui.reply_runner import FinishedReply, ReplyRunner
from app.ui.store_bridge import StoreBridge

if TYPE_CHECKING:
    from app.data.conversations import ConversationStore

__all__ = ["ChatBranches"]


class ChatBranches(QObject):
    """Changes which messages of the chat on screen are shown.

    Signals:
        changed(str conversation_id): it is to be read again, if it is on screen.
        refused(str): a sentence: why something can't be done now.
        message_deleted(Deletion): can be undone.
        branch_left(str conversation_id, str leaf_id, BranchedBy): another branch is shown now; the
            one that ended with this message can be shown again.
    """

    changed = Signal(str)
    refused = Signal(str)
    message_deleted = Signal(object)
    branch_left = Signal(str, str, str)

    def __init__(
        self,
        store: StoreBridge,
        runner: ReplyRunner,
        opened: Callable[[], Opened | None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._runner = runner
        self._opened = opened
        self._taken_back: tuple[str, ...] = ()  # replies that are being stopped
        runner.finished.connect(self._on_finished)

    def switch(self, message_id: str, step: int) -> None:
        """Show the version so many places after a message's own, if there is one."""
        opened = self._opened()
        siblings = None if opened is None else opened.forks.get(message_id)
        if opened is None or siblings is None:
            return
        chat_id = opened.conversation.id
        is_written = self._runner.conversation_id == chat_id
        if is_written and message_id not in self._runner.message_ids:
            self.refused.emit(self.tr("Stop the reply before changing to another version."))
            return
        index = siblings.index + step
        if 0 <= index < siblings.count:
            self._show_branch(chat_id, siblings.ids[index])

    def edit_reply(self, message: Message, text: str) -> None:
        """Put a version beside a reply that a person wrote."""

        def work(store: ConversationStore) -> str | None:
            chat = store.get(message.conversation_id)
            store.edit(message.id, text)
            return None if chat is None else chat.leaf_id

        def done(leaf: str | None) -> None:
            self.changed.emit(message.conversation_id)
            if leaf is not None:
                self.branch_left.emit(message.conversation_id, leaf, "edit")

        self._store.do(work, done)

    def delete(self, message_id: str) -> None:
        """Hide a message; what followed it follows what came before."""
        if message_id in self._runner.message_ids:
            self._runner.stop()
            self.refused.emit(self.tr("The reply was stopped; delete it once more to remove it."))
            return

        def done(deletion: Deletion) -> None:
            self.changed.emit(deletion.conversation_id)
            self.message_deleted.emit(deletion)

        self._store.do(lambda store: store.delete_message(message_id), done)

    def undo_delete(self, deletion: Deletion) -> None:
        """Bring a deleted message back."""
        self._store.do(
            lambda store: store.undo_delete_message(deletion),
            lambda _: self.changed.emit(deletion.conversation_id),
        )

    def show_again(self, conversation_id: str, leaf_id: str) -> None:
        """Show a branch again that was left; the one that is shown now stays beside it.

        A reply that never got a word does not: there is nothing in it to go back to.
        """
        opened = self._opened()
        taken_back: tuple[str, ...] = ()
        if self._runner.conversation_id == conversation_id:
            self._taken_back = self._runner.message_ids
            self._runner.stop()
        elif opened is not None and opened.conversation.id == conversation_id:
            taken_back = tuple(last.id for last in opened.path[-1:] if last.id != leaf_id)
        self._show_branch(conversation_id, leaf_id, taken_back)

    @Slot(object)
    def _on_finished(self, finished: FinishedReply) -> None:
        taken_back, self._taken_back = self._taken_back, ()
        if taken_back:
            self._store.do(
                lambda store: _drop_empty(store, taken_back),
                lambda _: self.changed.emit(finished.conversation_id),
            )

    def _show_branch(
        self, conversation_id: str, message_id: str, taken_back: Sequence[str] = ()
    ) -> None:
        def work(store: ConversationStore) -> None:
            store.select_branch(message_id)
            _drop_empty(store, taken_back)

        self._store.do(work, lambda _: self.changed.emit(conversation_id))


def _drop_empty(store: ConversationStore, message_ids: Sequence[str]) -> None:
    """Hide those of the replies that have no word; in the store's thread."""
    for message_id in message_ids:
        reply = store.message(message_id)
        if reply is not None and reply.role == "assistant" and not (reply.text or reply.reasoning):
            store.delete_message(message_id)

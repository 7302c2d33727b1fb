"""What is done to messages that stand: another version shown, one deleted, and both taken back.

Nothing is erased: a deleted message is hidden, and a branch that was left can be shown again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.data.records import Deletion, Message
from app.ui.chat_state import Opened
from app.ui.reply_runner import ReplyRunner
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
        """Show a branch again that was left; the one that is shown now stays beside it."""
        if self._runner.conversation_id == conversation_id:
            self._runner.stop()
        self._show_branch(conversation_id, leaf_id)

    def _show_branch(self, conversation_id: str, message_id: str) -> None:
        self._store.do(
            lambda store: store.select_branch(message_id),
            lambda _: self.changed.emit(conversation_id),
        )

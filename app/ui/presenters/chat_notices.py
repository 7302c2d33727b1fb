"""What the chat page says beside the messages: refusals, failed replies, what can be taken back."""

from __future__ import annotations

import itertools

from PySide6.QtCore import QObject, Slot

from app.data.records import Conversation, Deletion
from app.ui.chat_controller import ChatController
from app.ui.main_window import MainWindow
from app.ui.presenters.engine_notices import LOSS_NOTICE
from app.ui.reply_runner import FinishedReply
from app.ui.shell.views import Choice, Notice

__all__ = ["ChatNotices"]

_REFUSED = "refused"
_FAILED = "reply-failed"


class ChatNotices(QObject):
    """Shows what the chat controller refuses, fails at or deletes, with the ways on."""

    def __init__(
        self, controller: ChatController, window: MainWindow, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._controller = controller
        self._window = window
        self._notices = window.chat.notices
        self._deletions: dict[str, Deletion] = {}
        self._numbers = itertools.count()
        self._left: dict[str, tuple[str, str]] = {}  # conversation and leaf before, by token
        self._elsewhere: str | None = None  # the chat whose reply was in the way
        controller.refused.connect(self.refuse)
        controller.asker.blocked.connect(self._on_blocked)
        controller.asker.answers_again.connect(self.forget_refusal)
        controller.reply_failed.connect(self._on_reply_failed)
        controller.conversation_changed.connect(self._on_conversation)
        controller.branches.message_deleted.connect(self._on_deleted)
        controller.branches.branch_left.connect(self._on_left)
        self._notices.chosen.connect(self._on_choice)
        window.toast.undone.connect(self._on_undone)
        window.toast.expired.connect(self._on_expired)
        window.chat.composer.picture_pasted.connect(self._on_picture)

    @Slot(str)
    def refuse(self, sentence: str) -> None:
        """Say why something isn't done."""
        self._elsewhere = None
        self._notices.show_notice(Notice(_REFUSED, sentence, "warning"))

    @Slot()
    def forget_refusal(self) -> None:
        """Take the refusal off the page: what was wanted is done or can be done now."""
        self._notices.remove_notice(_REFUSED)

    @Slot(object)
    def _on_blocked(self, conversation_id: str | None) -> None:
        here = self._controller.conversation
        elsewhere = conversation_id is not None and (here is None or here.id != conversation_id)
        text = (
            self.tr("A reply is being written in another chat; one reply at a time.")
            if elsewhere
            else self.tr("A reply is being written; stop it first.")
        )
        choices = (Choice("stop", self.tr("Stop it")),) if elsewhere else ()
        self._elsewhere = conversation_id if elsewhere else None
        self._notices.show_notice(Notice(_REFUSED, text, "warning", choices=choices))

    @Slot(object)
    def _on_conversation(self, here: Conversation | None) -> None:
        """What was being written in another chat is on screen now."""
        if here is not None and here.id == self._elsewhere:
            self._elsewhere = None
            self.forget_refusal()

    @Slot(str, str)
    def _on_choice(self, notice: str, choice: str) -> None:
        if notice == _REFUSED and choice == "stop":
            self.forget_refusal()
            self._controller.stop()

    @Slot()
    def _on_picture(self) -> None:
        self.refuse(
            self.tr("Pictures can't be sent: the models read text only. Paste or attach its text.")
        )

    @Slot(object)
    def _on_reply_failed(self, finished: FinishedReply) -> None:
        failed = finished.failed
        if failed is None or failed.kind == "does_not_fit":
            return  # the context presenter offers what can be done
        if LOSS_NOTICE in self._notices.notices():
            return  # the same is said there, with what helps
        here = self._controller.conversation
        if here is None or here.id != finished.conversation_id:
            self._notices.show_notice(Notice(_FAILED, failed.message, "error", failed.detail))

    @Slot(object)
    def _on_deleted(self, deletion: Deletion) -> None:
        token = f"message:{deletion.message_ids[0]}" if deletion.message_ids else "message:"
        self._deletions[token] = deletion
        self._window.show_undo(self.tr("The message was deleted."), token)

    @Slot(str, str, str)
    def _on_left(self, conversation_id: str, leaf_id: str, by: str) -> None:
        token = f"branch:{next(self._numbers)}"
        self._left[token] = conversation_id, leaf_id
        edited = self.tr("The message was edited.")
        self._window.show_undo(
            edited if by == "edit" else self.tr("The reply was regenerated."), token
        )

    @Slot(str)
    def _on_expired(self, token: str) -> None:
        self._deletions.pop(token, None)
        self._left.pop(token, None)

    @Slot(str)
    def _on_undone(self, token: str) -> None:
        left = self._left.pop(token, None)
        if left is not None:
            self._controller.branches.show_again(*left)
        deletion = self._deletions.pop(token, None)
        if deletion is not None:
            self._controller.branches.undo_delete(deletion)

"""The chat page: transcript and composer over the chat controller."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices

from app.data.records import Attachment, Conversation
from app.settings import Settings
from app.ui.chat_controller import ChatController
from app.ui.main_window import MainWindow
from app.ui.presenters.chat_changes import list_change
from app.ui.presenters.chat_measuring import ChatMeasuring
from app.ui.presenters.chat_notices import ChatNotices
from app.ui.presenters.draft_files import DraftFiles
from app.ui.store_bridge import StoreBridge
from app.ui.transcript.items import MessageAction, MessageView
from app.ui.transcript.view import Transcript

__all__ = ["ChatPresenter"]


class ChatPresenter(QObject):
    """Feeds the transcript with as little change as possible, and takes drafts.

    Attributes:
        files: what goes with the draft.
    """

    def __init__(
        self,
        store: StoreBridge,
        controller: ChatController,
        window: MainWindow,
        transcript: Transcript,
        settings: Settings,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._controller = controller
        self._window = window
        self._transcript = transcript
        self._settings = settings
        self._unfolded: str | None = None  # the message whose reasoning we unfolded
        self._views: dict[str, MessageView] = {}  # as they stand in the transcript
        self._shown_chat: str | None = None
        self._loading = ""  # name of the model that is being loaded
        self._growing = False  # a new chat was sent and is about to get its id
        self._drafts: dict[str | None, str] = {}  # of chats that were left
        self._is_opening = False  # a chat is to come on screen: what is typed is meant for it
        self.files = DraftFiles(store, window, self)
        self._notices = ChatNotices(controller, window, self)
        self.measuring = ChatMeasuring(window, self)
        self.measuring.go.connect(self._send_anyway)
        controller.asker.hold = self.measuring.holds_back

        composer = window.chat.composer
        composer.stop_requested.connect(controller.stop)
        composer.edit_last_requested.connect(self._edit_last)
        transcript.typed.connect(self._on_typed)
        transcript.action_requested.connect(self._on_action)

        controller.conversation_changed.connect(self._on_conversation)
        controller.views_changed.connect(self._on_views)
        controller.view_changed.connect(self._on_view)
        controller.text_arrived.connect(self._on_text)
        controller.answering_changed.connect(self._on_answering)
        controller.asker.unsent.connect(self._take_back)
        controller.link_opened.connect(self._on_link)

    # --- the draft ---

    def begin(self, draft: str, opening: str | None) -> None:
        """Begin with a new chat's draft, or behind it with a chat that is about to be opened."""
        if opening is None:
            self._window.chat.composer.set_text(draft)
        else:
            self._drafts[None] = draft
            self._is_opening = True
            self.files.expect(opening)

    @property
    def draft(self) -> str:
        """Text of the draft on screen."""
        return self._window.chat.composer.text()

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """Files that go with the draft."""
        return self.files.attachments

    def send(self, text: str, *, trim: bool = True) -> None:
        """Send the draft with its files."""
        text = text.strip()
        if text or self.attachments:
            self._send(text, trim=trim)

    @Slot()
    def _send_anyway(self) -> None:
        text = self.draft.strip()
        if text or self.attachments:
            self._send(text)

    def _send(self, text: str, *, trim: bool = True) -> None:
        if self._is_opening:
            return  # it would go into another chat than the one that is about to appear
        if self._controller.send(text, self.attachments, trim=trim):
            self._growing = self._shown_chat is None
            self._notices.forget_refusal()
            self._window.chat.composer.clear()
            self.files.clear()
            self._transcript.scroll_to_end()

    @Slot(str, object)
    def _take_back(self, text: str, attachments: Sequence[Attachment]) -> None:
        """Put back what could not be stored, before what was typed since: nothing is lost."""
        self._growing = False
        composer = self._window.chat.composer
        since = composer.text()
        composer.set_text(f"{text}\n\n{since}" if since.strip() else text)
        self.files.put_back(attachments)

    @Slot(str)
    def _on_typed(self, text: str) -> None:
        """Somebody types with the focus on the transcript: it is meant for the draft."""
        composer = self._window.chat.composer
        composer.setFocus()
        composer.insert_text(text)

    @Slot()
    def _edit_last(self) -> None:
        for key, view in reversed(self._views.items()):
            if view.role == "user":
                self._transcript.act("edit", key)
                return

    # --- the transcript ---

    @Slot(object)
    def _on_conversation(self, conversation: Conversation | None) -> None:
        key = None if conversation is None else conversation.id
        opening, self._is_opening = self._is_opening, False
        if key == self._shown_chat and not opening:
            return
        self.measuring.forget_draft()
        if self._growing and self._shown_chat is None and key is not None:
            self.files.grow(key)
        else:
            self._change_draft(conversation, opening=opening)
        self._growing = False
        self._shown_chat = key
        self._views = {}

    def _change_draft(self, conversation: Conversation | None, *, opening: bool) -> None:
        """Show the draft of a chat; what was typed while it was opened goes on with it."""
        typed = ""
        if opening:
            typed = self.draft
        else:
            self._drafts[self._shown_chat] = self.draft
        key, stored = None, ""
        if conversation is not None:
            key, stored = conversation.id, conversation.draft
        text = self._drafts.pop(key, stored)
        if text or not opening:
            self._window.chat.composer.set_text(text + typed)
        opened = self._controller.opened
        self.files.show(key, () if opened is None else opened.draft_files)

    @Slot(object)
    def _on_views(self, views: Sequence[MessageView]) -> None:
        change = list_change(list(self._views.values()), views)
        self._views = {view.id: view for view in views}
        if change is None:
            self._transcript.set_messages(views)
        else:
            self._transcript.change_messages(change.gone, change.come, change.other)
        self.show_empty_hint()

    def show_empty_hint(self, loading: str | None = None) -> None:
        """Say whom one talks to where there is no message yet.

        Args:
            loading: name of the model that is being loaded, empty for none; None is as before.
        """
        if loading is not None:
            self._loading = loading
        empty = self._window.chat.empty
        empty.setVisible(not (self._views or self._is_opening))
        name = self._controller.model_name
        if name:
            empty.set_texts(
                self.tr("Ask {0} anything").format(name),
                self.tr("Attach files with the message, or drop a GGUF file to change the model."),
            )
        elif self._loading:
            empty.set_texts(
                self.tr("Loading {0}").format(self._loading),
                self.tr("You can write already, and send when it is there."),
            )
        else:
            empty.set_texts(
                self.tr("No model is loaded"),
                self.tr("Choose one at the top, or drop a GGUF file here."),
            )

    @Slot(object)
    def _on_view(self, view: MessageView) -> None:
        if view.id in self._views:
            self._views[view.id] = view
            self._transcript.update_message(view)
            self._follow_reasoning(view)

    def _follow_reasoning(self, view: MessageView) -> None:
        """Unfold reasoning while it is written, and fold it when the answer begins."""
        thinking = view.state == "streaming" and bool(view.reasoning) and not view.text
        if thinking and self._unfolded is None and self._settings.get("unfold_reasoning"):
            self._unfolded = view.id
            self._transcript.act("toggle_reasoning", view.id)
        elif self._unfolded == view.id and not thinking:
            self._unfolded = None
            self._transcript.act("toggle_reasoning", view.id)

    @Slot(str, str, str)
    def _on_text(self, message_id: str, answer: str, reasoning: str) -> None:
        if message_id in self._views:
            self._transcript.append_text(message_id, answer, reasoning)

    @Slot(object)
    def _on_answering(self, conversation_id: str | None) -> None:
        here = self._controller.conversation
        if conversation_id is None:
            self._notices.forget_refusal()
        self._window.set_generating(
            conversation_id is not None and here is not None and here.id == conversation_id
        )

    def refresh_generating(self) -> None:
        """Show Stop only where the running reply is on screen."""
        self._window.set_generating(self._controller.answering_here)

    @Slot(object)
    def _on_action(self, action: MessageAction) -> None:
        if action.kind == "edit" and action.payload is not None:
            if not self._controller.edit(action.message_id, action.payload):
                # What was typed must not be lost with the closed editor.
                self._window.chat.composer.insert_text(action.payload)
        else:
            self._controller.act(action)

    @Slot()
    def regenerate_last(self) -> None:
        """Have the last message answered once more, or for the first time."""
        last = self._last_message()
        if last is not None:
            self._controller.regenerate(last.id)

    @Slot()
    def regenerate_last_several(self) -> None:
        """Have the last message answered in several versions at once."""
        last = self._last_message()
        if last is not None:
            self._controller.several_wanted.emit(last.id)

    @Slot()
    def copy_last(self) -> None:
        """Put the last reply on the clipboard."""
        last = self._last_reply()
        if last is not None:
            self._transcript.copy_text(last.text)

    def _last_message(self) -> MessageView | None:
        return next(
            (view for view in reversed(self._views.values()) if view.role in {"user", "assistant"}),
            None,
        )

    def _last_reply(self) -> MessageView | None:
        return next(
            (view for view in reversed(self._views.values()) if view.role == "assistant"),
            None,
        )

    @Slot(str)
    def _on_link(self, address: str) -> None:
        QDesktopServices.openUrl(QUrl(address))

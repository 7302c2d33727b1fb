"""The sidebar: the list of conversations, search over all of them, and what is done to one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from app.data.state import StateFile
from app.settings import atomic_write
from app.ui import tasks
from app.ui.chat_controller import ChatController
from app.ui.main_window import MainWindow
from app.ui.numbers import grouped, numbered
from app.ui.presenters.chat_keeper import ChatKeeper
from app.ui.save_file import choose_target, file_stem, today
from app.ui.shell import views
from app.ui.shell.views import ChatEntry, Notice
from app.ui.store_bridge import StoreBridge
from app.ui.transcript.view import Transcript

if TYPE_CHECKING:
    from app.data.conversations import ConversationStore
    from app.data.records import Conversation, SearchHit
    from app.data.transfer.common import Imported
    from app.data.transfer.writing import Format

__all__ = ["ChatsPresenter"]


def _when(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC).astimezone()


class ChatsPresenter(QObject):
    """Keeps the sidebar true to the store."""

    def __init__(
        self,
        store: StoreBridge,
        controller: ChatController,
        window: MainWindow,
        transcript: Transcript,
        state: StateFile,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._controller = controller
        self._window = window
        self._transcript = transcript
        self._answering: str | None = None
        self._conversations: list[Conversation] = []
        self._entries: dict[str, tuple[Conversation, ChatEntry]] = {}
        self._refresh: tasks.Throttle[[]] = tasks.Throttle(200, self._read, self)

        self.keeper = ChatKeeper(store, controller, window, state, self)
        sidebar, chats = window.sidebar, window.sidebar.chats
        sidebar.new_chat_requested.connect(self.new_chat)
        sidebar.search_changed.connect(self._search)
        sidebar.hit_selected.connect(self._open_hit)
        chats.chat_selected.connect(self._on_chosen)
        chats.rename_requested.connect(self._rename)
        chats.pin_requested.connect(self._pin)
        chats.duplicate_requested.connect(self._duplicate)
        chats.delete_requested.connect(self._delete)
        chats.copy_requested.connect(self.copy)
        chats.export_requested.connect(self._export)
        window.toast.undone.connect(self._on_undone)
        window.toast.expired.connect(self._on_expired)
        controller.chats_changed.connect(self.refresh)
        controller.answering_changed.connect(self._on_answering)
        controller.conversation_changed.connect(self._on_conversation)

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        """The list as it was read last."""
        return tuple(self._conversations)

    @Slot()
    def refresh(self) -> None:
        """Read the list again soon."""
        self._refresh.call()

    def _read(self) -> None:
        self._store.do(lambda store: store.list_all(), self._show)

    def _show(self, conversations: list[Conversation]) -> None:
        self._conversations = conversations
        # One of thousands has changed as a rule; the entries of the others are used again.
        self._entries = {chat.id: (chat, self._entry(chat)) for chat in conversations}
        self._window.sidebar.set_chats(entry for _, entry in self._entries.values())
        here = self._controller.conversation
        self._window.sidebar.set_current(None if here is None else here.id)

    def _entry(self, chat: Conversation) -> ChatEntry:
        known = self._entries.get(chat.id)
        is_answering = chat.id == self._answering
        if known is not None and known[0] == chat and known[1].answering == is_answering:
            return known[1]
        title = chat.title or self.tr("New chat")
        return ChatEntry(chat.id, title, _when(chat.updated_ms), chat.pinned, is_answering)

    @Slot()
    def new_chat(self) -> None:
        """Show an empty chat."""
        self._window.sidebar.clear_search()
        self._controller.new_chat()
        self._window.chat.composer.setFocus()

    @Slot(str)
    def _on_chosen(self, key: str) -> None:
        # What is typed next is meant for this chat, not for the list.
        self._window.chat.composer.setFocus()
        self.open(key)

    @Slot(str)
    def open(self, key: str) -> None:
        """Show a conversation."""
        self.keeper.keep_draft()
        self._open(key)

    def _open(self, key: str, then: Callable[[], None] | None = None) -> None:
        self.keeper.forget_last()
        self._controller.open(key, then)

    @Slot(object)
    def _on_answering(self, conversation_id: str | None) -> None:
        self._answering = conversation_id
        self._read()

    @Slot(object)
    def _on_conversation(self, conversation: Conversation | None) -> None:
        self._window.sidebar.set_current(None if conversation is None else conversation.id)

    # --- search ---

    @Slot(str)
    def _search(self, query: str) -> None:
        if not query.strip():
            return
        self._store.do(lambda store: store.search(query), lambda hits: self._show_hits(query, hits))

    def _show_hits(self, query: str, hits: list[SearchHit]) -> None:
        self._window.sidebar.set_results(
            query,
            tuple(
                views.SearchHit(
                    hit.conversation_id,
                    hit.message_id,
                    hit.title or self.tr("New chat"),
                    hit.snippet,
                    hit.marks,
                    _when(hit.created_ms),
                )
                for hit in hits
            ),
        )

    @Slot(str, str)
    def _open_hit(self, chat: str, message: str) -> None:
        query = self._window.sidebar.search_text()
        self._window.chat.composer.setFocus()
        self.keeper.keep_draft()
        if not message:
            self._open(chat)
            return

        def reveal() -> None:
            words = query.split()
            self._transcript.reveal_text(message, words[0] if words else "")

        def open_there(_leaf: str) -> None:
            self._open(chat, reveal)

        # The message may lie on a branch that is not shown.
        self._store.do(lambda store: _show_branch_of(store, chat, message), open_there)

    # --- what is done to one ---

    @Slot(str, str)
    def _rename(self, key: str, title: str) -> None:
        self._store.do(lambda store: store.rename(key, title), lambda _: self._read())

    @Slot(str, bool)
    def _pin(self, key: str, pinned: bool) -> None:
        self._store.do(lambda store: store.pin(key, pinned), lambda _: self._read())

    @Slot(str)
    def _duplicate(self, key: str) -> None:
        def done(copy: Conversation) -> None:
            self._read()
            self._open(copy.id)

        self._store.do(lambda store: store.duplicate(key), done)

    @Slot(str)
    def _delete(self, key: str) -> None:
        self._controller.forget(key)
        title = next((c.title for c in self._conversations if c.id == key), "")
        self._store.do(lambda store: store.delete(key), lambda _: self._read())
        self._window.show_undo(
            self.tr("“{0}” was deleted.").format(title or self.tr("New chat")), f"chat:{key}"
        )

    @Slot(str)
    def _on_undone(self, token: str) -> None:
        kind, _, key = token.partition(":")
        if kind == "chat":

            def done(_result: object) -> None:
                self._read()
                self._open(key)

            self._store.do(lambda store: store.undelete(key), done)

    @Slot(str)
    def _on_expired(self, token: str) -> None:
        kind, _, key = token.partition(":")
        if kind == "chat":
            self._store.do(lambda store: store.purge(key))

    # --- files ---

    @Slot(str)
    def _export(self, key: str) -> None:
        title = next((c.title for c in self._conversations if c.id == key), "") or "chat"
        self._ask_where(title, [key])

    @Slot(str)
    def copy(self, key: str) -> None:
        """Put a chat into the clipboard, as Markdown."""
        from app.data.transfer.writing import export_text

        def work(store: ConversationStore) -> str:
            chosen = [chat for chat in store.list_all() if chat.id == key]
            return export_text(store, chosen, "markdown", datetime.now().astimezone())

        self._store.do(work, lambda text: QGuiApplication.clipboard().setText(text))

    def export_all(self) -> None:
        """Ask for a file and write all conversations into it."""
        name = file_stem("Plimsoll chats", today())
        self._ask_where(name, None)

    def _ask_where(self, name: str, keys: list[str] | None) -> None:
        kinds = ((self.tr("Markdown"), "md"), (self.tr("JSON"), "json"))
        choose_target(
            self._window,
            self.tr("Export"),
            kinds,
            file_stem(name),
            lambda path: self.export_to(path, keys),
        )

    def export_to(self, path: str, keys: list[str] | None) -> None:
        """Write conversations (None: all) as JSON or Markdown, by the file's ending."""
        from app.data.transfer.writing import export_text

        kind: Format = "json" if path.lower().endswith(".json") else "markdown"

        def work(store: ConversationStore) -> int:
            chats = store.list_all()
            chosen = chats if keys is None else [chat for chat in chats if chat.id in keys]
            text = export_text(store, chosen, kind, datetime.now().astimezone())
            atomic_write(Path(path), text.encode("utf-8"))
            return len(chosen)

        self._store.do(
            work,
            lambda count: self._say(
                self.tr("{0} chats are in {1}.").format(count, path)
                if count != 1
                else self.tr("The chat is in {0}.").format(path),
                passing=True,
            ),
            lambda error: self._say(
                self.tr("The export failed: {0}").format(error), severity="error"
            ),
        )

    def choose_import(self) -> None:
        """Ask for a file of chats and read it."""
        dialog = QFileDialog(self._window, self.tr("Import chats"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([self.tr("Chats (*.json)"), self.tr("All files (*)")])
        dialog.fileSelected.connect(self.import_from)
        dialog.open()

    @Slot(str)
    def import_from(self, path: str) -> None:
        """Read chats from a file of ours, of ChatGPT or of LM Studio."""
        from app.data.transfer.common import TransferError
        from app.data.transfer.reading import read_file

        def add(imported: Imported) -> None:
            self._store.do(
                lambda store: store.add_whole(imported.conversations),
                lambda counts: self._on_imported(imported, *counts),
            )

        def failed(error: Exception) -> None:
            if not isinstance(error, TransferError):
                raise error
            self._say(str(error), severity="error")

        tasks.run(lambda: read_file(Path(path)), add, failed, self)

    def _on_imported(self, imported: Imported, new: int, known: int) -> None:
        sentence = numbered(
            new, self.tr("1 chat of {0} was added."), self.tr("%n chats of {0} were added.")
        ).format(imported.source)
        if known:
            sentence += " " + self.tr("Here already: {0}.").format(grouped(known))
        for reason, count in imported.skipped.items():
            sentence += " " + self.tr("Left out: {0} {1}.").format(f"{count:,}", reason)
        self._say(sentence, passing=not imported.skipped)
        self._read()

    def _say(
        self, sentence: str, *, severity: views.Severity = "info", passing: bool = False
    ) -> None:
        self._window.chat.notices.show_notice(
            Notice("transfer", sentence, severity, passing=passing)
        )


def _show_branch_of(store: ConversationStore, conversation_id: str, message_id: str) -> str:
    if all(message.id != message_id for message in store.path(conversation_id)):
        return store.select_branch(message_id)
    return message_id

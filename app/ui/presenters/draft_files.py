"""Files that go with drafts: read, shown above the text, and kept, each chat its own.

What is kept is the text as it was read, as with a message that was sent. So a draft says tomorrow
what it said today, also where the file has changed or is gone since; that it is gone is said.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.data.attachments import AttachmentError, read_attachment
from app.data.records import Attachment, DraftFile
from app.ui import tasks
from app.ui.main_window import MainWindow
from app.ui.shell.views import AttachmentChip, Notice
from app.ui.store_bridge import StoreBridge

__all__ = ["DraftFiles"]


@dataclass(slots=True, eq=False)
class _Draft:
    """The files of one chat's draft, by their ids; a chat of None is not stored yet.

    Until ``is_known`` the store may hold more of them, and nothing is written over those.
    """

    chat: str | None
    files: dict[str, DraftFile] = field(default_factory=dict)
    problems: dict[str, tuple[str, str]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    is_known: bool = False


class DraftFiles(QObject):
    """Takes files for the draft on screen.

    Signals:
        attached(str key, str text): a file goes with the draft; its tokens are to be counted.
    """

    attached = Signal(str, str)

    def __init__(
        self, store: StoreBridge, window: MainWindow, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._store = store
        self._window = window
        self._here = _Draft(None)
        self._drafts: dict[str | None, _Draft] = {None: self._here}
        composer = window.chat.composer
        composer.files_added.connect(self._on_files)
        composer.text_attached.connect(self._on_text)
        composer.attachment_removed.connect(self._on_removed)

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """What goes with the draft on screen."""
        return tuple(file.attachment for file in self._here.files.values())

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences on the files that can't go with it."""
        return tuple(sentence for _, sentence in self._here.problems.values())

    # --- which draft ---

    def read_new(self) -> None:
        """Take what an earlier run kept for a chat that is not stored yet."""
        draft = self._drafts[None]
        if not draft.is_known:
            self._store.do(
                lambda store: store.draft_files(None),
                lambda files: self._take_kept(draft, files),
            )

    def expect(self, chat: str) -> None:
        """What is attached from now on goes with the draft of a chat that is being opened."""
        self._here = self._drafts.setdefault(chat, _Draft(chat))

    def show(self, chat: str | None, kept: Sequence[DraftFile]) -> None:
        """Bring a chat's files on screen; ``kept`` is what the store has of them."""
        left, self._here = self._here, self._drafts.setdefault(chat, _Draft(chat))
        if chat is not None and not self._here.is_known:
            self._take_kept(self._here, kept)
        if left is not self._here and left.chat is not None and not left.is_known:
            # It was expected and another one came: what was attached since goes with this one.
            self._here.files |= left.files
            self._here.problems |= left.problems
            self._keep(self._here)
            del self._drafts[left.chat]
        self._show_chips()
        self.count()

    def grow(self, chat: str) -> None:
        """The new chat on screen got its id: what was attached since goes with it."""
        draft = self._drafts[chat] = self._here
        draft.chat = chat
        self._drafts[None] = _Draft(None, is_known=True)
        self._keep(self._drafts[None])
        self._keep(draft)

    def clear(self) -> None:
        """The message was sent."""
        self._here.files.clear()
        self._here.problems.clear()
        self._here.is_known = True
        self._keep(self._here)
        self._show_chips()

    def put_back(self, attachments: Sequence[Attachment]) -> None:
        """Take again what could not be sent."""
        self._here.files |= {file.id: file for file in map(_made, attachments)}
        self._keep(self._here)
        self._show_chips()

    def _take_kept(self, draft: _Draft, kept: Sequence[DraftFile]) -> None:
        is_behind, added = draft.is_known or bool(draft.files), draft.files
        draft.is_known = True
        draft.files = {file.id: file for file in kept} | added
        if is_behind:
            self._keep(draft)
        if kept:
            self._look_for(draft)
            if draft is self._here:
                self._show_chips()
                self.count()

    def _keep(self, draft: _Draft) -> None:
        if not draft.is_known:
            return
        chat, files = draft.chat, tuple(draft.files.values())
        self._store.do(
            lambda store: None if store.read_only else store.keep_draft_files(chat, files)
        )

    def _look_for(self, draft: _Draft) -> None:
        """Find out which files are gone; a disk that sleeps is not waited for."""
        paths = {key: file.path for key, file in draft.files.items() if file.path}

        def work() -> set[str]:
            return {key for key, path in paths.items() if _is_gone(path)}

        def done(gone: set[str]) -> None:
            draft.gone = gone
            if gone and draft is self._here:
                self._show_chips(announce=False)

        if paths:
            tasks.run(work, done, None, self)

    # --- what the user adds and takes away ---

    @Slot(list)
    def _on_files(self, paths: Sequence[str]) -> None:
        draft = self._here  # the user may go to another chat while they are read
        for path in paths:
            tasks.run(
                lambda path=path: read_attachment(Path(path)),  # type: ignore[misc]
                lambda attachment, path=path: self._attach(draft, attachment, path),  # type: ignore[misc]
                lambda error, path=path: self._refuse(draft, path, error),  # type: ignore[misc]
                self,
            )

    @Slot(str)
    def _on_text(self, text: str) -> None:
        self._attach(self._here, Attachment(self.tr("Pasted text"), text), None)

    def _attach(self, draft: _Draft, attachment: Attachment, path: str | None) -> None:
        file = _made(attachment, path)
        draft.files[file.id] = file
        self._keep(draft)
        if draft is not self._here:
            return
        self.attached.emit(file.id, attachment.text)
        if attachment.note:
            self._window.chat.notices.show_notice(
                Notice(f"file-{file.id}", f"{attachment.name}: {attachment.note}")
            )
        self._show_chips()

    def _refuse(self, draft: _Draft, path: str, error: Exception) -> None:
        if not isinstance(error, AttachmentError | OSError):
            raise error
        draft.problems[_new_key()] = (Path(path).name, str(error))
        if draft is self._here:
            self._show_chips()

    @Slot(str)
    def _on_removed(self, key: str) -> None:
        if self._here.files.pop(key, None) is not None:
            self._keep(self._here)
        self._here.problems.pop(key, None)
        self._show_chips()

    # --- what is shown of them ---

    def count(self, *, again: bool = False) -> None:
        """Have tokens counted where they are not known, or all of them ``again``."""
        for key, file in list(self._here.files.items()):
            if again or file.attachment.tokens is None:
                self.attached.emit(key, file.attachment.text)

    def set_tokens(self, key: str, tokens: int) -> None:
        """Show how many tokens a file takes."""
        file = self._here.files.get(key)
        if file is not None:
            attachment = replace(file.attachment, tokens=tokens)
            self._here.files[key] = replace(file, attachment=attachment)
            self._show_chips(announce=False)

    def _show_chips(self, *, announce: bool = True) -> None:
        gone = self.tr("{0} is no longer where it was. It is sent as it was when you attached it.")
        chips = []
        for key, file in self._here.files.items():
            name, tokens = file.attachment.name, file.attachment.tokens
            warning = gone.format(name) if key in self._here.gone else ""
            chips.append(AttachmentChip(key, name, tokens, warning=warning))
        chips += _refused_chips(self._here.problems)
        composer = self._window.chat.composer
        composer.set_attachments(tuple(chips))
        if announce:
            composer.draft_changed.emit()


def _refused_chips(problems: Mapping[str, tuple[str, str]]) -> list[AttachmentChip]:
    return [AttachmentChip(key, name, problem=problem) for key, (name, problem) in problems.items()]


def _made(attachment: Attachment, path: str | None = None) -> DraftFile:
    return DraftFile(_new_key(), attachment, path)


def _is_gone(path: str) -> bool:
    try:
        return not Path(path).exists()
    except (OSError, ValueError):
        return False  # nobody can say


def _new_key() -> str:
    """Return a key that is an id in the store as well; see `app.data.store_base.new_id`."""
    return os.urandom(16).hex()

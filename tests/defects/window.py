"""Defects of the window's presenters: what is sent, stored, taken back."""

from __future__ import annotations

from typing import Final

from tests.defects.defect import Defect

__all__ = ["DEFECTS"]

_CHAT: Final = ("tests/e2e/test_chat.py",)
_DRAFTS: Final = ("tests/e2e/test_drafts.py",)
_LAST_CHAT: Final = ("tests/e2e/test_last_chat.py",)

DEFECTS: Final = (
    Defect(
        "what could not be stored is gone",
        "app/ui/asker.py",
        "            if typed is not None:\n                self.unsent.emit(*typed)",
        "            if typed is not None:\n                pass",
        _DRAFTS,
    ),
    Defect(
        "two questions at once",
        "app/ui/asker.py",
        "if self._runner.is_running or self._asking:",
        "if self._runner.is_running:",
        _CHAT,
    ),
    Defect(
        "a regenerated reply replaces the one before",
        "app/ui/asker.py",
        'asked = message_id if message.role == "user" else message.parent_id',
        "asked = message_id",
        _CHAT,
    ),
    Defect(
        "an edit that could not be sent is lost",
        "app/ui/presenters/chat.py",
        "self._window.chat.composer.insert_text(action.payload)",
        "pass",
        _CHAT,
    ),
    Defect(
        "a draft follows into another chat",
        "app/ui/presenters/chat.py",
        "            self._window.chat.composer.set_text(text + typed)",
        "            pass",
        (*_DRAFTS, "tests/e2e/test_window_parts.py"),
    ),
    Defect(
        "keys of the first instant are lost to the chat that comes",
        "app/ui/presenters/chat.py",
        "set_text(text + typed)",
        "set_text(text)",
        _LAST_CHAT,
    ),
    Defect(
        "a start opens the last chat over one that was asked for",
        "app/ui/presenters/chat_keeper.py",
        "            if self._opening != key:\n                return\n",
        "",
        _LAST_CHAT,
    ),
    Defect(
        "files of a draft that are on the disk are forgotten by a new one",
        "app/ui/presenters/draft_files.py",
        "draft.files = {file.id: file for file in kept} | added",
        "draft.files = added or {file.id: file for file in kept}",
        _LAST_CHAT,
    ),
    Defect(
        "a file goes with the chat on screen when it was read",
        "app/ui/presenters/draft_files.py",
        "        draft = self._here  # the user may go to another chat while they are read\n"
        "        for path in paths:",
        "        for path in paths:\n            draft = self._drafts[None]",
        ("tests/e2e/test_draft_files.py",),
    ),
    Defect(
        "undo in the window does nothing",
        "app/ui/presenters/chat_notices.py",
        "            self._controller.branches.undo_delete(deletion)",
        "            pass",
        _CHAT,
    ),
    Defect(
        "the interpreter collects in any thread",
        "app/ui/start.py",
        "    gc.freeze()\n    return program",
        "    gc.freeze()\n    gc.enable()\n    return program",
        ("tests/e2e/test_start.py",),
    ),
    Defect(
        "the panel shows another chat's turn",
        "inspector/session.py",
        "return None if self.turn_is_elsewhere else self.turn",
        "return self.turn",
        ("tests/inspector/test_session.py",),
    ),
    Defect(
        "a turn is not followed while its chat is not on screen",
        "app/ui/presenters/inspector_turns.py",
        "        running, session = self._running, self._session\n",
        "        running, session = self._running, self._session\n"
        "        if session.turn_is_elsewhere:\n            return\n",
        ("tests/e2e/test_turn_elsewhere.py",),
    ),
)

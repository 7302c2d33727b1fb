"""Defects of the window's presenters: what is sent, stored, taken back."""

from __future__ import annotations

from typing import Final

from tests.defects.defect import Defect

__all__ = ["DEFECTS"]

_CHAT: Final = ("tests/e2e/test_chat.py",)
_DRAFTS: Final = ("tests/e2e/test_drafts.py",)

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
        "            composer.set_text(text)\n            self._show_chips()\n"
        "        self._shown_chat = key",
        "            self._show_chips()\n        self._shown_chat = key",
        (*_DRAFTS, "tests/e2e/test_window_parts.py"),
    ),
    Defect(
        "undo in the window does nothing",
        "app/ui/presenters/chat_notices.py",
        "            self._controller.branches.undo_delete(deletion)",
        "            pass",
        _CHAT,
    ),
)

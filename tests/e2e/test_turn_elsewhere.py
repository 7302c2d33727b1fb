"""A reply that is written in one chat while another is on screen: the panel shows the screen's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.data.records import Conversation
from inspector.session import Session
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window import Program

LONG = TinyModel(context=8192, script=tuple(f" word{i}" for i in range(8000)))


@dataclass
class _Chats:
    """A program with one answered chat, and one on screen whose long reply is being written."""

    program: Program
    answered: Conversation
    written: Conversation

    def open(self, chat: Conversation) -> None:
        """Show a chat."""
        controller = self.program.app.controller
        self.program.app.chats.open(chat.id)
        self.program.until(lambda: {m.conversation_id for m in controller.path} == {chat.id})


@pytest.fixture
def chats(open_program: Callable[..., Program], tmp_path: Path) -> _Chats:
    tiny = write_tiny_model(tmp_path / "Long-F32.gguf", LONG)
    program = open_program()
    program.app.settings.set_load_values(str(tiny), {"n_ctx": 8192})
    program.app.models.load(str(tiny))
    program.ready()
    controller, session = program.app.controller, program.app.inspector.session
    controller.set_chat_values(None, None, {"max_tokens": 8})
    answered = program.answered_chat("Hello")
    program.until(lambda: len(session.turns) == 1)
    program.app.chats.new_chat()
    program.send("Another")
    program.until(lambda: session.live is not None and session.live.reply_tokens > 3)
    assert controller.conversation is not None
    return _Chats(program, answered, controller.conversation)


def _state(session: Session) -> str:
    return session.state


def test_it_is_shown_with_its_own_chat_alone(chats: _Chats) -> None:
    program = chats.program
    runner, session = program.app.controller.runner, program.app.inspector.session
    before = session.used_tokens
    chats.open(chats.answered)
    program.until(lambda: session.live is None)
    program.until(lambda: [turn.conversation for turn in session.turns] == [chats.answered.id])
    assert runner.is_running
    assert _state(session) == "ready"
    assert 0 < session.used_tokens < 100

    chats.open(chats.written)
    program.until(lambda: session.live is not None and session.turns == ())
    assert runner.is_running
    assert _state(session) == "writing"
    assert session.used_tokens > before


def test_its_end_is_seen_from_another_chat(chats: _Chats) -> None:
    program = chats.program
    controller, session = program.app.controller, program.app.inspector.session
    chats.open(chats.answered)
    controller.stop()
    program.until(lambda: not controller.runner.is_running)
    program.until(lambda: session.turn is None)
    assert session.state == "ready"
    assert [turn.conversation for turn in session.turns] == [chats.answered.id]
    program.until(lambda: not session.has_evaluated)

    chats.open(chats.written)
    program.until(lambda: [turn.conversation for turn in session.turns] == [chats.written.id])
    program.until(lambda: session.has_evaluated)

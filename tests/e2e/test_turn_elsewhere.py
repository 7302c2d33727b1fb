"""A reply that is written in one chat while another is on screen: the panel shows the screen's."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.data.records import Conversation
from app.ui.transcript.items import MessageAction
from inspector.panel import panel_view
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


def _fitting(session: Session) -> int | None:
    growth = panel_view(session).growth
    return None if growth is None else growth.fitting_tokens


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


def test_what_cannot_be_counted_meanwhile_is_not_told_as_nothing(chats: _Chats) -> None:
    program = chats.program
    controller, session = program.app.controller, program.app.inspector.session
    gauge, composer = program.app.window.header.gauge, program.app.window.chat.composer
    chats.open(chats.answered)
    program.until(lambda: gauge._use is not None and gauge._use.used_tokens > 0)
    program.app.chat._on_action(MessageAction("edit", controller.path[1].id, "What I say"))
    program.until(lambda: program.texts() == ["Hello", "What I say"])
    program.until(lambda: gauge._use is None)
    assert controller.runner.is_running
    program.until(lambda: composer.figures_text() == "Draft 0 tokens")
    assert not session.has_evaluated
    assert session.turns == ()
    program.until(lambda: _fitting(session) is None)
    controller.stop()
    program.until(lambda: gauge._use is not None and gauge._use.used_tokens > 0)
    program.until(lambda: 8000 < (_fitting(session) or 0) < 8192)
    program.until(lambda: "context after sending" in composer.figures_text())


def test_refusal_goes_when_the_chat_in_the_way_comes_on_screen(chats: _Chats) -> None:
    program = chats.program
    chats.open(chats.answered)
    program.app.window.chat.composer.set_text("More")
    program.app.window.chat.composer.send_requested.emit("More")
    program.until(lambda: "refused" in program.notices())
    chats.open(chats.written)
    program.until(lambda: "refused" not in program.notices())
    assert program.app.controller.runner.is_running


def test_end_of_the_engine_is_said_once_and_with_what_helps(chats: _Chats) -> None:
    program = chats.program
    chats.open(chats.answered)
    pid = program.app.engine.state.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    program.until(lambda: program.app.engine.state.status == "lost")
    program.until(lambda: not program.app.controller.runner.is_running)
    program.settle()
    assert program.notices() == ["engine-lost"]

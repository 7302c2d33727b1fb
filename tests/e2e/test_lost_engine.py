"""Going on with a turn whose engine died: a real engine that is killed, through the window."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from app.ui.transcript.items import ActionKind, MessageAction
from tests.helpers.tiny_gguf import write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]


def _kill(program: Program) -> None:
    pid = program.app.engine.state.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    program.until(lambda: program.app.engine.state.status == "lost")
    program.until(lambda: not program.app.controller.runner.is_running)


@pytest.fixture
def program(open_program: Open, tmp_path: Path) -> Program:
    """A tiny model in a real engine, with one answered message."""
    program = open_program(write_tiny_model(tmp_path / "tiny.gguf")).ready()
    program.app.controller.set_chat_values(None, None, {"max_tokens": 12})
    program.answered_chat("Hello")
    return program


@pytest.mark.parametrize("kind", ["regenerate", "continue"])
def test_turn_goes_on_in_the_model_that_was_lost(program: Program, kind: ActionKind) -> None:
    _kill(program)
    last = program.app.controller.path[-1]
    program.app.chat._on_action(MessageAction(kind, last.id))
    assert "refused" not in program.notices()
    program.until(lambda: program.app.controller.path[-1] != last)
    program.answered()
    reply = program.app.controller.path[-1]
    assert (reply.id == last.id) is (kind == "continue")
    assert reply.stats is not None
    assert reply.stats.reused_tokens == 0  # a new engine
    assert program.notices() == []


def test_edit_is_sent_when_the_model_is_back(program: Program) -> None:
    _kill(program)
    asked = program.app.controller.path[0]
    program.app.chat._on_action(MessageAction("edit", asked.id, "Good day"))
    program.until(lambda: program.texts()[:1] == ["Good day"])
    program.answered()
    assert program.app.window.chat.composer.text() == ""


def test_edit_comes_back_where_the_model_does_not(program: Program) -> None:
    _kill(program)
    path = program.app.models.path
    assert path is not None
    Path(path).unlink()
    asked = program.app.controller.path[0]
    program.app.chat._on_action(MessageAction("edit", asked.id, "Good day"))
    program.until(lambda: "load-failed" in program.notices())
    assert program.app.window.chat.composer.text() == "Good day"
    assert program.texts()[0] == "Hello"


def test_refusal_goes_when_the_engine_answers(program: Program) -> None:
    program.app.models.unload()
    program.until(lambda: program.app.engine.state.status == "idle")
    last = program.app.controller.path[-1]
    program.app.chat._on_action(MessageAction("regenerate", last.id))
    assert program.app.window.chat.notices.bar("refused").text == "Choose a model first."
    program.app.models.reload()
    program.ready()
    assert "refused" not in program.notices()

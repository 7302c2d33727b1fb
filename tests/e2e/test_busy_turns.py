"""Replies that other programs slow down: what is learnt of them, and when that is known."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]
BUSY = "Other programs use 1.1 processor cores, python the most of them."
STORY = tuple(f" word{i}" for i in range(60))


class Look:
    """What a look at other programs says, once it may end."""

    def __init__(self) -> None:
        self.sentence = ""
        self.may_end = threading.Event()

    def __call__(self, _pids: Sequence[int], _interval_s: float) -> str:
        self.may_end.wait()
        return self.sentence


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Look:
    found = Look()
    monkeypatch.setattr("app.ui.presenters.inspector_turns.busy_sentence", found)
    return found


@pytest.fixture
def program(open_program: Open, tmp_path: Path) -> Program:
    tiny = write_tiny_model(
        tmp_path / "Tiny-Chat-F32.gguf", TinyModel(script=(*STORY, "<|im_end|>"))
    )
    program = open_program(tiny).ready()
    inspector = program.app.inspector
    program.until(lambda: inspector.session.plan is not None and not inspector.probing)
    return program


def runs(program: Program) -> int:
    """Return how many runs the prediction in force rests on."""
    plan = program.app.inspector.session.plan
    return 0 if plan is None or plan.fit is None else plan.fit.runs


def test_a_short_reply_is_learnt_when_it_is_known_that_nothing_disturbed_it(
    program: Program, look: Look
) -> None:
    program.send("Hello")
    program.answered()
    program.until(lambda: program.app.inspector.session.used_tokens > 60)
    assert runs(program) == 0  # a look takes longer than the reply did
    look.may_end.set()
    program.until(lambda: runs(program) == 1)


def test_a_busy_reply_is_not_learnt_and_the_next_quiet_one_is(program: Program, look: Look) -> None:
    session = program.app.inspector.session
    look.sentence = BUSY
    program.send("Hello")
    program.answered()
    look.may_end.set()
    program.until(lambda: session.busy == BUSY)
    assert runs(program) == 0
    look.sentence = ""
    program.send("Again")
    program.until(lambda: runs(program) == 1)
    assert session.busy == ""

"""An edit, another version and a continuation are measured before they begin, as a draft is."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from app.ui.transcript.items import MessageAction
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]
STORY = tuple(f" word{i}" for i in range(400))
LONG = "word " * 60


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tiny_model(tmp_path / "Tiny-F32.gguf", TinyModel(script=(*STORY, "<|im_end|>")))


def _load(program: Program, tiny: Path, n_ctx: int) -> None:
    program.app.settings.set_load_values(str(tiny), {"n_ctx": n_ctx})
    loaded: list[int] = []
    program.app.models.load(str(tiny), then=lambda: loaded.append(1))
    program.until(lambda: bool(loaded))
    program.ready()


@pytest.fixture
def program(open_program: Open, tiny: Path) -> Program:
    """Three answered messages that outgrow a context of 256, each alone does not."""
    program = open_program()
    _load(program, tiny, 1024)
    program.app.controller.set_chat_values(None, None, {"max_tokens": 16})
    for text in (LONG, LONG, LONG):
        program.answered_chat(text)
    return program


def _said(program: Program) -> str:
    bar = program.app.window.chat.overflow.bar
    return "" if bar is None else bar.text


def _press(program: Program, label: str) -> None:
    bar = program.app.window.chat.overflow.bar
    assert bar is not None
    (button,) = [button for button in bar.buttons() if button.text() == label]
    button.click()


def _smaller(program: Program, tiny: Path, n_ctx: int = 256) -> None:
    """Load the model again with a context that the chat does not fit."""
    _load(program, tiny, n_ctx)
    program.until(lambda: program.app.context.is_counted)


def _regenerate(program: Program) -> None:
    program.app.chat.regenerate_last()


def _edit(program: Program) -> None:
    asked = program.app.controller.path[-2]
    program.app.chat._on_action(MessageAction("edit", asked.id, asked.text + " once more"))


def _continue(program: Program) -> None:
    last = program.app.controller.path[-1]
    program.app.chat._on_action(MessageAction("continue", last.id))


TURNS = pytest.mark.parametrize("begin", [_regenerate, _edit, _continue])


@TURNS
def test_who_wants_to_be_asked_is_asked_before_turns_are_left_out(
    program: Program, tiny: Path, begin: Callable[[Program], None]
) -> None:
    program.app.settings.set("overflow", "ask")
    _smaller(program, tiny)
    controller = program.app.controller
    before = controller.path
    begin(program)
    program.until(lambda: bool(_said(program)))
    program.settle()
    assert controller.path == before
    assert not controller.runner.is_running
    assert _said(program).startswith("With this message the ")
    told = _said(program).partition(" Your edit waits: ")
    assert told[0].endswith("the model's memory: room for a reply of 16 tokens is kept.")
    assert bool(told[2]) == (begin is _edit)
    if begin is _edit:  # its beginning and no more
        assert told[2].startswith("“word word ")
        assert told[2].endswith("…”")
    assert program.app.window.chat.composer.text() == ""

    _press(program, "Send without them")
    program.until(lambda: controller.runner.is_running or controller.path != before)
    program.answered()
    program.until(lambda: controller.path != before and bool(controller.events))
    assert _said(program) == ""
    assert controller.events[-1].dropped


@TURNS
def test_otherwise_it_begins_and_a_line_marks_the_place(
    program: Program, tiny: Path, begin: Callable[[Program], None]
) -> None:
    _smaller(program, tiny)
    controller = program.app.controller
    before = controller.path
    begin(program)
    program.until(lambda: controller.path != before)
    program.answered()
    program.until(lambda: bool(controller.events))
    assert controller.events[-1].dropped


@TURNS
def test_what_fits_in_no_way_begins_once_the_context_is_longer(
    open_program: Open, tiny: Path, begin: Callable[[Program], None]
) -> None:
    program = open_program()
    _load(program, tiny, 1024)
    controller = program.app.controller
    controller.set_chat_values(None, None, {"max_tokens": 16})
    program.answered_chat(LONG * 5)
    _smaller(program, tiny)
    before = controller.path
    begin(program)
    program.until(lambda: _said(program).startswith("This needs a context of 512 tokens: "))
    program.settle()
    assert controller.path == before
    assert not controller.runner.is_running

    _press(program, "Context to 512")
    program.until(lambda: controller.path != before)
    program.answered()
    assert program.app.engine.state.model is not None
    assert program.app.engine.state.model.n_ctx == 512
    assert _said(program) == ""
    assert not controller.events


def test_an_edit_that_does_not_fit_is_not_lost_with_its_chat(program: Program, tiny: Path) -> None:
    controller, composer = program.app.controller, program.app.window.chat.composer
    here = controller.conversation
    assert here is not None
    asked = controller.path[-2]
    program.app.chat._on_action(MessageAction("edit", asked.id, LONG * 30))
    program.until(lambda: _said(program).startswith("This needs a context of "))
    program.app.chats.new_chat()
    program.until(lambda: controller.conversation is None)
    assert (composer.text(), _said(program)) == ("", "")
    program.app.chats.open(here.id)
    program.until(lambda: controller.conversation is not None)
    assert composer.text() == LONG * 30
    assert controller.path[-2] == asked


def test_an_edit_that_can_only_be_made_shorter_becomes_the_draft(
    open_program: Open, tmp_path: Path
) -> None:
    model = TinyModel(script=(*STORY, "<|im_end|>"), context=512)
    tiny = write_tiny_model(tmp_path / "Tiny-F32.gguf", model)
    program = open_program()
    _load(program, tiny, 512)
    controller, composer = program.app.controller, program.app.window.chat.composer
    controller.set_chat_values(None, None, {"max_tokens": 16})
    program.answered_chat("Hello")
    before = controller.path
    program.app.chat._on_action(MessageAction("edit", before[0].id, LONG * 30))
    program.until(lambda: composer.text() == LONG * 30)
    program.until(lambda: "It was trained for no more: shorten what is sent" in _said(program))
    assert controller.path == before


def test_another_turn_takes_the_place_of_one_that_is_held_back(program: Program) -> None:
    controller, composer = program.app.controller, program.app.window.chat.composer
    asked = controller.path[-2]
    program.app.chat._on_action(MessageAction("edit", asked.id, LONG * 30))
    program.until(lambda: _said(program).startswith("This needs a context of "))
    last = controller.path[-1]
    _regenerate(program)
    program.until(lambda: controller.path[-1].id != last.id)
    program.answered()
    program.until(lambda: composer.text() == LONG * 30)  # it can be sent, or made shorter
    assert controller.path[-2] == asked


def test_a_turn_that_is_still_measured_when_the_engine_dies_is_told(
    program: Program, tiny: Path
) -> None:
    _smaller(program, tiny)
    controller, composer = program.app.controller, program.app.window.chat.composer
    before = controller.path
    pid = program.app.engine.state.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)  # it does not answer any more
    _edit(program)
    program.settle()
    os.kill(pid, signal.SIGKILL)
    program.until(lambda: program.app.engine.state.status == "lost")
    program.until(lambda: composer.text() == before[-2].text + " once more")
    assert controller.path == before

"""A regeneration is taken back by Ctrl+Z: the reply before it is shown again, the new one stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window import Program, twice_answered

Open = Callable[..., Program]
STORY = tuple(f" word{i}" for i in range(400))


@pytest.fixture
def program(open_program: Open, tmp_path: Path) -> Program:
    return twice_answered(open_program, tmp_path)


def _leaf(program: Program) -> str:
    return program.app.controller.path[-1].id


def _regenerate(program: Program) -> None:
    """Press Regenerate; wait until another version is there, finished."""
    before = _leaf(program)
    program.app.window.actions_by_key["regenerate"].trigger()
    program.until(lambda: _leaf(program) != before)
    program.answered()


def test_the_key_shows_the_former_reply_again(program: Program) -> None:
    window, controller = program.app.window, program.app.controller
    first, shown = _leaf(program), program.texts()
    undo = window.actions_by_key["undo"]
    assert not undo.isEnabled()
    _regenerate(program)
    second = _leaf(program)
    program.until(window.toast.isVisible)
    assert window.toast.accessibleName() == "The reply was regenerated."
    window.chat.composer.setFocus()
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    program.until(lambda: _leaf(program) == first)
    assert program.texts() == shown
    assert not undo.isEnabled()
    assert not window.toast.isVisible()
    opened = controller.opened
    assert opened is not None
    assert opened.forks[first].ids == (first, second)  # nothing is lost


def test_several_are_taken_back_one_by_one(program: Program) -> None:
    undo = program.app.window.actions_by_key["undo"]
    leaves = [_leaf(program)]
    for _ in range(2):
        _regenerate(program)
        leaves.append(_leaf(program))
    for before in reversed(leaves[:-1]):
        undo.trigger()
        program.until(lambda before=before: _leaf(program) == before)
    assert not undo.isEnabled()


def test_what_followed_an_earlier_reply_comes_back_with_it(program: Program) -> None:
    controller = program.app.controller
    before, shown = controller.path, program.texts()
    controller.regenerate(before[1].id)
    program.until(lambda: len(controller.path) == 2)
    program.answered()
    program.app.window.actions_by_key["undo"].trigger()
    program.until(lambda: program.texts() == shown)
    assert _leaf(program) == before[-1].id


def test_one_that_is_still_written_is_stopped_and_kept(program: Program) -> None:
    controller = program.app.controller
    first, shown = _leaf(program), program.texts()
    controller.set_chat_values(None, None, {})
    program.settle()
    program.app.window.actions_by_key["regenerate"].trigger()
    undo = program.app.window.actions_by_key["undo"]
    program.until(lambda: undo.isEnabled() and program.written() > 0)
    undo.trigger()
    program.until(lambda: not controller.runner.is_running)
    program.until(lambda: program.texts() == shown)
    program.settle()
    assert _leaf(program) == first
    opened = controller.opened
    assert opened is not None
    (second,) = set(opened.forks[first].ids) - {first}
    kept = program.read(lambda store: store.message(second))
    assert kept is not None
    assert kept.state == "stopped"
    assert kept.text


@pytest.mark.parametrize("is_stopped_first", [False, True])
def test_one_without_a_word_leaves_no_version(
    open_program: Open, tmp_path: Path, is_stopped_first: bool
) -> None:
    tiny = write_tiny_model(tmp_path / "tiny.gguf", TinyModel(script=(*STORY, "<|im_end|>")))
    program = open_program()
    program.app.settings.set_load_values(str(tiny), {"n_ctx": 4096, "n_batch": 32, "n_ubatch": 32})
    program.app.models.load(str(tiny))
    program.ready()
    controller = program.app.controller
    controller.set_chat_values(None, None, {"max_tokens": 8})
    program.answered_chat("word " * 2000)
    loaded: list[int] = []
    program.app.models.load(str(tiny), then=lambda: loaded.append(1))  # it reads it all again
    program.until(lambda: bool(loaded))
    program.ready()
    first, shown = _leaf(program), program.texts()
    undo = program.app.window.actions_by_key["undo"]
    controller.runner.started.connect(controller.stop)  # before its first token
    program.app.window.actions_by_key["regenerate"].trigger()
    if is_stopped_first:
        program.until(lambda: _leaf(program) != first)
        program.answered()
    program.until(undo.isEnabled)
    second = _leaf(program)
    undo.trigger()
    program.until(lambda: not controller.runner.is_running)
    program.until(lambda: _leaf(program) == first)
    program.settle()
    program.settle()  # it is read again once it ended
    kept = program.read(lambda store: store.message(second))
    assert second != first
    assert kept is not None
    assert not kept.text
    opened = controller.opened
    assert opened is not None
    assert first not in opened.forks
    assert program.texts() == shown


def test_an_answer_where_there_was_none_is_no_version_to_go_back_from(program: Program) -> None:
    controller = program.app.controller
    program.app.controller.branches.delete(_leaf(program))
    program.until(lambda: len(controller.path) == 3)
    undo = program.app.window.actions_by_key["undo"]
    undo_count = len(program.app.window.toast._tokens)
    program.app.window.actions_by_key["regenerate"].trigger()
    program.until(lambda: len(controller.path) == 4)
    program.answered()
    program.settle()
    assert len(program.app.window.toast._tokens) == undo_count == 1
    assert undo.isEnabled()

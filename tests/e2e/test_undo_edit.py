"""An edit of a message is taken back by Ctrl+Z: the branch before it is shown again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.ui.transcript.items import MessageAction
from tests.helpers.window import Program, twice_answered

Open = Callable[..., Program]


@pytest.fixture
def program(open_program: Open, tmp_path: Path) -> Program:
    return twice_answered(open_program, tmp_path)


def _figures(program: Program, at: int) -> list[str]:
    return [figure.value for figure in program.app.controller._views()[at].figures]


def test_an_edited_reply_is_named_and_undone(program: Program) -> None:
    before, shown = program.app.controller.path, program.texts()
    program.app.chat._on_action(MessageAction("edit", before[1].id, "What I say"))
    program.until(lambda: program.texts() == ["Hello", "What I say"])
    assert _figures(program, 1)[0] == "edited by you"
    program.app.settings.set("show_statistics", False)
    assert _figures(program, 1) == ["edited by you"]  # no statistics: whose words they are
    undo = program.app.window.actions_by_key["undo"]
    program.until(undo.isEnabled)
    undo.trigger()
    program.until(lambda: program.texts() == shown)
    assert program.app.controller.path[-1].id == before[-1].id
    assert "edited by you" not in _figures(program, 1)
    assert not undo.isEnabled()
    opened = program.app.controller.opened
    assert opened is not None
    assert opened.forks[before[1].id].count == 2  # the edit is kept as a version


@pytest.mark.parametrize("while_written", [True, False])
def test_an_edited_question_is_undone(program: Program, while_written: bool) -> None:
    before, shown = program.app.controller.path, program.texts()
    if while_written:
        program.app.controller.set_chat_values(None, None, {})
        program.settle()
    program.app.chat._on_action(MessageAction("edit", before[0].id, "Good day"))
    undo = program.app.window.actions_by_key["undo"]
    program.until(lambda: program.texts()[0] == "Good day" and undo.isEnabled())
    if not while_written:
        program.answered()
    undo.trigger()
    program.until(lambda: not program.app.controller.runner.is_running)
    program.until(lambda: program.texts() == shown)
    program.settle()
    assert program.texts() == shown


def test_the_offer_covers_nothing_of_the_transcript(program: Program) -> None:
    window, transcript = program.app.window, program.app.transcript
    before = program.app.controller.path
    whole_px = transcript.height()
    program.app.chat._on_action(MessageAction("edit", before[1].id, "What I say. " * 400))
    program.until(window.toast.isVisible)
    program.until(lambda: transcript.height() < whole_px)
    bottom = transcript.mapTo(window, transcript.rect().bottomLeft()).y()
    toast = window.toast
    assert bottom < toast.mapTo(window, toast.rect().topLeft()).y()
    bar = transcript.verticalScrollBar()
    program.until(lambda: bar.maximum() > 0 and bar.value() == bar.maximum())
    toast.dismiss()
    program.until(lambda: transcript.height() == whole_px)
    assert bar.value() == bar.maximum()


def test_what_another_branch_left_in_the_cache_is_not_told_as_all(program: Program) -> None:
    controller, session = program.app.controller, program.app.inspector.session
    undo = program.app.window.actions_by_key["undo"]
    program.until(lambda: session.has_evaluated)
    first, second = (message.stats for message in controller.path if message.role == "assistant")
    assert first is not None
    assert second is not None
    # The second question: what was asked and answered first lies there still. The first: nothing.
    for place, cached_tokens in ((2, first.context_used_tokens), (0, 0)):
        asked = program.texts()[place]
        edit = MessageAction("edit", controller.path[place].id, "Otherwise")
        program.app.chat._on_action(edit)
        program.until(lambda place=place: program.texts()[place] == "Otherwise")
        program.answered()
        program.until(lambda: session.has_evaluated)
        undo.trigger()
        program.until(lambda place=place, asked=asked: program.texts()[place] == asked)
        program.until(lambda tokens=cached_tokens: session.chat_cached_tokens == tokens)
        assert session.used_tokens == second.context_used_tokens
        assert not session.has_evaluated

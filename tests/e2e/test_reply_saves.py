"""What of a reply is stored while it is still being written."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.data.conversations import ConversationStore
from app.ui.chat_views import figures_of
from inspector.records import TurnStats
from tests.app.engine.conftest import FakeScript
from tests.helpers.window import Program

Open = Callable[..., Program]
LONG = " ".join(f"w{i:04}" for i in range(300))
MOST_S = 0.5


def _stored(program: Program) -> int:
    """Return how many characters of the reply the store has, after all that was handed to it."""

    def work(store: ConversationStore) -> int:
        (chat,) = store.list_all()
        return len(store.path(chat.id)[-1].text)

    return program.read(work)


def test_first_words_are_stored_at_once(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=[LONG], decode_per_s=100)
    program = open_program(model).ready()
    first: list[int] = []
    program.app.controller.runner.text_arrived.connect(lambda *_: first.append(program.written()))
    program.send("Hello")
    program.until(lambda: bool(first))
    # Handed to the store with the first words or just before: it does not wait for a timer.
    assert _stored(program) > 0
    program.app.controller.stop()
    program.answered()


def test_never_more_than_half_a_second_is_unstored(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=[LONG * 20], decode_per_s=150)
    program = open_program(model).ready()
    shown: list[tuple[float, int]] = [(time.monotonic(), 0)]
    program.app.controller.runner.text_arrived.connect(
        lambda *_: shown.append((time.monotonic(), program.written()))
    )
    program.send("Hello")
    looked = 0
    while looked <= 3:
        program.qtbot.wait(90)
        asked_s = time.monotonic()
        program.settle()  # what was due by then is handed to the store by now
        stored = _stored(program)
        due = max((length for at, length in shown if at < asked_s - MOST_S), default=0)
        assert program.app.controller.runner.is_running
        assert stored >= due
        looked += due > 0
    program.app.controller.stop()
    program.answered()


def test_reply_that_the_program_left_keeps_its_figures(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=[LONG, LONG], decode_per_s=40)
    program = open_program(model).ready()
    program.send("Hello")
    program.until(lambda: program.written() > 60)
    live = program.app.controller.runner.live
    assert live is not None
    program.close()

    again = open_program(model).ready()
    again.until(lambda: bool(again.app.chats.conversations))
    (chat,) = again.app.chats.conversations
    again.app.chats.open(chat.id)
    again.until(lambda: len(again.app.controller.path) == 2)
    left = again.app.controller.path[-1]
    assert left.state == "interrupted"
    assert left.stats is not None
    assert left.stats.reply_tokens == live.reply_tokens
    assert left.stats.prompt_tokens > 0
    assert left.stats.decode_per_s == pytest.approx(live.decode_per_s)
    tokens = left.stats.reply_tokens

    again.app.controller.continue_reply(left.id)
    again.until(lambda: again.written() > len(left.text) + 60)
    again.app.controller.stop()
    again.answered()
    stats = again.app.controller.path[-1].stats
    assert stats is not None
    assert [part.stats.reply_tokens for part in stats.earlier] == [tokens]
    assert stats.whole_reply_tokens == tokens + stats.reply_tokens
    shown = figures_of(stats)[0]
    assert shown.value == f"{stats.whole_reply_tokens:,}"


def test_text_whose_tokens_nobody_counted_is_not_said_to_have_none() -> None:
    stats = TurnStats(
        n_ctx=8192, prompt_tokens=2325, reused_tokens=0, evaluated_tokens=2325, reply_tokens=0
    )
    assert figures_of(stats) == ()
    (nothing,) = figures_of(stats, has_text=False)
    assert nothing.value == "0"

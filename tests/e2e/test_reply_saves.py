"""What of a reply is stored while it is still being written."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from app.data.conversations import ConversationStore
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
    fake_script(replies=[LONG], decode_per_s=150)
    program = open_program(model).ready()
    shown: list[tuple[float, int]] = [(time.monotonic(), 0)]
    program.app.controller.runner.text_arrived.connect(
        lambda *_: shown.append((time.monotonic(), program.written()))
    )
    program.send("Hello")
    looked = 0
    while program.app.controller.runner.is_running:
        program.qtbot.wait(90)
        asked_s = time.monotonic()
        stored = _stored(program)
        due = max((length for at, length in shown if at < asked_s - MOST_S), default=0)
        assert stored >= due
        looked += due > 0
    program.answered()
    assert looked > 3

"""Several versions of a reply, written at once in the window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.data.records import Message
from app.ui.transcript.items import MessageAction
from tests.app.engine.conftest import FakeScript
from tests.helpers.window import Program

Open = Callable[..., Program]
LONG = " ".join(f"w{i}" for i in range(300))


def _versions(program: Program) -> list[Message]:
    """Return all versions of the reply on screen, oldest first."""
    opened = program.app.controller.opened
    assert opened is not None
    ids = opened.forks[opened.path[-1].id].ids
    found = program.read(lambda store: [store.message(i) for i in ids])
    return [message for message in found if message is not None]


def test_versions_are_written_at_once_and_stand_beside_the_first_answer(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["alone"])
    program = open_program(model).ready()
    program.send("Hello")
    program.answered()
    first = program.app.controller.path[-1]
    fake_script(replies=["one", "two", "three"])
    program.app.controller.act(MessageAction("regenerate_several", first.id))
    # The model was loaded for one reply: it is loaded again for as many as are wanted.
    program.until(lambda: program.texts() == ["Hello", "one"])
    program.answered()
    loaded = program.app.engine.state.model
    assert loaded is not None
    assert loaded.sequences == 3
    # For this once: the model's own settings are as they were, and so is its next load.
    assert program.app.settings.load_values(str(model))["sequences"] == 1
    messages = _versions(program)
    assert [m.text for m in messages] == ["alone", "one", "two", "three"]
    assert {m.state for m in messages} == {"complete"}
    assert messages[1].stats is not None
    assert messages[1].stats.replies_at_once == 3
    program.app.controller.act(MessageAction("next_version", messages[1].id))
    program.until(lambda: program.texts() == ["Hello", "two"])
    program.app.models.reload()
    program.until(lambda: program.app.engine.state.status == "loading")
    program.ready()
    again = program.app.engine.state.model
    assert again is not None
    assert again.sequences == 1


def test_other_versions_can_be_looked_at_while_they_are_written(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["alone"])
    program = open_program(model).ready()
    program.send("Hello")
    program.answered()
    fake_script(replies=[f"a {LONG}", f"b {LONG}", f"c {LONG}"], decode_per_s=40)
    program.app.controller.act(
        MessageAction("regenerate_several", program.app.controller.path[-1].id)
    )
    program.until(lambda: program.written() > 40)
    shown = program.app.controller.path[-1].id
    program.app.controller.act(MessageAction("next_version", shown))
    program.until(lambda: program.app.controller.path[-1].id != shown)
    # Gauge and panel count the tokens of all three, and then of the one that stays.
    first = program.app.controller.runner.live
    fit = program.app.controller.fit
    assert first is not None
    assert fit is not None
    alone = fit.prompt_tokens + first.reply_tokens
    gauge, session = program.app.window.header.gauge, program.app.inspector.session
    program.until(lambda: session.used_tokens > alone + first.reply_tokens)
    program.until(lambda: gauge._use is not None and gauge._use.used_tokens > 2 * alone)
    assert gauge._use is not None
    assert gauge._use.replies == 3
    second = program.app.controller.path[-1].id
    assert second in program.app.controller.runner.lives
    assert program.app.controller.runner.lives[second].text.startswith("b w0")
    program.app.controller.stop()
    program.answered()
    program.until(lambda: gauge._use is not None and gauge._use.replies == 1)
    texts = [message.text for message in _versions(program)]
    assert texts[0] == "alone"
    assert [text[:4] for text in texts[1:]] == ["a w0", "b w0", "c w0"]


def test_lost_engine_keeps_what_each_version_had(
    open_program: Open, fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["alone"])
    program = open_program(model).ready()
    program.send("Hello")
    program.answered()
    fake_script(
        replies=[f"a {LONG}", f"b {LONG}", f"c {LONG}"], decode_per_s=300, decode_fails_after=60
    )
    program.app.controller.act(
        MessageAction("regenerate_several", program.app.controller.path[-1].id)
    )
    program.until(lambda: len(program.app.controller.path) == 2 and program.written() > 0)
    program.answered()
    messages = _versions(program)[1:]
    assert [m.state for m in messages] == ["interrupted"] * 3
    assert all(len(m.text) > 40 for m in messages)

"""Gauge, draft and panel tell one figure of what a chat takes of the context."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from app.data.conversations import ConversationStore
from app.data.records import Message
from app.engine.protocol import PromptFit
from gguf_tools.plan import make_plan
from inspector.speed import speed_view
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]
STORY = tuple(f" word{i}" for i in range(60))


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tiny_model(
        tmp_path / "Tiny-Chat-F32.gguf", TinyModel(script=(*STORY, "<|im_end|>"))
    )


def _now(program: Program) -> int | None:
    view = program.app.inspector._view
    growth = None if view is None else view.growth
    return None if growth is None or growth.now is None else growth.now.tokens


def _notice(program: Program) -> str:
    view = program.app.inspector._view
    return "" if view is None else view.notice


def test_the_draft_of_a_new_chat_counts_template_and_system_prompt(
    open_program: Open, tiny: Path
) -> None:
    program = open_program(tiny).ready()
    session = program.app.inspector.session
    program.app.settings.set("system_prompt", "Answer briefly, in words of one syllable.")
    program.app.window.chat.composer.set_text("What is the capital of France")
    program.until(lambda: session.draft_tokens is not None)
    planned = session.draft_tokens
    program.send("What is the capital of France")
    program.answered()
    program.until(lambda: len(session.turns) == 1)
    assert planned == session.turns[0].stats.evaluated_tokens


def test_panel_and_gauge_tell_one_figure_of_a_chat_that_was_interrupted(
    open_program: Open, tiny: Path
) -> None:
    program = open_program(tiny).ready()
    chat = program.answered_chat("Hello")
    leaf = program.app.controller.path[-1].id

    def interrupted(store: ConversationStore) -> Message:
        asked = store.add_message(chat.id, leaf, "user", "Once more " * 30)
        return store.add_message(
            chat.id, asked.id, "assistant", "word " * 50, model_name="Tiny", state="interrupted"
        )

    program.read(interrupted)
    program.close()
    again = open_program(tiny).ready()
    again.app.chats.open(chat.id)
    session, gauge = again.app.inspector.session, again.app.window.header.gauge
    again.until(lambda: len(session.turns) == 1)
    last = session.turns[0].stats.context_used_tokens
    again.until(lambda: gauge._use is not None and gauge._use.used_tokens > last + 100)
    assert gauge._use is not None
    assert session.used_tokens == gauge._use.used_tokens
    again.until(lambda: _now(again) == session.used_tokens)
    view = again.app.inspector._view
    assert view is not None
    assert f"what this chat's {session.used_tokens:,} tokens will take" in view.notice


def test_prompt_that_was_stopped_is_not_told_as_measured(open_program: Open, tiny: Path) -> None:
    program = open_program()
    program.app.settings.set_load_values(str(tiny), {"n_ctx": 8192, "n_batch": 32, "n_ubatch": 32})
    program.app.models.load(str(tiny))
    program.ready()
    controller, session = program.app.controller, program.app.inspector.session
    controller.runner.started.connect(controller.stop)
    program.send("word " * 6000)
    program.answered()
    program.until(lambda: len(session.turns) == 1 and _now(program) == session.used_tokens)
    stats = session.turns[0].stats
    assert stats.evaluated_tokens < stats.prompt_tokens
    view = program.app.inspector._view
    assert view is not None
    bases = {part.kind: part.basis for part in view.budgets[0].segments}
    assert bases["kv_used"] == "planned"
    program.until(lambda: "Not all in the cache yet" in _notice(program))
    assert f"{stats.prompt_tokens:,} tokens will take" in view.notice

    gauge = program.app.window.header.gauge
    assert gauge._use is not None
    assert gauge._use.used_tokens == stats.prompt_tokens
    assert gauge._use.cached_tokens == stats.reused_tokens + stats.evaluated_tokens
    assert f"{stats.prompt_tokens:,} of 8,192 tokens" in gauge.toolTip()
    assert f"\n{gauge._use.cached_tokens:,} of them are in the cache;" in gauge.toolTip()

    controller.runner.started.disconnect(controller.stop)
    program.app.chat.regenerate_last()
    program.until(lambda: len(session.turns) == 1 and session.turns[0].stats.reply_tokens > 0)
    program.until(lambda: session.live is None and session.has_evaluated)
    assert session.turns[0].stats.reused_tokens == stats.reused_tokens + stats.evaluated_tokens
    program.until(lambda: gauge._use is not None and gauge._use.cached_tokens is None)
    assert "tokens of the model's context are used" in gauge.toolTip()


def test_the_gauge_tells_what_of_a_chat_is_in_the_cache(open_program: Open, tiny: Path) -> None:
    program = open_program(tiny).ready()
    gauge, controller = program.app.window.header.gauge, program.app.controller

    def cached() -> int | None:
        assert gauge._use is not None
        return gauge._use.cached_tokens

    program.app.controller.set_chat_values(None, None, {"max_tokens": 8})
    first = program.answered_chat("Hello")
    program.until(lambda: gauge._use is not None and gauge._use.used_tokens > 0)
    assert cached() is None
    program.app.chats.new_chat()
    program.answered_chat("Another")
    assert cached() is None
    program.app.chats.open(first.id)  # the other chat took its place
    program.until(lambda: {m.conversation_id for m in controller.path} == {first.id})
    program.until(lambda: cached() == 0)
    assert "They are not in the cache yet" in gauge.toolTip()
    last = controller.path[-1].id
    program.app.chat.regenerate_last()
    program.until(lambda: controller.path[-1].id != last)
    program.answered()
    program.until(lambda: cached() is None)
    program.app.models.reload()
    program.until(lambda: cached() == 0)


def test_a_draft_before_which_messages_leave_is_told_as_it_will_be_sent(
    open_program: Open, tiny: Path
) -> None:
    """Of what leaves only that is named which leaves now; the gauge reads what the engine reads."""
    program = open_program()
    program.app.settings.set_load_values(str(tiny), {"n_ctx": 256})
    program.app.models.load(str(tiny))
    program.ready()
    context, controller = program.app.context, program.app.controller
    composer, gauge = program.app.window.chat.composer, program.app.window.header.gauge
    controller.set_chat_values(None, None, {"max_tokens": 32})

    def said() -> str:
        bar = program.app.window.chat.overflow.bar
        return "" if bar is None else bar.text

    def draft(text: str) -> None:
        composer.set_text(text)
        program.until(lambda: context._is_checked)

    for _ in range(12):  # until messages leave that are not the first to do so
        draft("word " * 10)
        if said() and controller.events:
            break
        program.answered_chat("word " * 10)
        program.settle()
    before = controller.events[-1]
    told = said()
    assert told.endswith("leave the model's memory: room for a reply of 32 tokens is kept.")
    figures = composer.figures_text()
    assert figures.startswith("Draft ")

    read: list[tuple[int, str]] = []
    sent: list[PromptFit] = []

    def look(_message_id: str) -> None:
        live = controller.runner.live
        if live is not None and live.waiting and gauge._use is not None:
            read.append((gauge._use.used_tokens, composer.figures_text()))

    controller.runner.started.connect(lambda _chat, fit: sent.append(fit))
    controller.runner.changed.connect(look)
    program.answered_chat("word " * 10)
    program.until(lambda: controller.events[-1].id != before.id)
    fit = sent[0]
    assert fit.dropped[: len(before.dropped)] == before.dropped
    assert len(fit.leaving) == len(fit.dropped) - len(before.dropped)
    assert told.startswith(
        f"With this message the {len(fit.leaving)} oldest ones ({fit.leaving_tokens} tokens) leave "
    )
    assert 0 < fit.leaving_tokens < fit.dropped_tokens
    share = round(100 * fit.prompt_tokens / 256)
    assert figures.endswith(f" tokens · context after sending {share} %")
    assert read
    empty = f"Draft 0 tokens · context after sending {share} %"
    assert set(read) == {(fit.prompt_tokens, empty)}
    assert share <= 50


def test_a_full_chat_has_no_figure_of_what_is_never_sent(
    open_program: Open, tmp_path: Path
) -> None:
    endless = TinyModel(script=tuple(f" word{i}" for i in range(400)))
    tiny = write_tiny_model(tmp_path / "Endless-F32.gguf", endless)
    program = open_program()
    program.app.settings.set_load_values(str(tiny), {"n_ctx": 256})
    program.app.models.load(str(tiny))
    program.ready()
    composer, gauge = program.app.window.chat.composer, program.app.window.header.gauge
    program.answered_chat("Hello")
    program.until(lambda: gauge._use is not None and gauge._use.used_tokens == 256)
    program.until(lambda: composer.figures_text() == "Draft 0 tokens")
    composer.set_text("word")
    program.until(lambda: composer.figures_text() != "Draft 0 tokens")
    program.until(lambda: program.app.context._is_checked)
    assert composer.figures_text() == "Draft 4 tokens · context after sending 5 %"


def test_another_chats_turn_takes_the_cache_on_gauge_and_panel(
    open_program: Open, tiny: Path
) -> None:
    program = open_program(tiny).ready()
    gauge, controller = program.app.window.header.gauge, program.app.controller
    session = program.app.inspector.session
    first = program.answered_chat("Hello")
    program.until(lambda: session.has_evaluated)
    program.app.chats.new_chat()
    program.send("Another")
    program.app.chats.open(first.id)  # while the other is answered, or just after
    program.until(lambda: {m.conversation_id for m in controller.path} == {first.id})
    program.until(lambda: not controller.runner.is_running)
    program.until(lambda: gauge._use is not None and gauge._use.cached_tokens == 0)

    def told() -> tuple[str, str]:
        view = program.app.inspector._view
        assert view is not None
        found = [p.basis for p in view.budgets[0].segments if p.kind == "kv_used"]
        return "".join(found), view.notice

    program.until(lambda: told()[0] == "planned")
    assert told()[1].startswith("Not in the cache yet: ")
    assert "They are not in the cache yet" in gauge.toolTip()


def test_full_context_is_never_more_than_full(open_program: Open, tmp_path: Path) -> None:
    endless = TinyModel(script=tuple(f" word{i}" for i in range(400)))
    tiny = write_tiny_model(tmp_path / "Endless-F32.gguf", endless)
    program = open_program()
    program.app.settings.set_load_values(str(tiny), {"n_ctx": 256})
    program.app.models.load(str(tiny))
    program.ready()
    session, gauge = program.app.inspector.session, program.app.window.header.gauge
    seen: list[int] = []
    program.app.controller.text_arrived.connect(lambda *_: seen.append(session.used_tokens))
    program.send("Hello")
    program.answered()
    program.until(lambda: len(session.turns) == 1 and gauge._use is not None)
    stats = session.turns[0].stats
    assert stats.prompt_tokens + stats.reply_tokens == 257
    program.until(lambda: _now(program) == 256)
    assert gauge._use is not None
    assert (gauge._use.used_tokens, gauge._use.limit_tokens) == (256, 256)
    assert seen
    assert max(seen) <= 256
    view = program.app.inspector._view
    assert view is not None
    (in_use,) = [part for part in view.budgets[0].segments if part.kind == "kv_used"]
    assert in_use.formula.startswith("256 tokens take ")


def test_more_chats_follow_the_memory_that_is_left(open_program: Open, tiny: Path) -> None:
    """What a chat took besides its cache, or another program, is no room for more chats."""
    program = open_program(tiny).ready()
    program.answered_chat("Hello")
    inspector = program.app.inspector
    session = inspector.session
    program.until(lambda: session.plan is not None and session.sample is not None)
    inspector._timer.stop()  # samples come from here
    plan, sample = session.plan, session.sample
    assert plan is not None
    assert sample is not None
    host = plan.devices[0]
    chat_bytes = host.kv_bytes + host.state_bytes

    def fits(free_bytes: int) -> tuple[int | None, int]:
        """Return how many more chats are told, and the room below the load line, in bytes."""
        device = msgspec.structs.replace(
            sample.devices[0], total_bytes=16 << 30, free_bytes=free_bytes
        )
        inspector._on_memory(msgspec.structs.replace(sample, devices=(device,)))
        inspector._show()
        view = inspector._view
        assert view is not None
        assert view.growth is not None
        room = view.budgets[0].headroom_bytes
        assert room is not None
        return view.growth.fitting_conversations, room

    free = 8 << 30
    most, room = fits(free)
    assert most == 255  # as many as the engine takes at once
    for chats in (7, 3, 0):
        wanted = chats * chat_bytes + chat_bytes // 2
        assert fits(free - room + wanted) == (chats, wanted)


def test_a_turn_is_told_as_it_was_judged_after_a_restart(open_program: Open, tiny: Path) -> None:
    """What memory was measured at later does not change what a turn was held against."""
    program = open_program(tiny).ready()
    program.until(lambda: not program.app.inspector.probing)
    _set_bandwidth(program, 40e9)
    program.app.controller.set_chat_values(None, None, {"max_tokens": 40})
    chat = program.answered_chat("Hello")
    session = program.app.inspector.session
    program.until(lambda: bool(session.turns) and bool(session.turns[-1].message))
    before = speed_view(session)
    assert before is not None
    assert before.decode.ceiling is not None
    assert "40.0 GB/s" in before.decode.formula
    program.close()

    again = open_program(tiny).ready()
    again.until(lambda: not again.app.inspector.probing)
    _set_bandwidth(again, 160e9)
    session = again.app.inspector.session
    fresh = speed_view(session)
    assert fresh is not None
    assert "160 GB/s" in fresh.decode.formula
    again.app.chats.open(chat.id)
    again.until(lambda: len(session.turns) == 1)
    after = speed_view(session)
    assert after is not None
    assert after.decode == before.decode


def _set_bandwidth(program: Program, bytes_per_s: float) -> None:
    """Have the panel's plan rest on this rate of main memory, as if it had been measured."""
    session = program.app.inspector.session
    program.until(lambda: session.planner is not None)
    plan = session.planner
    assert plan is not None
    machine = plan.machine.with_bandwidth(bytes_per_s)
    session.planned(
        make_plan(plan.facts, plan.load, machine), program.app.inspector.plan.live.asked
    )

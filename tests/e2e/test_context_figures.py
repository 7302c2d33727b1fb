"""Gauge, draft and panel tell one figure of what a chat takes of the context."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.data.conversations import ConversationStore
from app.data.records import Message
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
    assert "Not all in the cache yet" in view.notice
    assert f"{stats.prompt_tokens:,} tokens will take" in view.notice

    controller.runner.started.disconnect(controller.stop)
    program.app.chat.regenerate_last()
    program.until(lambda: len(session.turns) == 1 and session.turns[0].stats.reply_tokens > 0)
    program.until(lambda: session.live is None and session.has_evaluated)
    assert session.turns[0].stats.reused_tokens == stats.reused_tokens + stats.evaluated_tokens


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

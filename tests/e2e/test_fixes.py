"""A finding's buttons do what they say, with a real engine; what they change can be undone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from inspector.widgets.finding_card import Finding, FixButton
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]
STORY = tuple(f" word{i}" for i in range(60))


@pytest.fixture
def tight(tmp_path: Path, open_program: Open) -> Program:
    """A chat that has nearly filled a window of 512 tokens."""
    path = write_tiny_model(
        tmp_path / "Tiny-Chat-F32.gguf",
        TinyModel(script=(*STORY, "<|im_end|>"), context=4096),
    )
    program = open_program(path).ready()
    program.app.models.load(str(path), changes={"n_ctx": 512})
    program.until(lambda: n_ctx(program) == 512 and program.app.engine.state.status == "ready")
    for words in (30, 30, 57):  # as much as leaves the reply its room
        program.send("Hello " * words)
        program.answered()
    return program


def n_ctx(program: Program) -> int:
    """Return the context of the loaded model, 0 while none is."""
    model = program.app.engine.state.model
    return 0 if model is None else model.n_ctx


def button(program: Program, finding: str, text: str) -> FixButton:
    """Return a finding's button as soon as the panel shows it."""

    def found() -> list[FixButton]:
        panel = program.app.inspector._panel
        shown: list[Finding] = [] if panel is None else panel.findings.findings
        return [
            item
            for card in shown
            if card.view is not None and card.view.id == finding
            for item in card.buttons
            if item.fix.label == text
        ]

    program.until(lambda: bool(found()))
    return found()[0]


def kv_bytes(program: Program) -> int:
    """Return the engine's own size of the cache."""
    model = program.app.engine.state.model
    assert model is not None
    return sum(item.size_bytes for item in model.buffers if item.what == "kv")


def test_a_longer_context_is_loaded_and_undone(tight: Program) -> None:
    before = kv_bytes(tight)
    window, settings = tight.app.window, tight.app.settings
    path = str(tight.app.models.path)
    button(tight, "window", "Context to 1,024").click()
    tight.until(lambda: n_ctx(tight) == 1024)
    assert kv_bytes(tight) == pytest.approx(2 * before, rel=0.05)  # the log rounds
    assert settings.load_values(path)["n_ctx"] == 1024
    # Gauge and panel tell one figure of one chat.
    used = tight.app.inspector.session.used_tokens
    tight.until(lambda: tight.app.context._used_tokens == used)
    tight.until(window.toast.isVisible)
    assert "Loaded again: Context to 1,024." in window.toast.undo_button.accessibleName()
    window.toast.undo_button.click()
    tight.until(lambda: n_ctx(tight) == 512 and tight.app.engine.state.status == "ready")
    assert kv_bytes(tight) == before
    assert settings.load_values(path)["n_ctx"] == 512


def test_two_fixes_are_undone_from_the_last_on(tight: Program) -> None:
    fixes, toast = tight.app.inspector.fixes, tight.app.window.toast

    def is_loaded(tokens: int) -> bool:
        return n_ctx(tight) == tokens and tight.app.engine.state.status == "ready"

    for tokens in (1024, 2048):
        before = len(fixes._before)
        fixes.take(f'{{"n_ctx":{tokens}}}')
        tight.until(lambda tokens=tokens: is_loaded(tokens))
        tight.until(lambda before=before: len(fixes._before) == before + 1)
    for tokens in (1024, 512):
        toast.undo_last()
        tight.until(lambda tokens=tokens: is_loaded(tokens))
    assert not fixes._before


def test_a_new_chat_begins_with_a_summary(tight: Program) -> None:
    old = tight.app.controller.conversation
    assert old is not None
    button(tight, "window", "New chat with a summary").click()
    tight.until(lambda: tight.app.controller.conversation is None)
    prompt = tight.app.controller.new_chat_values.system_prompt
    assert prompt is not None
    assert "Summary of the conversation before this one:" in prompt
    assert "word" in prompt.partition("one:")[2]


def test_a_model_is_unloaded(tight: Program) -> None:
    tight.app.inspector.fixes.take("unload")
    tight.until(lambda: tight.app.engine.state.model is None)

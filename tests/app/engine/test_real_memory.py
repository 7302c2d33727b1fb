"""llama.cpp itself with tiny models: its memory, what is cut back of it, and what outgrows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.engine.protocol import (
    Failed,
    LoadOptions,
)
from tests.helpers.engine import BlockingDriver, answer_of, chat, turn
from tests.helpers.real_engine import STORY, WORDS, load_tiny
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

# --- memory that can't be cut back (A25) -----------------------------------------------------


@pytest.mark.parametrize("architecture", ["mamba", "lfm2"])
def test_a25_recurrent_and_hybrid_models_answer_second_turns_edits_and_regenerations(
    architecture: str, driver: BlockingDriver, tmp_path: Path
) -> None:
    model = TinyModel(architecture=architecture, script=(*WORDS, "<|im_end|>"))  # type: ignore[arg-type]
    load_tiny(driver, tmp_path, model)
    text, _, first = answer_of(turn(driver, chat("Hello")))
    assert text == STORY
    # the next turn goes on where the last one ended: nothing has to be cut
    second, started, _ = answer_of(turn(driver, chat("Hello", text, "More")))
    assert second == STORY
    assert started.reused_tokens == first.stats.context_used_tokens
    # a regeneration goes back to the checkpoint at the end of the prompt
    again, started, _ = answer_of(turn(driver, chat("Hello", text, "More")))
    assert again == STORY
    assert started.new_tokens == 1
    assert started.reuse_note is None
    # an edit of the first message leaves no checkpoint to go back to, and says so
    edited, started, _ = answer_of(turn(driver, chat("Goodbye to you")))
    assert edited == STORY
    assert started.reused_tokens == 0
    assert started.reuse_note is not None
    assert "recurrent state" in started.reuse_note


def test_sliding_window_that_forgot_the_place_is_noticed(
    driver: BlockingDriver, tmp_path: Path
) -> None:
    model = TinyModel(
        architecture="gemma3", window=64, layers=6, context=4096, script=(*WORDS, "<|im_end|>")
    )
    options = LoadOptions(n_batch=64, n_ubatch=64)
    load_tiny(driver, tmp_path, model, options)
    long = "tell me more " * 120
    text, _, _ = answer_of(turn(driver, chat("Hello", "Yes", long)))
    assert text == STORY
    edited, started, _ = answer_of(turn(driver, chat("Hello", "No", long)))
    assert edited == STORY
    assert started.reuse_note is not None
    assert "sliding-window" in started.reuse_note
    # with the whole window still there a short cut needs no note
    again, started, _ = answer_of(turn(driver, chat("Hello", "No", long)))
    assert again == STORY
    assert started.new_tokens == 1
    assert started.reuse_note is None


def test_full_sliding_window_cache_can_be_cut_anywhere(
    driver: BlockingDriver, tmp_path: Path
) -> None:
    model = TinyModel(
        architecture="gemma3", window=64, layers=6, context=4096, script=(*WORDS, "<|im_end|>")
    )
    load_tiny(driver, tmp_path, model, LoadOptions(n_batch=64, n_ubatch=64, swa_full=True))
    long = "tell me more " * 120
    answer_of(turn(driver, chat("Hello", "Yes", long)))
    text, started, _ = answer_of(turn(driver, chat("Hello", "No", long)))
    assert text == STORY
    assert started.reused_tokens > 0
    assert started.reuse_note is None


def test_reused_prefix_gives_the_same_logits_as_a_full_pass(
    driver: BlockingDriver, tmp_path: Path
) -> None:
    """A random model would babble differently if one cached cell were wrong."""
    path = write_tiny_model(tmp_path / "m.gguf", TinyModel(seed=3, layers=3))
    shared = "tell me more of this " * 20
    driver.client.load(str(path))
    answer_of(turn(driver, chat(shared + "One"), max_tokens=20))
    warm, started, _ = answer_of(turn(driver, chat(shared + "Two"), max_tokens=40))
    assert started.reused_tokens > 100
    driver.client.load(str(path))
    cold, started, _ = answer_of(turn(driver, chat(shared + "Two"), max_tokens=40))
    assert started.reused_tokens == 0
    assert warm == cold


# --- overflow (A21 to A26) -------------------------------------------------------------------


def test_a21_chat_that_outgrows_the_window_goes_on(driver: BlockingDriver, tmp_path: Path) -> None:
    load_tiny(driver, tmp_path, TinyModel(script=(*WORDS, "<|im_end|>")), LoadOptions(n_ctx=512))
    turns: list[str] = []
    keep_from = None
    reused = 0
    for index in range(20):
        turns.append(f"Question {index}")
        prompt = chat(*turns, system="Answer only in French.", keep_from=keep_from)
        text, started, done = answer_of(turn(driver, prompt))
        assert text == STORY
        assert "s" not in started.fit.dropped  # A23: the system prompt stays
        assert len(started.fit.dropped) % 2 == 0
        assert done.stats.context_used_tokens <= 512
        keep_from = started.fit.keep_from
        reused += started.reused_tokens > started.fit.prompt_tokens // 2
        turns.append(text)
    assert keep_from is not None
    assert reused >= 14  # A26: trimmed in steps, so most turns reuse the prefix


def test_a21_message_that_can_never_fit_is_refused_with_numbers(
    driver: BlockingDriver, tmp_path: Path
) -> None:
    load_tiny(driver, tmp_path, TinyModel(), LoadOptions(n_ctx=512))
    (failed,) = turn(driver, chat("word " * 1000))
    assert isinstance(failed, Failed)
    assert failed.kind == "does_not_fit"
    assert failed.fit is not None
    assert failed.fit.problem == "message_too_long"
    assert f"{failed.fit.needed_tokens:,}" in failed.message
    assert "512" in failed.message


def test_a22_nothing_is_left_out_when_that_was_not_wanted(
    driver: BlockingDriver, tmp_path: Path
) -> None:
    load_tiny(driver, tmp_path, TinyModel(), LoadOptions(n_ctx=512))
    turns = ["tell me more " * 20] * 9
    (failed,) = turn(driver, chat(*turns, trim=False))
    assert isinstance(failed, Failed)
    assert failed.fit is not None
    assert failed.fit.problem == "does_not_fit"


@pytest.mark.parametrize("architecture", ["llama", "mamba"])
def test_reply_that_fills_the_window_says_so(
    driver: BlockingDriver, tmp_path: Path, architecture: str
) -> None:
    """A recurrent model has no cells that run out, so llama.cpp would never refuse a token."""
    model = TinyModel(architecture=architecture, script=(*WORDS,))  # type: ignore[arg-type]
    load_tiny(driver, tmp_path, model, LoadOptions(n_ctx=256))
    _, _, done = answer_of(turn(driver, chat("Hello"), ignore_eos=True))
    assert done.stop == "context_full"
    assert done.stats.prompt_tokens + done.stats.reply_tokens == 257  # the last isn't evaluated
    assert done.stats.context_used_tokens == 256

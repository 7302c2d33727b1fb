"""A draft model's guesses, checked by the model: the same reply, more tokens a step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.engine.protocol import Cancel, Chunk, Done, Loaded, LoadOptions
from tests.helpers.engine import Driver, answer_of, chat, generate, turn
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

STORY = tuple(f" word{i}" for i in range(60))
SCRIPT = (*STORY, "<|im_end|>")
TOLD = "".join(STORY)


def _pair(folder: Path, **draft: object) -> tuple[Path, Path]:
    """Write a model that tells the story, and a smaller one of the same vocabulary."""
    large = write_tiny_model(folder / "large.gguf", TinyModel(script=SCRIPT, layers=3))
    values = {"script": SCRIPT, "layers": 1, "seed": 2} | draft
    small = write_tiny_model(folder / "small.gguf", TinyModel(**values))  # type: ignore[arg-type]
    return large, small


def _load(driver: Driver, large: Path, small: Path | None, tokens: int = 4) -> Loaded:
    draft = None if small is None else str(small)
    loaded = driver.load(large, LoadOptions(draft=draft, draft_tokens=tokens))
    assert isinstance(loaded, Loaded), loaded
    return loaded


def test_draft_that_knows_the_story_is_always_right(
    make_driver: Callable[[], Driver], tmp_path: Path
) -> None:
    driver = make_driver()
    loaded = _load(driver, *_pair(tmp_path))
    assert loaded.model.draft == "small"
    assert "The draft model small takes" in loaded.model.notices[-1]
    text, _, done = answer_of(turn(driver, chat("Tell me a story")))
    assert text == TOLD
    assert done.stop == "end_of_turn"
    stats = done.stats
    # 60 tokens in steps of five: the first is drawn from the prompt, four a step are guessed.
    assert stats.accepted_share == 1.0
    assert stats.accepted_tokens >= stats.reply_tokens * 3 // 4
    # What was written lies in the cache, so the next turn evaluates only what is new.
    _, started, _ = answer_of(turn(driver, chat("Tell me a story", text, "Again")))
    assert started.reused_tokens == stats.prompt_tokens + stats.reply_tokens


def test_draft_that_is_wrong_changes_nothing(
    make_driver: Callable[[], Driver], tmp_path: Path
) -> None:
    large, _ = _pair(tmp_path)
    driver = make_driver()
    # Random weights over the same vocabulary: guesses that are never right.
    babble = write_tiny_model(
        tmp_path / "babble.gguf", TinyModel(extra_tokens=SCRIPT[:-1], layers=1)
    )
    _load(driver, large, babble)
    text, _, done = answer_of(turn(driver, chat("Tell me a story")))
    assert text == TOLD
    assert done.stats.drafted_tokens > 0
    assert done.stats.accepted_share is not None
    assert done.stats.accepted_share < 0.2


@pytest.mark.parametrize("sampling", [{"temperature": 0.0}, {"temperature": 0.8, "seed": 11}])
def test_real_model_writes_what_it_writes_alone(
    make_driver: Callable[[], Driver], starter: Path, sampling: dict[str, float]
) -> None:
    question = chat("Name three colours of the rainbow.")
    driver = make_driver()
    assert isinstance(driver.load(starter, LoadOptions(n_ctx=512)), Loaded)
    alone, _, _ = answer_of(turn(driver, question, max_tokens=24, **sampling))
    _load(driver, starter, starter, 3)
    text, _, done = answer_of(turn(driver, question, max_tokens=24, **sampling))
    assert text == alone
    assert done.stats.accepted_share is not None
    if not sampling["temperature"]:
        assert done.stats.accepted_share > 0.9  # it drafts for itself


def test_limits_hold_in_the_middle_of_a_step(
    make_driver: Callable[[], Driver], tmp_path: Path
) -> None:
    driver = make_driver()
    large, small = _pair(tmp_path)
    _load(driver, large, small)
    text, _, done = answer_of(turn(driver, chat("Tell me a story"), max_tokens=7))
    assert (done.stop, done.stats.reply_tokens) == ("token_limit", 7)
    assert TOLD.startswith(text)
    text, _, done = answer_of(turn(driver, chat("Tell me a story"), stop=(" word7",)))
    assert done.stop == "stop_string"
    assert text == "".join(STORY[:7])
    driver.load(large, LoadOptions(n_ctx=32_768, draft=str(small)))
    messages = []
    request = generate(driver, chat("Tell me a story"), ignore_eos=True)
    driver.send(request)
    for message in driver.receive(request.id):
        messages.append(message)
        if isinstance(message, Chunk) and message.reply_tokens > 20:
            driver.send(Cancel(id=driver.new_id(), target=request.id))
    last = messages[-1]
    assert isinstance(last, Done)
    assert last.stop == "stopped"
    text, _, _ = answer_of(turn(driver, chat("Tell me a story")))
    assert text == TOLD


def test_window_is_filled_to_its_end(make_driver: Callable[[], Driver], tmp_path: Path) -> None:
    large, small = _pair(tmp_path)
    driver = make_driver()
    loaded = driver.load(large, LoadOptions(n_ctx=256, draft=str(small), draft_tokens=7))
    assert isinstance(loaded, Loaded)
    _, _, done = answer_of(turn(driver, chat("Tell me a story"), ignore_eos=True))
    assert done.stop == "context_full"
    assert done.stats.prompt_tokens + done.stats.reply_tokens == 257


def test_draft_that_is_not_there_costs_no_model(
    make_driver: Callable[[], Driver], tmp_path: Path
) -> None:
    large, _ = _pair(tmp_path)
    driver = make_driver()
    loaded = _load(driver, large, tmp_path / "nowhere.gguf")
    assert loaded.model.draft is None
    assert loaded.model.notices[-1].startswith("No draft model is used: There is no file")


@pytest.mark.parametrize(
    ("draft", "why"),
    [
        ({"vocabulary": "spm"}, "another vocabulary"),
        ({"architecture": "mamba"}, "can't be cut back"),
    ],
)
def test_model_that_cannot_draft_is_named_and_left_out(
    make_driver: Callable[[], Driver], tmp_path: Path, draft: dict[str, str], why: str
) -> None:
    driver = make_driver()
    loaded = _load(driver, *_pair(tmp_path, **draft))
    assert loaded.model.draft is None
    assert why in loaded.model.notices[-1]
    text, _, _ = answer_of(turn(driver, chat("Tell me a story")))
    assert text == TOLD

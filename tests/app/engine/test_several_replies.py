"""Several replies to one prompt, decoded in one batch, with the real engine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from app.engine.protocol import (
    Cancel,
    Chunk,
    Done,
    EngineMessage,
    Failed,
    Loaded,
    LoadOptions,
    ReplyDone,
)
from app.paths import starter_model
from tests.app.engine.conftest import FakeScript
from tests.helpers.engine import Driver, answer_of, chat, generate, turn
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

QUESTION = chat("Name three colours of the rainbow and what they remind you of.")


@pytest.fixture
def loaded(make_driver: Callable[[], Driver]) -> Driver:
    starter = starter_model()
    assert starter is not None
    driver = make_driver()
    answer = driver.load(starter, LoadOptions(n_ctx=1024, sequences=4, threads=1))
    assert isinstance(answer, Loaded), answer
    assert answer.model.sequences == 4
    return driver


def several(driver: Driver, replies: int, **sampling: object) -> list[EngineMessage]:
    request = generate(driver, QUESTION, **({"temperature": 0.9, "seed": 5} | sampling))
    request = msgspec.structs.replace(request, replies=replies)
    driver.send(request)
    return list(driver.receive(request.id))


def texts_of(messages: list[EngineMessage]) -> dict[int, str]:
    texts: dict[int, str] = defaultdict(str)
    for message in messages:
        if isinstance(message, Chunk):
            texts[message.reply] += message.answer
    return dict(texts)


def test_four_replies_share_one_prompt(loaded: Driver) -> None:
    messages = several(loaded, 4, max_tokens=24, ignore_eos=True)
    texts = texts_of(messages)
    assert sorted(texts) == [0, 1, 2, 3]
    assert len(set(texts.values())) == 4
    others = [message for message in messages if isinstance(message, ReplyDone)]
    done = messages[-1]
    assert isinstance(done, Done)
    assert sorted(message.reply for message in others) == [1, 2, 3]
    assert all(message.stop == "token_limit" for message in others)
    assert all(message.stats.reply_tokens == 24 for message in others)
    assert done.stats.replies_at_once == 4
    assert done.stats.batch_reply_tokens == 96
    # The prompt went through the model once, for all.
    assert done.stats.evaluated_tokens == done.stats.prompt_tokens
    assert done.stats.batch_per_s is not None
    assert done.stats.decode_per_s is not None
    assert done.stats.batch_per_s > 2 * done.stats.decode_per_s


def test_each_reply_is_what_it_would_be_alone(loaded: Driver) -> None:
    texts = texts_of(several(loaded, 3, max_tokens=8))
    for number in range(3):
        alone, _, _ = answer_of(
            turn(loaded, QUESTION, temperature=0.9, seed=5 + number, max_tokens=8)
        )
        assert texts[number] == alone


def test_next_turn_goes_on_from_the_first_reply(loaded: Driver) -> None:
    messages = several(loaded, 3, max_tokens=10)
    done = messages[-1]
    assert isinstance(done, Done)
    first = texts_of(messages)[0]
    more = chat(QUESTION.messages[0].content, first, "And a fourth?")
    _, started, _ = answer_of(turn(loaded, more, max_tokens=4))
    # All but the last token of the reply, which was drawn and not evaluated.
    assert started.reused_tokens == done.stats.prompt_tokens + done.stats.reply_tokens - 1


def test_another_version_costs_only_its_own_tokens(loaded: Driver) -> None:
    messages = several(loaded, 3, max_tokens=20)
    done = messages[-1]
    assert isinstance(done, Done)
    second = texts_of(messages)[1]
    more = chat(QUESTION.messages[0].content, second, "And a fourth?")
    _, started, _ = answer_of(turn(loaded, more, max_tokens=4))
    assert started.reused_tokens >= done.stats.prompt_tokens


def test_stop_ends_all_and_keeps_what_was_written(loaded: Driver) -> None:
    request = msgspec.structs.replace(
        generate(loaded, QUESTION, temperature=0.9, seed=5, ignore_eos=True), replies=3
    )
    loaded.send(request)
    messages: list[EngineMessage] = []
    for message in loaded.receive(request.id):
        messages.append(message)
        if isinstance(message, Chunk) and message.reply_tokens > 8:
            loaded.send(Cancel(id=loaded.new_id(), target=request.id))
    done = messages[-1]
    assert isinstance(done, Done)
    assert done.stop == "stopped"
    others = [message for message in messages if isinstance(message, ReplyDone)]
    assert [message.stop for message in others] == ["stopped", "stopped"]
    assert all(texts_of(messages)[number] for number in range(3))
    # The engine is whole: the same replies can be had again.
    assert texts_of(several(loaded, 3, max_tokens=8)) == texts_of(several(loaded, 3, max_tokens=8))


def test_full_window_ends_all_of_them(make_driver: Callable[[], Driver]) -> None:
    starter = starter_model()
    assert starter is not None
    driver = make_driver()
    assert isinstance(driver.load(starter, LoadOptions(n_ctx=256, sequences=4, threads=1)), Loaded)
    messages = several(driver, 4, ignore_eos=True)
    done = messages[-1]
    assert isinstance(done, Done)
    stops = {m.reply: m.stop for m in messages if isinstance(m, ReplyDone)} | {0: done.stop}
    assert stops == dict.fromkeys(range(4), "context_full")
    # One window is shared: together they filled what the prompt left of it.
    assert 256 - 8 <= done.stats.prompt_tokens + done.stats.batch_reply_tokens <= 256 + 4


@pytest.mark.parametrize("kind", ["mamba", "gemma3", "lfm2"])
def test_memories_of_other_kinds_can_be_shared(
    kind: Literal["mamba", "gemma3", "lfm2"], make_driver: Callable[[], Driver], tmp_path: Path
) -> None:
    path = tmp_path / "model.gguf"
    story = tuple(f" word{i}" for i in range(30))
    write_tiny_model(path, TinyModel(script=(*story, "<|im_end|>"), architecture=kind))
    driver = make_driver()
    answer = driver.load(path, LoadOptions(sequences=3))
    assert isinstance(answer, Loaded), answer
    for _ in range(2):
        texts = texts_of(several(driver, 3, temperature=0.1))
        assert texts == dict.fromkeys(range(3), "".join(story))


def test_more_than_it_was_loaded_for_is_refused(
    make_driver: Callable[[], Driver], fake_script: FakeScript, tmp_path: Path
) -> None:
    fake_script(replies=["One.", "Two.", "Three."])
    path = tmp_path / "model.gguf"
    path.write_bytes(b"fake")
    driver = make_driver()
    assert isinstance(driver.load(path), Loaded)
    (failed,) = several(driver, 3)
    assert isinstance(failed, Failed)
    assert failed.kind == "bad_request"
    assert "loaded for 1" in failed.message
    assert isinstance(driver.load(path, LoadOptions(sequences=3)), Loaded)
    (failed,) = several(driver, 3, temperature=0.0)
    assert isinstance(failed, Failed)
    assert "temperature" in failed.message
    assert set(texts_of(several(driver, 3)).values()) == {"One.", "Two.", "Three."}

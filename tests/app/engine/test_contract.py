"""What every engine promises through every client: fake and llama.cpp, subprocess and QProcess."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from app.engine.protocol import (
    Cancel,
    Chunk,
    Counted,
    CountTokens,
    Done,
    Failed,
    Loaded,
    Measure,
    Measured,
    Progress,
    Render,
    Rendered,
    Started,
    Unload,
    Unloaded,
)
from tests.app.engine.conftest import FakeScript
from tests.helpers.engine import Driver, answer_of, chat, generate, turn
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

STORY = tuple(f" word{i}" for i in range(40))


@pytest.fixture(params=["fake", "llama.cpp"])
def loaded(
    request: pytest.FixtureRequest,
    make_driver: Callable[[], Driver],
    fake_script: FakeScript,
    tmp_path: Path,
) -> Driver:
    """A worker with a model that tells a story of forty words and ends its turn."""
    path = tmp_path / "model.gguf"
    if request.param == "fake":
        fake_script(replies=["".join(STORY)], n_ctx=2048, decode_per_s=2000)
        path.write_bytes(b"fake")
    else:
        write_tiny_model(path, TinyModel(script=(*STORY, "<|im_end|>")))
    driver = make_driver()
    answer = driver.load(path)
    assert isinstance(answer, Loaded), answer
    assert answer.model.n_ctx == 2048
    return driver


def test_reply_begins_streams_and_ends(loaded: Driver) -> None:
    messages = turn(loaded, chat("Tell me a story"))
    text, started, done = answer_of(messages)
    assert text == "".join(STORY)
    assert isinstance(messages[0], Started)
    assert any(isinstance(m, Progress) and m.phase == "prefill" for m in messages)
    assert done.stop == "end_of_turn"
    assert done.conversation == started.conversation == "c"
    assert done.stats.prompt_tokens == started.fit.prompt_tokens
    assert done.stats.evaluated_tokens == started.new_tokens
    assert done.stats.reply_tokens >= 40
    assert all(m.conversation == "c" for m in messages if isinstance(m, Chunk))


def test_same_request_gives_the_same_text(loaded: Driver) -> None:
    first, _, _ = answer_of(turn(loaded, chat("Hello"), seed=1, temperature=0.8))
    second, _, _ = answer_of(turn(loaded, chat("Hello"), seed=1, temperature=0.8))
    assert first == second


def test_token_limit_ends_a_reply(loaded: Driver) -> None:
    text, _, done = answer_of(turn(loaded, chat("Hello"), max_tokens=3))
    assert done.stop == "token_limit"
    assert done.stats.reply_tokens == 3
    assert "".join(STORY).startswith(text)


def test_stop_string_is_not_shown(loaded: Driver) -> None:
    text, _, done = answer_of(turn(loaded, chat("Hello"), stop=(" word5",)))
    assert done.stop == "stop_string"
    assert done.stop_detail == " word5"
    assert text == " word0 word1 word2 word3 word4"


def test_next_turn_evaluates_only_what_is_new(loaded: Driver) -> None:
    text, _, first = answer_of(turn(loaded, chat("Hello")))
    _, started, second = answer_of(turn(loaded, chat("Hello", text, "More")))
    assert started.reused_tokens == first.stats.prompt_tokens + first.stats.reply_tokens
    assert started.first_difference is None
    assert second.stats.evaluated_tokens == started.new_tokens < 20
    assert second.stats.prompt_tokens == second.stats.reused_tokens + second.stats.evaluated_tokens


def test_edit_branch_and_regenerate_reuse_the_common_part(loaded: Driver) -> None:
    text, _, _ = answer_of(turn(loaded, chat("Hello")))
    answer_of(turn(loaded, chat("Hello", text, "More of this")))
    again, started, _ = answer_of(turn(loaded, chat("Hello", text, "More of this")))
    assert started.new_tokens == 1
    assert again == text
    edited, started, _ = answer_of(turn(loaded, chat("Hello", text, "Other of this")))
    assert edited == text
    assert started.first_difference is not None
    assert started.reused_tokens == started.first_difference


def test_second_request_is_refused_while_one_runs_and_counts_are_served(loaded: Driver) -> None:
    for _ in range(9):
        request, other = generate(loaded, chat("Hello " * 400)), generate(loaded, chat("Other"))
        loaded.send(request)
        loaded.send(other)
        refused, *more = loaded.receive(other.id)
        if not more:
            break
        # This process was held up in between, and the first one had ended when the other came.
        list(loaded.receive(request.id))
    assert isinstance(refused, Failed)
    assert refused.kind == "busy"
    count = CountTokens(id=loaded.new_id(), text="one two three")
    loaded.send(count)
    (counted,) = loaded.receive(count.id)
    assert isinstance(counted, Counted)
    assert counted.tokens >= 3
    assert isinstance(list(loaded.receive(request.id))[-1], Done)


def test_answers_wait_until_they_are_asked_for(loaded: Driver) -> None:
    """In whatever order they are read: the first reply is over before another one is taken."""
    first = generate(loaded, chat("Hello"))
    loaded.send(first)
    while True:
        other = generate(loaded, chat("Other"))
        loaded.send(other)
        answer = list(loaded.receive(other.id))
        if not isinstance(answer[-1], Failed):
            break
        assert answer[-1].kind == "busy"
    for messages in (list(loaded.receive(first.id)), answer):
        text, _, done = answer_of(messages)
        assert text == "".join(STORY)
        assert done.stop == "end_of_turn"


def test_stop_keeps_what_was_written(loaded: Driver) -> None:
    request = generate(loaded, chat("Hello"), ignore_eos=True)
    loaded.send(request)
    text = ""
    for message in loaded.receive(request.id):
        if isinstance(message, Chunk):
            text += message.answer
            loaded.send(Cancel(id=loaded.new_id(), target=request.id))
        last = message
    assert isinstance(last, Done)
    assert last.stop == "stopped"
    assert text
    _, started, done = answer_of(turn(loaded, chat("Hello")))
    assert done.stop == "end_of_turn"
    assert started.reused_tokens == started.fit.prompt_tokens - 1


def test_measure_and_render_tell_what_would_be_sent(loaded: Driver) -> None:
    prompt = chat("Hello", system="Be brief")
    measure = Measure(id=loaded.new_id(), chat=prompt)
    loaded.send(measure)
    (measured,) = loaded.receive(measure.id)
    render = Render(id=loaded.new_id(), chat=prompt)
    loaded.send(render)
    (rendered,) = loaded.receive(render.id)
    assert isinstance(measured, Measured)
    assert isinstance(rendered, Rendered)
    assert measured.fit.prompt_tokens == rendered.tokens
    assert "Be brief" in rendered.text
    assert rendered.text.endswith("<|im_start|>assistant\n")


def test_reply_asked_for_while_a_prompt_is_measured_waits_its_turn(loaded: Driver) -> None:
    long = chat("Hello " * 800)
    measure = Measure(id=loaded.new_id(), chat=long)
    request = generate(loaded, chat("Hello"), max_tokens=3)
    loaded.send(measure)
    loaded.send(request)
    assert isinstance(list(loaded.receive(measure.id))[-1], Measured)
    assert isinstance(list(loaded.receive(request.id))[-1], Done)


def test_cancel_that_comes_before_its_request_begins_is_heard(loaded: Driver) -> None:
    measure = Measure(id=loaded.new_id(), chat=chat("Hello " * 800))
    request = generate(loaded, chat("Hello"), ignore_eos=True)
    loaded.send(measure)
    loaded.send(request)
    loaded.send(Cancel(id=loaded.new_id(), target=request.id))
    last = list(loaded.receive(request.id))[-1]
    if isinstance(last, Failed):
        assert last.kind == "cancelled"
    else:
        assert isinstance(last, Done)
        assert last.stop == "stopped"


def test_unloaded_model_answers_nothing(loaded: Driver) -> None:
    unload = Unload(id=loaded.new_id())
    loaded.send(unload)
    assert [type(m) for m in loaded.receive(unload.id)] == [Unloaded]
    (failed,) = turn(loaded, chat("Hello"))
    assert isinstance(failed, Failed)
    assert failed.kind == "no_model"


def test_closing_ends_the_worker(loaded: Driver) -> None:
    process = psutil.Process(loaded.pid)
    children = process.children(recursive=True)
    loaded.close()
    _, alive = psutil.wait_procs([process, *children], timeout=5)
    assert not alive


def test_models_can_be_loaded_one_after_another(
    make_driver: Callable[[], Driver], fake_script: FakeScript, tmp_path: Path
) -> None:
    fake_script()
    driver = make_driver()
    path = tmp_path / "m.gguf"
    path.write_bytes(b"")
    for _ in range(5):
        assert isinstance(driver.load(path), Loaded)
    assert isinstance(turn(driver, chat("Hello"))[-1], Done)

"""Tuning a loaded model: contexts beside it, giving way, and that replies stay what they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from app.engine.backend.engine import LlamaEngine
from app.engine.backend.model import LlamaModel
from app.engine.interface import Aborted
from app.engine.protocol import (
    Done,
    Failed,
    Loaded,
    LoadOptions,
    Measure,
    Measured,
    Progress,
    Tune,
    Tuned,
    Tuning,
)
from app.engine.threads import choose_threads, thread_choices
from app.engine.tuning_run import choices, default_tuning, run_tuning
from tests.app.engine.conftest import FakeScript
from tests.helpers.engine import Driver, answer_of, chat, generate, turn
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

STORY = tuple(f" word{i}" for i in range(40))
TELLS = TinyModel(script=(*STORY, "<|im_end|>"))


def ask(driver: Driver, **values: object) -> Tuned | Failed:
    request = Tune(id=driver.new_id(), **({"options": LoadOptions()} | values))  # type: ignore[arg-type]
    driver.send(request)
    *_, last = driver.receive(request.id)
    assert isinstance(last, Tuned | Failed)
    return last


# --- contexts of llama.cpp


@pytest.fixture(scope="module")
def engine() -> LlamaEngine:
    return LlamaEngine()


@pytest.fixture
def model(engine: LlamaEngine, tmp_path: Path) -> Iterator[LlamaModel]:
    path = write_tiny_model(tmp_path / "tiny.gguf", TELLS)
    model = engine.load(str(path), LoadOptions(n_ctx=2048), lambda _fraction: True)
    yield model
    model.close()


def test_a_depth_is_made_of_what_was_read(model: LlamaModel) -> None:
    trial = model.trial(model.tuning, 1024 + 64)
    assert trial is not None
    assert trial.info.n_ctx == 1280
    trial.decode(list(range(5, 69)), 0)
    assert trial.deepen(1024) == 1024
    assert _cells(trial) == pytest.approx(16 * _one_copy(model), rel=0.05)
    trial.decode([7], 64)  # the next position is where the real tokens end
    assert trial.cut(64)
    trial.decode([9, 8], 64)
    assert trial.deepen(10) == 66  # nothing to add
    trial.close()
    model.decode([1, 2, 3], 0)  # the first context is as it was


def _cells(model: LlamaModel) -> int:
    from app.engine.backend.library import lib

    size: int = lib.llama_state_seq_get_size(model._context, 0)
    return size


def _one_copy(model: LlamaModel) -> int:
    model.decode(list(range(5, 69)), 0)
    size = _cells(model)
    model.clear()
    return size


def test_a_model_runs_another_way_and_says_so(model: LlamaModel) -> None:
    first = model.info
    assert first.flash_attention
    wanted = Tuning(threads=1, threads_batch=2, flash_attention="off", n_ubatch=128)
    model.retune(wanted)
    assert model.tuning == wanted
    info = model.info
    assert (info.threads, info.threads_batch, info.n_ubatch) == (1, 2, 128)
    assert info.flash_attention is False
    assert info.n_ctx == first.n_ctx
    assert {item.what for item in info.buffers} == {item.what for item in first.buffers}
    assert _compute(info.buffers) != _compute(first.buffers)
    model.decode(list(range(5, 133)), 0)
    model.retune(msgspec.structs.replace(wanted, threads=2))
    assert model.info.threads == 2
    model.retune(Tuning(threads=1, threads_batch=1, flash_attention="auto", n_ubatch=1024))
    assert model.info.n_batch == 1024
    model.decode([5 + index % 200 for index in range(600)], 0)


def _compute(buffers: tuple[object, ...]) -> list[int]:
    return [item.size_bytes for item in buffers if item.what == "compute"]  # type: ignore[attr-defined]


def test_a_trial_that_would_take_much_of_the_memory_is_not_made(
    model: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Memory:
        available = 1 << 20

    monkeypatch.setattr("psutil.virtual_memory", Memory)
    assert model.trial(model.tuning, 4096) is None


def test_a_stopped_tuning_leaves_the_model_as_it_was(model: LlamaModel) -> None:
    before = Tuning(threads=1, threads_batch=1, flash_attention="off", n_ubatch=256)
    model.retune(before)
    calls = 0

    def stopped() -> bool:
        nonlocal calls
        calls += 1
        return calls > 20

    with pytest.raises(Aborted):
        run_tuning(
            model, Tune(id=1, options=LoadOptions()), stopped, _Steady(), lambda _fraction: None
        )
    assert model.tuning == before
    assert model.info.flash_attention is False
    model.decode([1, 2, 3], 0)


class _Steady:
    """A clock that ticks the same however fast the machine is."""

    def __init__(self) -> None:
        self._now_s = 0.0

    def __call__(self) -> float:
        self._now_s += 0.001
        return self._now_s


def test_where_every_pass_takes_the_same_the_defaults_stay(model: LlamaModel) -> None:
    request = Tune(id=1, options=LoadOptions(), depth=1024)
    found = run_tuning(model, request, lambda: False, _Steady(), lambda _fraction: None)
    assert found.after == found.before == model.tuning
    deep = {(row.test, row.depth) for row in found.rows}
    assert deep == {("prefill", 1024), ("decode", 1024)}  # measured, and nothing was better
    assert all(row.after == row.before for row in found.rows)


# --- what may be chosen


def test_what_is_set_by_hand_is_not_chosen(model: LlamaModel) -> None:
    counts = thread_choices(cores=4, cpus=8)
    assert counts == (1, 2, 3, 4, 8)
    info = msgspec.structs.replace(model.info, n_ctx=8192)
    default = choose_threads()
    free = choices(LoadOptions(), info, counts, 4096)
    assert free.threads == free.threads_batch
    assert sorted(free.threads) == [count for count in counts if count != default]
    assert abs(free.threads[0] - default) == 1  # the nearest first
    assert free.flash
    assert free.depth == 4096
    assert free.n_ubatch == (128, 256, 1024)
    by_hand = LoadOptions(threads=1, flash_attention="on", n_ubatch=256)
    assert choices(by_hand, info, counts, 4096).nothing
    assert not choices(LoadOptions(type_v="q8_0"), info, counts, 4096).flash
    assert not choices(LoadOptions(threads_batch=2), info, counts, 4096).threads_batch
    short = msgspec.structs.replace(info, n_ctx=512)
    assert choices(LoadOptions(), short, counts, 4096).depth == 384
    other = msgspec.structs.replace(info, memory="sliding")
    assert not choices(LoadOptions(), other, counts, 4096).flash
    gpu = msgspec.structs.replace(info, devices_used=("CUDA0",))
    found = choices(LoadOptions(), gpu, counts, 4096)
    assert found.threads
    assert not found.flash
    assert not found.n_ubatch
    quantised = LoadOptions(type_v="q8_0", flash_attention="off")
    assert default_tuning(quantised, info).flash_attention == "on"


# --- through the worker


@pytest.fixture(params=["fake", "llama.cpp"])
def loaded(
    request: pytest.FixtureRequest,
    make_driver: Callable[[], Driver],
    fake_script: FakeScript,
    tmp_path: Path,
) -> Driver:
    path = tmp_path / "model.gguf"
    if request.param == "fake":
        fake_script(replies=["".join(STORY)], n_ctx=2048, decode_per_s=400, prefill_per_s=4000)
        path.write_bytes(b"fake")
    else:
        write_tiny_model(path, TELLS)
    driver = make_driver()
    assert isinstance(driver.load(path), Loaded)
    return driver


def test_replies_are_the_same_after_it(loaded: Driver) -> None:
    before, _, _ = answer_of(turn(loaded, chat("Tell me a story")))
    answer = ask(loaded, budget_s=1.0)
    assert isinstance(answer, Tuned), answer
    assert answer.model.n_ctx == 2048
    assert (answer.model.threads, answer.model.n_ubatch) == (
        answer.after.threads,
        answer.after.n_ubatch,
    )
    assert answer.seconds > 0
    after, started, _ = answer_of(turn(loaded, chat("Tell me a story")))
    assert after == before == "".join(STORY)
    assert started.reused_tokens == 0  # what was measured is in no chat's cache
    back = ask(loaded, measure=False, options=LoadOptions(threads=1, flash_attention="off"))
    assert isinstance(back, Tuned)
    assert back.after == back.before
    assert back.rows == ()
    assert back.model.threads == 1
    assert back.model.flash_attention is False
    assert answer_of(turn(loaded, chat("Tell me a story")))[0] == before


def test_a_message_is_answered_at_once(loaded: Driver) -> None:
    tune = Tune(id=loaded.new_id(), options=LoadOptions(), budget_s=600)
    loaded.send(tune)
    steps = loaded.receive(tune.id)
    assert isinstance(next(steps), Progress)
    request = generate(loaded, chat("Hello"))
    loaded.send(request)
    *_, ended = steps
    assert isinstance(ended, Failed)
    assert ended.kind == "cancelled"
    *_, done = loaded.receive(request.id)
    assert isinstance(done, Done)
    tune = Tune(id=loaded.new_id(), options=LoadOptions(), budget_s=600)
    loaded.send(tune)
    steps = loaded.receive(tune.id)
    assert isinstance(next(steps), Progress)
    small = Measure(id=loaded.new_id(), chat=chat("Hello"))
    loaded.send(small)
    *_, ended = steps
    assert isinstance(ended, Failed)
    (measured,) = loaded.receive(small.id)
    assert isinstance(measured, Measured)


def test_what_is_faster_is_found_and_used(
    make_driver: Callable[[], Driver], fake_script: FakeScript, tmp_path: Path
) -> None:
    fake_script(
        n_ctx=8192,
        decode_per_s=100,
        prefill_per_s=1000,
        own_time=True,
        speeds={"flash_attention=off": 1.5},
    )
    path = tmp_path / "model.gguf"
    path.write_bytes(b"fake")
    driver = make_driver()
    assert isinstance(driver.load(path), Loaded)
    answer = ask(driver)
    assert isinstance(answer, Tuned)
    assert answer.before.flash_attention == "auto"
    assert answer.after.flash_attention == "off"
    assert answer.model.flash_attention is False
    deep = {row.test: row for row in answer.rows if row.depth == 4096}
    assert deep["decode"].after / deep["decode"].before == pytest.approx(1.5)
    assert deep["prefill"].after / deep["prefill"].before == pytest.approx(1.5)
    assert answer.seconds < 6
    again = ask(driver, options=LoadOptions(flash_attention="on"))
    assert isinstance(again, Tuned)
    assert again.after.flash_attention == "on"  # the user's own choice


def test_without_a_model_there_is_nothing_to_tune(make_driver: Callable[[], Driver]) -> None:
    answer = ask(make_driver())
    assert isinstance(answer, Failed)
    assert answer.kind == "no_model"

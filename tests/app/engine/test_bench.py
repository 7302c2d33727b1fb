"""Benchmark passes and memory, through both clients, with the fake and with llama.cpp."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from app.engine.bench import run_test
from app.engine.interface import Aborted, EngineFailure
from app.engine.protocol import (
    Bench,
    Benched,
    Chunk,
    Done,
    Failed,
    Loaded,
    LoadOptions,
    MemoryNow,
    QueryMemory,
)
from app.engine.recording import fingerprint, load_record, memory_sample
from tests.app.engine.conftest import FakeScript
from tests.helpers.engine import BlockingDriver, Driver, answer_of, chat, generate, turn
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model


@pytest.fixture(params=["llama", "gemma3", "mamba"])
def tiny(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write_tiny_model(tmp_path / "tiny.gguf", TinyModel(architecture=request.param))


def ask(driver: Driver, **values: object) -> Benched | Failed:
    request = Bench(id=driver.new_id(), **values)  # type: ignore[arg-type]
    driver.send(request)
    *_, last = driver.receive(request.id)
    assert isinstance(last, Benched | Failed)
    return last


def test_passes_are_timed_and_leave_the_cache_empty(
    make_driver: Callable[[], Driver], tiny: Path
) -> None:
    driver = make_driver()
    options = LoadOptions(n_ctx=4 * 512, sequences=4, unified=False)
    assert isinstance(driver.load(tiny, options), Loaded)
    for test, depth, sequences in (("prefill", 0, 1), ("decode", 64, 1), ("decode", 64, 4)):
        answer = ask(driver, test=test, depth=depth, tokens=16, sequences=sequences, repeat=2)
        assert isinstance(answer, Benched), answer
        assert len(answer.seconds) == 2
        assert all(seconds > 0 for seconds in answer.seconds)
    _, started, _ = answer_of(turn(driver, chat("Hello"), max_tokens=4))
    assert started.reused_tokens == 0


def test_a_depth_that_was_kept_never_reaches_a_chat(
    make_driver: Callable[[], Driver], tiny: Path
) -> None:
    driver = make_driver()
    assert isinstance(driver.load(tiny, LoadOptions(n_ctx=512)), Loaded)
    alone, _, _ = answer_of(turn(driver, chat("Hello"), max_tokens=12, ignore_eos=True))
    for test, depth, keep in (
        ("prefill", 64, True),
        ("decode", 64, True),  # goes on at the same depth
        ("decode", 32, True),  # another one
        ("prefill", 9999, True),  # refused
        ("prefill", 64, True),
    ):
        answer = ask(driver, test=test, depth=depth, tokens=16, repeat=1, keep=keep)
        assert isinstance(answer, Benched) == (depth < 512), answer
    again, started, _ = answer_of(turn(driver, chat("Hello"), max_tokens=12, ignore_eos=True))
    assert (again, started.reused_tokens) == (alone, 0)


@pytest.mark.parametrize(
    "values",
    [
        {"test": "decode", "depth": 500, "tokens": 13},
        {"test": "decode", "depth": 0, "tokens": 257, "sequences": 2},
        {"test": "prefill", "depth": 0, "tokens": 0},
        {"test": "prefill", "depth": -1, "tokens": 5},
    ],
)
def test_tests_that_do_not_fit_are_refused(tmp_path: Path, values: dict[str, object]) -> None:
    driver = BlockingDriver()
    try:
        path = write_tiny_model(tmp_path / "tiny.gguf")
        assert isinstance(driver.load(path, LoadOptions(n_ctx=512)), Loaded)
        answer = ask(driver, **values)
        assert isinstance(answer, Failed)
        assert answer.kind in {"does_not_fit", "bad_request"}
    finally:
        driver.close()


def test_without_a_model_there_is_nothing_to_measure() -> None:
    driver = BlockingDriver()
    try:
        answer = ask(driver, test="decode", depth=0, tokens=1)
        assert isinstance(answer, Failed)
        assert answer.kind == "no_model"
    finally:
        driver.close()


def test_memory_is_told_with_and_without_a_model(
    make_driver: Callable[[], Driver], tmp_path: Path
) -> None:
    driver = make_driver()

    def now() -> MemoryNow:
        request = QueryMemory(id=driver.new_id())
        driver.send(request)
        (answer,) = driver.receive(request.id)
        assert isinstance(answer, MemoryNow)
        return answer

    before = now()
    assert before.devices[0].kind == "cpu"
    path = write_tiny_model(tmp_path / "tiny.gguf", TinyModel(context=1 << 16, kv_heads=4))
    assert isinstance(driver.load(path, LoadOptions(n_ctx=1 << 16)), Loaded)
    after = now()
    if before.private_bytes is not None and after.private_bytes is not None:
        assert after.private_bytes - before.private_bytes > 20 << 20


def test_memory_is_told_while_a_reply_runs(fake_script: FakeScript, tmp_path: Path) -> None:
    fake_script(replies=["word " * 50], decode_per_s=100)
    driver = BlockingDriver()
    try:
        path = tmp_path / "model.gguf"
        path.write_bytes(b"fake")
        driver.load(path)
        request = generate(driver, chat("Hello"))
        driver.send(request)
        seen: list[str] = []
        asked = False
        while "done" not in seen:
            message = driver.client._next_message(30)
            if isinstance(message, Chunk) and not asked:
                asked = True
                driver.send(QueryMemory(id=driver.new_id()))
            seen += (
                ["memory"]
                if isinstance(message, MemoryNow)
                else ["done"]
                if isinstance(message, Done)
                else []
            )
        assert seen == ["memory", "done"]
    finally:
        driver.close()


def test_a_reply_carries_times_along_it_and_its_peak(
    fake_script: FakeScript, tmp_path: Path
) -> None:
    fake_script(replies=["a b c "], repeat=True, n_ctx=4096)
    driver = BlockingDriver()
    try:
        path = tmp_path / "model.gguf"
        path.write_bytes(b"fake")
        driver.load(path)
        _, _, done = answer_of(turn(driver, chat("Hello"), max_tokens=1500))
        samples = done.stats.samples
        assert samples[0] == (1, 0.0)
        counts = [tokens for tokens, _ in samples]
        times = [seconds for _, seconds in samples]
        assert counts == sorted(set(counts))
        assert times == sorted(times)
        assert 64 < len(samples) <= 256
        assert counts[-1] > 1490
        steps = {after - before for before, after in itertools.pairwise(counts[1:])}
        assert len(steps) == 1
        assert done.stats.peak_bytes is None or done.stats.peak_bytes > 0
    finally:
        driver.close()


# --- what a pass asks of a model


class _Info:
    n_ctx = 1024
    n_ubatch = 8
    n_vocab = 1000


class _Model:
    """Counts what it is asked; cutting fails if it is told so."""

    info = _Info()

    def __init__(self, *, cuts: bool = True) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.cuts = cuts

    def decode(self, tokens: list[int], position: int, sequence: int = 0) -> None:
        self.calls.append(("fill", sequence, position, len(tokens)))

    def decode_each(
        self, tokens: list[int], positions: list[int], sequences: Sequence[int]
    ) -> None:
        assert len(set(positions)) == 1
        assert list(sequences) == list(range(len(tokens)))
        self.calls.append(("step", len(tokens), positions[0]))

    def cut(self, tokens: int, sequence: int = 0) -> bool:
        self.calls.append(("cut", sequence, tokens))
        return self.cuts

    def clear(self) -> None:
        self.calls.append(("clear",))

    def wait(self) -> None:
        self.calls.append(("wait",))


def test_each_repeat_starts_at_the_depth_and_one_warms_up() -> None:
    model = _Model()
    request = Bench(id=1, test="decode", depth=10, tokens=2, sequences=2, repeat=2)
    assert len(run_test(model, request, lambda: False)) == 2  # type: ignore[arg-type]
    steps = [call for call in model.calls if call[0] == "step"]
    assert steps == [("step", 2, 10), ("step", 2, 11)] * 3
    assert [call for call in model.calls if call[0] == "cut"] == [
        ("cut", 0, 10),
        ("cut", 1, 10),
    ] * 2
    fills = [call for call in model.calls if call[0] == "fill"]
    assert fills == [("fill", s, p, n) for s in (0, 1) for p, n in ((0, 8), (8, 2))]
    assert model.calls[-1] == ("clear",)


def test_a_memory_that_cannot_be_cut_is_filled_again() -> None:
    model = _Model(cuts=False)
    request = Bench(id=1, test="prefill", depth=4, tokens=4, repeat=1)
    run_test(model, request, lambda: False)  # type: ignore[arg-type]
    fills = [call for call in model.calls if call[0] == "fill"]
    assert fills == [("fill", 0, 0, 4), ("fill", 0, 4, 4)] * 2


def test_a_kept_depth_is_not_filled_again_by_the_test_that_follows() -> None:
    model = _Model()
    first = Bench(id=1, test="prefill", depth=10, tokens=4, repeat=1, keep=True)
    run_test(model, first, lambda: False)  # type: ignore[arg-type]
    assert model.calls[-2:] == [("cut", 0, 10), ("wait",)]
    model.calls.clear()
    then = Bench(id=2, test="decode", depth=10, tokens=2, repeat=1)
    run_test(model, then, lambda: False, filled=True)  # type: ignore[arg-type]
    assert not [call for call in model.calls if call[0] == "fill"]
    assert model.calls[-1] == ("clear",)


def test_a_stopped_pass_ends_and_leaves_nothing_behind() -> None:
    model = _Model()
    request = Bench(id=1, test="decode", depth=0, tokens=2, repeat=1)
    with pytest.raises(Aborted):
        run_test(model, request, lambda: True)  # type: ignore[arg-type]
    assert model.calls[-1] == ("clear",)
    with pytest.raises(EngineFailure):
        run_test(model, Bench(id=1, test="decode", depth=0, tokens=9999), lambda: False)  # type: ignore[arg-type]


# --- records of it


def test_a_load_becomes_a_record(tmp_path: Path) -> None:
    driver = BlockingDriver()
    try:
        path = write_tiny_model(tmp_path / "tiny.gguf")
        options = LoadOptions(n_ctx=512, gpu_layers=7)
        answer = driver.load(path, options)
        assert isinstance(answer, Loaded)
        hello = driver.client.hello
        assert hello is not None
        sample = memory_sample(None, (100, 60), at_ms=5, devices=hello.devices)
        record = load_record(
            answer.model, hello, options, plan=None, before=sample, after=sample, at_ms=5
        )
    finally:
        driver.close()
    assert sample.devices[0].free_bytes == 60
    assert record.settings.n_ctx == 512
    assert record.gpu_layers_asked == 3  # seven were, and the model has three
    assert {item.what for item in record.buffers} == {"weights", "kv", "compute", "output"}
    assert record.identity.fingerprint == fingerprint(path)
    assert record.identity.engine == hello.engine
    assert hello.cpu in record.identity.machine


def test_a_fingerprint_is_of_the_content(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    content = bytearray(range(256)) * 4096
    first.write_bytes(content)
    second.write_bytes(content)
    assert fingerprint(first) == fingerprint(second) != ""
    content[500_000:565_536] = b"x" * 65536
    second.write_bytes(content)
    assert fingerprint(first) != fingerprint(second)
    assert fingerprint(tmp_path / "none") == ""

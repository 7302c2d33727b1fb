"""Making variants: what they are, what stops them, and that nothing is left behind."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest

from app import variants
from app.compare.opener import opener
from app.data.state import StateFile
from app.engine.client import EngineClient
from app.engine.protocol import LoadOptions
from app.variants import Made, VariantError, VariantMaker, forecasts
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.machine import Machine, cpu_only
from gguf_tools.naming import requantized_from
from gguf_tools.plan import Plan, make_plan
from gguf_tools.quantize import MADE_BY_KEY, QUANT_TYPES, QuantizeRequest, quant_type
from gguf_tools.settings import LoadSettings
from tests.helpers.gguf_bytes import GgufBuilder
from tests.helpers.patience import PATIENCE_S
from tests.helpers.tiny_gguf import TinyModel, tiny_builder, write_tiny_model

_WIDE = TinyModel(embedding=256, heads=4, head_length=64, feed_forward=512)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tiny_model(tmp_path / "tiny-F32.gguf", _WIDE)


def _client() -> EngineClient:
    return opener(StateFile(None))(lambda _: None)


def _plans_on(machine: Machine) -> Callable[[ModelFacts, bool], Plan]:
    load = LoadSettings(context=256, outputs=1)
    return lambda facts, _is_made: make_plan(facts, load, machine)


def _request(source: Path, target: Path, kind: str, **values: object) -> QuantizeRequest:
    return QuantizeRequest(source=source, target=target, kind=quant_type(kind), **values)  # type: ignore[arg-type]


def _make(source: Path, target: Path, kind: str, **values: object) -> Made:
    return VariantMaker(_request(source, target, kind, **values), _client).run()


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0", "Q4_K_M", "Q2_K", "F16"])
def test_a_variant_is_what_was_expected(tiny: Path, tmp_path: Path, kind: str) -> None:
    shares: list[float] = []
    target = tmp_path / f"tiny-{kind}.gguf"
    made = VariantMaker(_request(tiny, target, kind), _client, shares.append).run()
    assert made.file_bytes == target.stat().st_size
    assert made.expected.file_bytes == pytest.approx(made.file_bytes, abs=64)
    facts = read_facts(target)
    assert facts.loadable
    assert facts.quantization == kind
    assert requantized_from(facts.header) is None
    assert facts.header.text(MADE_BY_KEY)
    expected = made.expected.facts.header.tensors
    assert {n: t.type for n, t in facts.header.tensors.items()} == {
        n: t.type for n, t in expected.items()
    }
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert _names(tmp_path) == {tiny.name, target.name}
    with _client() as client:
        assert client.load(str(target), LoadOptions(n_ctx=256)).n_vocab > 0


def test_all_types_make_what_was_expected(tiny: Path, tmp_path: Path) -> None:
    """Every type in one engine's life, held against the plan, with the file read again."""
    from app.engine.protocol import Quantize, Quantized

    facts = read_facts(tiny)
    with _client() as client:
        for row in forecasts(facts, _plans_on(cpu_only(8 << 30, 8 << 30))):
            expected = row.expected
            if expected.obstacle or expected.needs_imatrix or not expected.changed_tensors:
                continue
            assert row.plan is not None
            target = tmp_path / "made.gguf"
            asked = Quantize(
                id=client.new_id(), source=str(tiny), target=str(target), kind=expected.kind.name
            )
            answer = client.call(asked, Quantized)
            assert answer.file_bytes == pytest.approx(expected.file_bytes, rel=0.01)
            found = read_facts(target).header.tensors
            wanted = expected.facts.header.tensors
            assert {n: t.type for n, t in found.items()} == {n: t.type for n, t in wanted.items()}
            target.unlink()
    assert len(QUANT_TYPES) > 30


def test_starter_to_q8_q4_and_q2(starter: Path, tmp_path: Path) -> None:
    """The three variants of the real model, within 1 % of what was said before."""
    for kind in ("Q8_0", "Q4_0", "Q2_K"):
        target = tmp_path / f"starter-{kind}.gguf"
        made = _make(starter, target, kind, allow_requantize=True)
        assert made.expected.file_bytes == pytest.approx(target.stat().st_size, rel=0.0001)
        facts = read_facts(target)
        assert facts.quantization == kind
        assert requantized_from(facts.header) == "Q4_1"
        assert made.expected.bits_per_weight == pytest.approx(facts.bits_per_weight)
        target.unlink()


def test_a_split_model_makes_one_file(tmp_path: Path) -> None:
    builder = tiny_builder(_WIDE)
    half = len(builder.tensors) // 2
    parts = builder.write_split(tmp_path / "split", "tiny", (half, len(builder.tensors) - half))
    target = tmp_path / "whole.gguf"
    made = _make(parts[1], target, "Q8_0")  # named by any of its parts
    assert made.expected.file_bytes == pytest.approx(made.file_bytes, rel=0.01)
    facts = read_facts(target)
    assert facts.loadable
    assert len(facts.files) == 1
    assert len(facts.header.tensors) == len(builder.tensors)


@pytest.mark.parametrize(
    ("kind", "values", "why", "part"),
    [
        ("IQ1_S", {}, "usage", "importance matrix"),
        ("F32", {}, "usage", "already"),
        ("Q8_0", {"imatrix": Path("/nowhere/imatrix.gguf")}, "usage", "no importance matrix"),
    ],
)
def test_refusals(
    tiny: Path, tmp_path: Path, kind: str, values: dict[str, object], why: str, part: str
) -> None:
    with pytest.raises(VariantError, match=part) as failure:
        _make(tiny, tmp_path / "out.gguf", kind, **values)
    assert failure.value.why == why
    assert _names(tmp_path) == {tiny.name}


def test_a_quantised_source_has_to_be_allowed(tiny: Path, tmp_path: Path) -> None:
    half = tmp_path / "half.gguf"
    _make(tiny, half, "Q8_0")
    with pytest.raises(VariantError, match="quantised already"):
        _make(half, tmp_path / "again.gguf", "Q4_0")
    _make(half, tmp_path / "again.gguf", "Q4_0", allow_requantize=True)
    assert requantized_from(read_facts(tmp_path / "again.gguf").header) == "Q8_0"


def test_nothing_is_overwritten(tiny: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.gguf"
    there.write_bytes(b"mine")
    with pytest.raises(VariantError, match="exists already"):
        _make(tiny, there, "Q8_0")
    with pytest.raises(VariantError, match="file of its own"):
        _make(tiny, tiny, "Q8_0")
    with pytest.raises(VariantError, match="no folder"):
        _make(tiny, tmp_path / "nowhere" / "out.gguf", "Q8_0")
    with pytest.raises(VariantError, match=r"end with \.gguf"):
        _make(tiny, tmp_path / "out.bin", "Q8_0")
    assert there.read_bytes() == b"mine"
    assert _names(tmp_path) == {tiny.name, "there.gguf"}


def test_a_file_that_appears_meanwhile_stays(tiny: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.gguf"

    def appear(_: float) -> None:
        target.write_bytes(b"mine")

    with pytest.raises(VariantError, match="appeared meanwhile"):
        VariantMaker(_request(tiny, target, "Q8_0"), _client, appear).run()
    assert target.read_bytes() == b"mine"
    assert _names(tmp_path) == {tiny.name, "out.gguf"}


def test_too_little_room_is_said_before_the_start(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variants, "_SPARE_BYTES", 1 << 60)
    with pytest.raises(VariantError, match="free: make room") as failure:
        _make(tiny, tmp_path / "out.gguf", "Q8_0")
    assert failure.value.why == "disk"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits")
def test_a_disk_that_fills_up_is_noticed(tiny: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk: writing fails in the same place."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        with pytest.raises(VariantError, match="could be written") as failure:
            _make(tiny, tmp_path / "out.gguf", "Q8_0")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert failure.value.why == "engine"
    assert _names(tmp_path) == {tiny.name}


def test_a_cancel_leaves_nothing(starter: Path, tmp_path: Path) -> None:
    began = threading.Event()
    maker = VariantMaker(
        _request(starter, tmp_path / "out.gguf", "Q2_K", allow_requantize=True),
        _client,
        lambda _: began.set(),
    )
    failures: list[VariantError] = []

    def run() -> None:
        try:
            maker.run()
        except VariantError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert began.wait(PATIENCE_S)
    maker.cancel()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert [failure.why for failure in failures] == ["cancelled"]
    assert _names(tmp_path) == set()


def test_an_early_cancel_is_heard(tiny: Path, tmp_path: Path) -> None:
    maker = VariantMaker(_request(tiny, tmp_path / "out.gguf", "Q8_0"), _client)
    maker.cancel()
    with pytest.raises(VariantError) as failure:
        maker.run()
    assert failure.value.why == "cancelled"
    assert _names(tmp_path) == {tiny.name}


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_engine_that_is_killed_leaves_nothing(starter: Path, tmp_path: Path) -> None:
    def kill(_: float) -> None:
        for child in psutil.Process().children():
            child.send_signal(signal.SIGKILL)

    request = _request(starter, tmp_path / "out.gguf", "Q8_0", allow_requantize=True)
    with pytest.raises(
        VariantError, match=r"(killed|ended from outside) while making the variant"
    ) as failure:
        VariantMaker(request, _client, kill).run()
    assert failure.value.why == "engine"
    assert _names(tmp_path) == set()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_program_that_is_killed_leaves_nothing(starter: Path, tmp_path: Path) -> None:
    """The engine notices that nobody is there any more, and removes what it was writing."""
    arguments = ["quantize", str(starter), str(tmp_path / "out.gguf"), "--type", "Q2_K"]
    program = subprocess.Popen(
        [sys.executable, "-m", "app", *arguments, "--allow-requantize", "--threads", "1"],
        env=os.environ | {"PLIMSOLL_DATA_DIR": str(tmp_path / "data")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + PATIENCE_S
    while not list(tmp_path.glob("out.gguf.*.part")) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert list(tmp_path.glob("out.gguf.*.part"))
    children = psutil.Process(program.pid).children()
    program.kill()
    program.wait()
    _gone, alive = psutil.wait_procs(children, timeout=PATIENCE_S)
    assert not alive
    assert _names(tmp_path) <= {"data"}


# --- importance matrices


def _gguf_imatrix(path: Path, source: Path) -> Path:
    builder = GgufBuilder()
    builder.text("general.type", "imatrix")
    builder.key("imatrix.datasets", "[str]", ["test.txt"])
    builder.u32("imatrix.chunk_count", 3).u32("imatrix.chunk_size", 128)
    random = np.random.default_rng(1)
    for name, tensor in read_facts(source).header.tensors.items():
        if name.startswith("blk.") and len(tensor.shape) == 2:
            sums = random.random(tensor.shape[0], dtype=np.float32) * 3
            builder.tensor(f"{name}.in_sum2", (tensor.shape[0], 1), "F32", sums)
            builder.tensor(f"{name}.counts", (1, 1), "F32", np.array([3], np.float32))
    return builder.write(path)


def _binary_imatrix(path: Path, source: Path) -> Path:
    random = np.random.default_rng(1)
    parts = []
    for name, tensor in read_facts(source).header.tensors.items():
        if name.startswith("blk.") and len(tensor.shape) == 2:
            data = (random.random(tensor.shape[0], dtype=np.float32) * 3).tobytes()
            raw = name.encode()
            parts.append(struct.pack("<i", len(raw)) + raw + struct.pack("<ii", 3, len(data) // 4))
            parts.append(data)
    tail = struct.pack("<ii", 3, 8) + b"test.txt"
    path.write_bytes(struct.pack("<i", len(parts) // 2) + b"".join(parts) + tail)
    return path


def test_importance_matrices_of_both_formats(tiny: Path, tmp_path: Path) -> None:
    """Both say the same here, so both make the same weights, other ones than without."""
    matrices = {
        "gguf": _gguf_imatrix(tmp_path / "imatrix.gguf", tiny),
        "binary": _binary_imatrix(tmp_path / "imatrix.dat", tiny),
    }
    data = {}
    for name, matrix in matrices.items():
        target = tmp_path / f"{name}.gguf"
        _make(tiny, target, "IQ2_XXS", imatrix=matrix)
        header = read_facts(target).header
        assert header.text("quantize.imatrix.file") == matrix.name
        assert header.text("quantize.imatrix.dataset") == "test.txt"
        assert header.integer("quantize.imatrix.chunks_count") == 3
        tensor = header.tensors["blk.0.ffn_up.weight"]
        data[name] = target.read_bytes()[tensor.offset : tensor.offset + tensor.size_bytes]
    assert data["gguf"] == data["binary"]
    _make(tiny, tmp_path / "plain.gguf", "Q4_K_M")
    _make(tiny, tmp_path / "weighted.gguf", "Q4_K_M", imatrix=matrices["gguf"])
    assert (tmp_path / "plain.gguf").read_bytes() != (tmp_path / "weighted.gguf").read_bytes()


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "no importance matrix"),
        (b"hello world, this is no matrix", "no importance matrix"),
        (
            struct.pack("<i", 1) + struct.pack("<i", 3) + b"abc" + struct.pack("<ii", 1, 4),
            "cut off",
        ),
        (
            struct.pack("<i", 1)
            + struct.pack("<i", 3)
            + b"abc"
            + struct.pack("<iif", 1, 1, np.nan),
            "no numbers",
        ),
    ],
)
def test_a_file_that_is_no_importance_matrix(
    tiny: Path, tmp_path: Path, data: bytes, part: str
) -> None:
    matrix = tmp_path / "imatrix.dat"
    matrix.write_bytes(data)
    with pytest.raises(VariantError, match=part) as failure:
        _make(tiny, tmp_path / "out.gguf", "Q8_0", imatrix=matrix)
    assert failure.value.why == "usage"
    assert not (tmp_path / "out.gguf").exists()


def test_a_matrix_of_another_model_is_told(tiny: Path, tmp_path: Path) -> None:
    other = write_tiny_model(tmp_path / "other.gguf", TinyModel())
    matrix = _gguf_imatrix(tmp_path / "imatrix.gguf", other)
    with pytest.raises(VariantError, match="imatrix size"):
        _make(tiny, tmp_path / "out.gguf", "Q4_K_M", imatrix=matrix)


def test_what_the_file_is_already_is_told_to_who_plans(tiny: Path) -> None:
    told = []

    def plan_for(facts: ModelFacts, is_made: bool) -> Plan:
        told.append((facts.quantization, is_made))
        raise ValueError("nothing is planned")

    kinds = [quant_type(name) for name in ("F32", "Q8_0")]
    rows = forecasts(read_facts(tiny), plan_for, kinds=kinds)
    assert told == [("F32", True), ("Q8_0", False)]
    assert [row.plan for row in rows] == [None, None]


def test_rates_rise_as_bits_fall(tiny: Path) -> None:
    machine = cpu_only(8 << 30, 8 << 30, bandwidth_bytes_per_s=20e9, flops_per_s=1e11)
    kinds = [quant_type(name) for name in ("F16", "Q8_0", "Q4_0")]
    rows = forecasts(read_facts(tiny), _plans_on(machine), kinds=kinds)
    ceilings = [row.plan.decode.ceiling for row in rows if row.plan is not None]
    assert len(ceilings) == 3
    assert ceilings == sorted(ceilings)  # type: ignore[type-var]

"""The plan against the engine's own dry run: odd shapes, on the processor and split over RPC."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gguf_tools.compute.buffers import trust_of
from gguf_tools.facts import read_facts
from gguf_tools.machine import Device, Machine, cpu_only
from gguf_tools.settings import engine_settings
from tests.bench.verify_all import SPLIT, Tally, as_load, choices, judge
from tests.helpers.engine_dry_runs import dry_runs
from tests.helpers.rpc_server import rpc_server
from tests.helpers.shape_gguf import ShapeModel
from tests.helpers.sparse_models import unpack_sparse
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

_ODD = {
    "odd": ShapeModel(
        layers=5,
        embedding=288,
        heads=6,
        kv_heads=3,
        head=48,
        feed_forward=608,
        vocabulary=1999,
        kind="Q8_0",
    ),
    "uneven": ShapeModel(
        layers=7,
        embedding=256,
        heads=8,
        kv_heads=[8, 1, 2, 4, 8, 2, 1],
        feed_forward=512,
        vocabulary=777,
        kind="Q4_0",
        architecture="deci",
    ),
    "long head": ShapeModel(
        layers=3,
        embedding=96,
        heads=3,
        kv_heads=1,
        head=128,
        feed_forward=160,
        vocabulary=4001,
        kind="F16",
    ),
}
_TINY = ("gemma3", "mamba", "lfm2")
_SPARSE = ("qwen3moe", "deepseek2", "qwen3next", "rwkv7", "gpt-oss", "jamba", "phi3", "t5")


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return unpack_sparse(tmp_path_factory.mktemp("sparse"))


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with rpc_server() as server:
        yield server.endpoint


def _path(name: str, folder: Path, sparse: dict[str, Path]) -> Path:
    if name in _ODD:
        return _ODD[name].builder().write(folder / "m.gguf")
    if name in _TINY:
        model = TinyModel(
            architecture=name,  # type: ignore[arg-type]
            layers=5,
            embedding=96,
            heads=6,
            kv_heads=3,
            head_length=16 if name == "lfm2" else 32,
        )
        return write_tiny_model(folder / "m.gguf", model)
    return sparse[name]


@pytest.mark.parametrize("place", ["cpu", "split"])
@pytest.mark.parametrize("name", [*_ODD, *_TINY, *_SPARSE])
def test_plan_is_the_engine_s(
    name: str, place: str, tmp_path: Path, sparse: dict[str, Path], endpoint: str
) -> None:
    path = _path(name, tmp_path, sparse)
    facts = read_facts(path)
    assert facts.shape is not None
    ways = choices(full=False)
    if place == "split":
        ways = [replace(way, gpu_layers=facts.shape.layers_all // 2 + 1) for way in ways[:6]]
    tally = Tally(name, place, trust_of(facts.shape))
    machine = SPLIT if place == "split" else cpu_only()
    for ran in dry_runs(path, ways, endpoint if place == "split" else None):
        judge(tally, facts, machine, ran)
    assert tally.runs == len(ways)
    assert tally.runs > tally.refusals
    assert tally.faults == []
    assert tally.cache_wrong == 0
    assert tally.weights_wrong == 0
    assert tally.outside == 0, tally.worst


TWO = Machine(
    name="two",
    cpu=cpu_only().cpu,
    accelerators=tuple(
        Device(name=f"RPC{index}", kind="rpc", backend="RPC", free_bytes=1 << 40)
        for index in range(2)
    ),
)


@pytest.mark.parametrize("name", ["odd", "gemma3", "qwen3moe", "jamba"])
@pytest.mark.parametrize("held", ["all", "part"])
def test_plan_over_two_devices(
    name: str, held: str, tmp_path: Path, sparse: dict[str, Path], endpoint: str
) -> None:
    # Devices that hold everything work on four batches in turn, each with inputs of its own.
    path = _path(name, tmp_path, sparse)
    facts = read_facts(path)
    shape = facts.shape
    assert shape is not None
    layers = -1 if held == "all" else shape.layers_all - 1
    ways = [replace(way, gpu_layers=layers) for way in choices(full=False)[:5]]
    tally = Tally(name, held, trust_of(shape))
    allowed = {0}
    with rpc_server() as second:
        for ran in dry_runs(path, ways, f"{endpoint},{second.endpoint}"):
            judge(tally, facts, TWO, ran)
            if held == "all":
                # A dry run forgets that a layer's first norm belongs to the layer's device, so it
                # counts the norm's result among the inputs of the second one; a load does not.
                tokens = engine_settings(shape, as_load(ran.asked)).prompt_tokens
                allowed.add(-4 * 4 * shape.embedding_length * tokens)
    assert tally.runs > tally.refusals
    assert tally.faults == []
    assert tally.cache_wrong == 0
    assert tally.weights_wrong == 0
    assert {size for _, size, _ in tally.compute} <= allowed

"""The plan against the engine's own dry run, for a model of odd sizes of every family."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gguf_tools.compute.buffers import trust_of
from gguf_tools.facts import read_facts
from gguf_tools.machine import cpu_only
from gguf_tools.settings import refusal
from tests.bench.verify_all import SPLIT, Tally, as_load, judge
from tests.helpers.engine_dry_runs import Asked, dry_runs
from tests.helpers.families import FAMILIES
from tests.helpers.rpc_server import rpc_server

_WAYS = (
    Asked(context=4096, ubatch=512, cache="f16", sequences=1, outputs=1, flash="on"),
    Asked(context=512, ubatch=128, cache="f16", sequences=4, outputs=4, flash="off"),
    Asked(context=5003, ubatch=512, cache="q8_0", sequences=1, outputs=0, flash="on"),
    Asked(context=32768, ubatch=2048, cache="q4_0", sequences=4, outputs=4, flash="on"),
)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with rpc_server() as server:
        yield server.endpoint


@pytest.mark.parametrize("place", ["cpu", "split"])
@pytest.mark.parametrize("name", FAMILIES)
def test_plan_is_the_engine_s(name: str, place: str, tmp_path: Path, endpoint: str) -> None:
    path = FAMILIES[name].builder().write(tmp_path / "m.gguf")
    facts = read_facts(path)
    assert facts.shape is not None
    ways: tuple[Asked, ...] = _WAYS
    if place == "split":
        half = facts.shape.layers_all // 2 + 1
        ways = tuple(replace(way, gpu_layers=half) for way in _WAYS)
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


@pytest.mark.parametrize("shared", [3, 4, 5, 6, 7, 8])
def test_caches_that_do_not_match_are_refused(shared: int, tmp_path: Path) -> None:
    # Layers that share a cache read one of their own kind; the engine ends where there is none.
    family = FAMILIES["own_and_shared_kv"]
    own = len(family.layers) - shared
    keys = {**family.keys, "attention.shared_kv_layers": ("u32", shared)}
    builder = replace(family, keys=keys).builder()
    unused = re.compile(r"blk\.(\d+)\.attn_(?:k|v|k_norm)\.")
    builder.tensors = [
        tensor
        for tensor in builder.tensors
        if not (found := unused.match(tensor.name)) or int(found[1]) < own
    ]
    path = builder.write(tmp_path / "m.gguf")
    shape = read_facts(path).shape
    assert shape is not None
    asked = _WAYS[0]
    (ran,) = dry_runs(path, [asked])
    assert (refusal(shape, as_load(asked)) is None) == (ran.buffers is not None)
    assert ran.crashed == (shared not in {4, 6})


def test_windows_that_an_architecture_can_not_do_without(tmp_path: Path) -> None:
    # The engine builds the graph for two caches and ends where there is one.
    family = FAMILIES["gated_attention"]
    keys = {name: value for name, value in family.keys.items() if "sliding_window" not in name}
    path = replace(family, keys=keys).builder().write(tmp_path / "m.gguf")
    shape = read_facts(path).shape
    assert shape is not None
    (ran,) = dry_runs(path, [_WAYS[0]])
    assert ran.crashed
    refused = refusal(shape, as_load(_WAYS[0]))
    assert refused is not None
    assert "sliding windows" in refused.text


def test_projections_of_a_delta_layer_in_one_tensor(tmp_path: Path) -> None:
    # Files may hold Q, K and V of Kimi's delta attention in one tensor; the engine takes both.
    family = FAMILIES["channel_decay"]
    apart = {"attn_q.weight", "attn_k.weight", "attn_v.weight"}
    layers = [
        {name: shape for name, shape in layer.items() if name not in apart}
        | {"attn_qkv.weight": (288, 3 * 320)}
        if apart <= layer.keys()
        else layer
        for layer in family.layers
    ]
    path = replace(family, layers=layers).builder().write(tmp_path / "m.gguf")
    facts = read_facts(path)
    assert facts.shape is not None
    tally = Tally("channel_decay", "cpu", trust_of(facts.shape))
    for ran in dry_runs(path, _WAYS):
        judge(tally, facts, cpu_only(), ran)
    assert tally.runs == len(_WAYS)
    assert tally.runs > tally.refusals
    assert tally.faults == []
    assert (tally.cache_wrong, tally.weights_wrong) == (0, 0)
    assert tally.outside == 0, tally.worst

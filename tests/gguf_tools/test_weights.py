"""What a tensor takes in a buffer: padding of CUDA's rows, AMX's tiles, what is repacked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import Tensor
from gguf_tools.machine import CpuFeature, Device, Machine, cpu_only
from gguf_tools.memory import memory_plan
from gguf_tools.settings import LoadSettings
from gguf_tools.weights import repacks
from tests.helpers.gguf_bytes import type_named
from tests.helpers.shape_gguf import ShapeModel

_SHAPE = ShapeModel(
    layers=1, embedding=96, heads=3, kv_heads=3, feed_forward=256, vocabulary=64, kind="Q8_0"
)


@pytest.fixture
def facts(tmp_path: Path) -> ModelFacts:
    return read_facts(_SHAPE.builder().write(tmp_path / "m.gguf"))


def _weights(facts: ModelFacts, machine: Machine, **load: Any) -> list[int]:
    plan = memory_plan(facts, LoadSettings(context=256, **load), machine)
    return [device.weights_bytes for device in plan.devices]


def _plain(rows: int, row: int) -> int:
    return rows * row // 32 * 34


def _up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def test_rows_are_padded_for_cuda(facts: ModelFacts) -> None:
    card = Device(name="CUDA0", kind="gpu", backend="CUDA", free_bytes=1 << 30)
    machine = replace(cpu_only(), accelerators=(card,))
    # Rows of 96 values get 416 more behind the last (to a multiple of 512), rows of 256 get 256.
    attention = 4 * _up(_plain(96, 96) + 416 // 32 * 34, 128)
    fed = 2 * _up(_plain(256, 96) + 416 // 32 * 34, 128)
    fed += _up(_plain(96, 256) + 256 // 32 * 34, 128)
    output = _up(_plain(64, 96) + 416 // 32 * 34, 128)
    norms = 3 * _up(96 * 4, 128)
    host, cuda = _weights(facts, machine)
    assert cuda == attention + fed + output + norms
    assert host == _plain(64, 96)  # the embedding table
    unpadded = replace(machine, accelerators=(replace(card, backend="Vulkan"),))
    assert _weights(facts, unpadded)[1] == (
        4 * _up(_plain(96, 96), 128)
        + 2 * _up(_plain(256, 96), 128)
        + _up(_plain(96, 256), 128)
        + _up(_plain(64, 96), 128)
        + norms
    )


def test_tiles_of_amx_take_more(facts: ModelFacts) -> None:
    plain = cpu_only()
    tiles = replace(plain, cpu=replace(plain.cpu, features=frozenset({"amx"})))
    (without,) = _weights(facts, tiles, extra_buffers=False)
    assert [without] == _weights(facts, plain)
    (packed,) = _weights(facts, tiles, extra_buffers=True)
    blocks = (4 * 96 * 96 + 3 * 96 * 256 + 64 * 96) // 32
    assert packed - without == 4 * blocks  # a sum for each block of the matrices


def _tensor(name: str, kind: str, *shape: int) -> Tensor:
    return Tensor(name, shape, type_named(kind), 0, 0, 0)


@pytest.mark.parametrize(
    ("kind", "shape", "features", "packed"),
    [
        ("Q4_0", (64, 64), {"avx2"}, True),
        ("Q4_0", (64, 60), {"avx2"}, False),  # rows go by eight
        ("Q8_0", (64, 64), {"avx2"}, False),
        ("Q2_K", (256, 64), {"avx2"}, False),
        ("Q2_K", (256, 64), {"avx2", "avx512"}, True),
        ("Q8_0", (64, 60), {"neon_dotprod"}, True),  # by four
        ("Q8_0", (64, 64), {"amx"}, True),
        ("Q8_0", (64, 60), {"amx"}, False),
        ("Q4_K", (256, 64), {"amx"}, True),
        ("F16", (16, 32), {"amx"}, True),
        ("F16", (24, 32), {"amx"}, False),
        ("F32", (64, 64), {"amx", "avx512", "avx2"}, False),
        ("Q4_0", (64,), {"avx2", "amx"}, False),
    ],
)
def test_what_is_repacked(
    kind: str, shape: tuple[int, ...], features: set[CpuFeature], packed: bool
) -> None:
    assert repacks(_tensor("blk.0.ffn_up.weight", kind, *shape), frozenset(features)) is packed


def test_experts_and_what_is_not_multiplied() -> None:
    avx2: frozenset[CpuFeature] = frozenset({"avx2"})
    amx: frozenset[CpuFeature] = frozenset({"amx"})
    experts = _tensor("blk.0.ffn_up_exps.weight", "Q4_0", 64, 64, 8)
    assert repacks(experts, avx2)
    assert not repacks(experts, amx)
    bias = _tensor("blk.0.ffn_up.bias", "Q4_0", 64, 64)
    assert not repacks(bias, avx2)
    table = _tensor("token_embd.scale", "Q4_0", 64, 64)
    assert repacks(table, avx2, output=True)


def test_a_load_names_what_is_repacked_but_experts_and_the_output() -> None:
    named: frozenset[CpuFeature] = frozenset({"avx2", "by_name"})
    assert repacks(_tensor("blk.0.ffn_up.weight", "Q4_0", 256, 256), named)
    assert not repacks(_tensor("blk.0.ffn_up_exps.weight", "Q4_0", 256, 256, 4), named)
    assert not repacks(_tensor("output.weight", "Q4_0", 256, 256), named, output=True)
    assert not repacks(_tensor("blk.0.ssm_in.weight", "Q4_0", 256, 256), named)

"""Likely rates worked out with a pencil, from bytes and operations that are given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gguf_tools.expected import decode_key, decode_parts, expected_share
from gguf_tools.facts import read_facts
from gguf_tools.machine import DecodeFit, Device, Machine, cpu_only
from gguf_tools.memory import MemoryPlan, memory_plan
from gguf_tools.pools import PoolUse, most_sequences, pools_of
from gguf_tools.rates import TokenBytes, decode_ceiling, seconds_per_token
from gguf_tools.settings import LoadSettings
from tests.helpers.tiny_gguf import write_tiny_model

GIB = 1 << 30
CARD = Device(
    name="CUDA0",
    kind="gpu",
    backend="CUDA",
    total_bytes=24 * GIB,
    free_bytes=23 * GIB,
    bandwidth_bytes_per_s=1e12,
)
HOST = cpu_only(16 * GIB, 12 * GIB, 5e10, 2e11).cpu
NOTHING = TokenBytes(0, 0, 0)
READ = TokenBytes(weights=4e9, kv=1e9, state=0)


@pytest.fixture
def memory(tmp_path: Path) -> MemoryPlan:
    facts = read_facts(write_tiny_model(tmp_path / "m.gguf"))
    return memory_plan(facts, LoadSettings(context=2048), cpu_only())


def _share(memory: MemoryPlan, machine: Machine, *reads: TokenBytes) -> tuple[float, float]:
    found = expected_share(reads, machine, memory.settings, memory.placement)
    assert found is not None
    return found


def _pool(name: str, total: int | None, free: int | None, used: int, others: int | None) -> PoolUse:
    return PoolUse(
        name=name, total_bytes=total, free_bytes=free, used_bytes=used, others_bytes=others
    )


def about(*values: float) -> Any:
    return pytest.approx(values)


def test_a_card_reaches_55_to_75_of_100(memory: MemoryPlan) -> None:
    machine = Machine(name="m", cpu=HOST, accelerators=(CARD,))
    assert decode_ceiling((NOTHING, READ), machine) == pytest.approx(1e12 / 5e9)
    assert _share(memory, machine, NOTHING, READ) == about(0.55 * 200, 0.75 * 200)
    # A state is read with the weights; the cache apart.
    hybrid = replace(READ, weights=3e9, state=1e9)
    assert _share(memory, machine, NOTHING, hybrid) == about(0.55 * 200, 0.75 * 200)
    middle = 2 / (1 / 0.55 + 1 / 0.75)
    parts = decode_parts((NOTHING, hybrid), machine, memory.settings)
    assert parts == about(4e9 / (1e12 * middle), 1e9 / (1e12 * middle))


def test_devices_work_one_after_another(memory: MemoryPlan) -> None:
    host = replace(HOST, flops_per_s=None)
    machine = Machine(name="m", cpu=host, accelerators=(CARD,))
    on_host = TokenBytes(weights=1e9, kv=0, state=0)
    assert seconds_per_token((on_host, READ), machine) == pytest.approx(1 / 50 + 1 / 200)
    low, high = _share(memory, machine, on_host, READ)
    assert low == pytest.approx(1 / (1 / 50 / 0.6 + 1 / 200 / 0.55))
    assert high == pytest.approx(1 / (1 / 50 / 0.95 + 1 / 200 / 0.75))


def test_a_processor_is_held_by_the_longer_of_reading_and_computing(memory: MemoryPlan) -> None:
    machine = Machine(name="m", cpu=HOST)
    middle = 2 / (1 / 0.6 + 1 / 0.95)
    reading = 5e9 / (5e10 * middle)
    # 0.12 of the rate is what attention reaches.
    light = replace(READ, work=1e9, attention=1e6)
    assert decode_parts((light,), machine, memory.settings) == about(
        4e9 / (5e10 * middle), 1e9 / (5e10 * middle)
    )
    assert _share(memory, machine, light) == about(0.6 * 10, 0.95 * 10)
    heavy = replace(READ, work=4e10, attention=2.4e9)
    assert decode_parts((heavy,), machine, memory.settings) == about(0.2, 0.1)
    assert reading < 0.3
    assert _share(memory, machine, heavy) == about(1 / 0.3 / 1.5, 1.5 / 0.3)
    mixed = replace(READ, work=4e10, attention=1e6)
    weights, cache = 0.2, 1e9 / (5e10 * middle)
    assert decode_parts((mixed,), machine, memory.settings) == about(weights, cache)
    # Arithmetic counts as what holds it only where all of it is more than all of the reading.
    assert weights < reading + 0.1
    assert reading < 4e10 / 2e11 + 1e6 / (2e11 * 0.12)
    assert _share(memory, machine, mixed) == about(
        1 / ((weights + cache) * 1.5), 1.5 / (weights + cache)
    )


def test_no_range_passes_the_ceiling(memory: MemoryPlan) -> None:
    machine = Machine(name="m", cpu=HOST)
    middle = 2 / (1 / 0.6 + 1 / 0.95)
    own, kept = 4e9 / (5e10 * middle), 1e9 / (5e10 * middle)
    barely = replace(READ, work=1.01 * own * 2e11, attention=1.01 * kept * 2e11 * 0.12)
    low, high = _share(memory, machine, barely)
    assert high == pytest.approx(10)  # half as much again would be more
    assert low < high


def test_a_measurement_scales_both_parts_and_narrows_the_range(memory: MemoryPlan) -> None:
    key = decode_key(memory.settings, memory.placement)
    assert key == "flash f16 f16 0"
    machine = Machine(name="m", cpu=replace(HOST, flops_per_s=None))
    middle = 2 / (1 / 0.6 + 1 / 0.95)
    own = 4e9 / (5e10 * middle)
    kept = 1e9 / (5e10 * middle)
    fit = DecodeFit(weights=2.0, cache=3.0, spread=0.1, key=key)
    seconds = 2 * own + 3 * kept
    assert _share(memory, replace(machine, fit=fit), READ) == about(0.9 / seconds, 1.1 / seconds)
    for other in (replace(fit, key="plain f16 f16 0"), replace(fit, own=False)):
        assert _share(memory, replace(machine, fit=other), READ) == about(
            0.75 / seconds, 1.25 / seconds
        )
    wide = replace(fit, own=False, spread=0.4)
    assert _share(memory, replace(machine, fit=wide), READ) == about(0.6 / seconds, 1.4 / seconds)


def test_a_bandwidth_that_is_unknown_counts_where_something_is_read(memory: MemoryPlan) -> None:
    unknown = replace(CARD, bandwidth_bytes_per_s=None)
    machine = Machine(name="m", cpu=HOST, accelerators=(unknown,))
    settings, placement = memory.settings, memory.placement
    for weights, known in ((4e7, True), (6e7, False)):  # a hundredth of all may be passed over
        reads = (READ, TokenBytes(weights=weights, kv=0, state=0))
        assert (seconds_per_token(reads, machine) is not None) is known
        assert (expected_share(reads, machine, settings, placement) is not None) is known
    assert seconds_per_token((NOTHING, NOTHING), machine) is None
    assert decode_ceiling((NOTHING, NOTHING), machine) is None


def test_what_crosses_the_network_is_added(memory: MemoryPlan) -> None:
    far = replace(CARD, name="RPC0", kind="rpc", link_bytes_per_s=1e8, round_trip_s=0.001)
    machine = Machine(name="m", cpu=HOST, accelerators=(far,))
    sent = replace(READ, moved=1e6, trips=2)
    network = 1e6 / 1e8 + 2 * 0.001
    assert seconds_per_token((NOTHING, sent), machine) == pytest.approx(1 / 200 + network)
    low, high = _share(memory, machine, NOTHING, sent)
    assert low == pytest.approx(1 / (1 / 200 / 0.3 + network))
    assert high == pytest.approx(1 / (1 / 200 / 0.7 + network))


@pytest.mark.parametrize(
    ("total", "free", "used", "left", "over", "others"),
    [
        (100, 80, 50, 30, False, 20),
        (100, 80, 70, 10, False, 20),  # exactly at the line of 90
        (100, 80, 71, 9, True, 20),
        (100, 80, 90, -10, True, 20),
        (None, 80, 50, 30, False, None),
        (100, None, 91, None, True, None),
    ],
)
def test_a_memory_with_what_others_hold(
    total: int | None,
    free: int | None,
    used: int,
    left: int | None,
    *,
    over: bool,
    others: int | None,
) -> None:
    pool = _pool("p", total, free, used, others)
    assert (pool.left_bytes, pool.over_load_line) == (left, over)


def test_memory_that_a_loaded_model_gives_back_is_free(memory: MemoryPlan) -> None:
    def pool(total: int | None, free: int | None, freed: int) -> tuple[int | None, int | None]:
        (item,) = memory.devices
        device = replace(item.device, total_bytes=total, free_bytes=free)
        (found,) = pools_of(
            replace(memory, devices=(replace(item, device=device),)), {device.memory_pool: freed}
        )
        assert found.used_bytes == item.total_bytes
        return found.free_bytes, found.others_bytes

    assert pool(100, 60, 0) == (60, 40)
    assert pool(100, 60, 30) == (90, 10)
    assert pool(100, 60, 50) == (100, 0)  # no more than there is
    assert pool(None, 60, 50) == (110, None)
    assert pool(100, None, 50) == (None, None)


def test_how_many_chats_fit(memory: MemoryPlan) -> None:
    (item,) = memory.devices
    assert item.kv_bytes
    assert item.state_bytes == 0

    def most(left_bytes: int, used_bytes: int = item.total_bytes) -> int | None:
        free = used_bytes + left_bytes
        pool = _pool(item.device.memory_pool, 1 << 40, free, used_bytes, 0)
        return most_sequences(memory, (pool,))

    assert most(0) == 1
    assert most(item.kv_bytes - 1) == 1
    assert most(item.kv_bytes) == 2
    assert most(7 * item.kv_bytes) == 8
    assert most(1000 * item.kv_bytes) == 256
    assert most(-2 * item.kv_bytes) == 0

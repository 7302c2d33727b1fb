"""A kept plan: between the points of its curves, and what its devices are called."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from gguf_tools.plan import Plan
from inspector.plan_record import GrowthLine, PlannedDevice, RatePoint
from inspector.planned import plan_record
from inspector.records import BandwidthRecord
from tests.inspector.conftest import card, machine


def _device(**values: object) -> PlannedDevice:
    base = {
        "name": "CUDA0",
        "kind": "gpu",
        "description": "RTX 4090",
        "backend": "CUDA",
        "pool": "a",
    }
    return PlannedDevice(**(base | values))  # type: ignore[arg-type]


def test_titles_of_devices() -> None:
    assert _device().title == "RTX 4090"
    assert _device(description="").title == "CUDA0"
    far = _device(name="RPC0", kind="rpc", description="10.0.0.5:50052")
    assert far.title == "RPC0 (10.0.0.5:50052)"


def test_everything_that_a_model_takes() -> None:
    parts = {
        "weights_bytes": 1,
        "kv_bytes": 10,
        "state_bytes": 100,
        "compute_bytes": 1000,
        "output_bytes": 10_000,
        "overhead_bytes": 100_000,
        "draft_bytes": 1_000_000,
    }
    assert _device(**parts).used_bytes == 1_111_111


def test_growth_between_its_corners() -> None:
    line = GrowthLine(cache_type="f16", points=((0, 100), (1000, 1100), (2000, 1600)))
    assert [line.at(tokens) for tokens in (-5, 0, 500, 1000, 1500, 2000, 9999)] == [
        100,
        100,
        600,
        1100,
        1350,
        1600,
        1600,
    ]
    assert line.tokens_at(600) == 500
    assert line.tokens_at(1350) == 1500
    assert line.tokens_at(1601) is None
    assert GrowthLine(cache_type="f16", points=()).at(5) == 0


def test_passes_of_a_bandwidth() -> None:
    record = BandwidthRecord(
        at_ms=1,
        threads=2,
        buffer_bytes=1 << 30,
        samples=(40e9, 10e9, 20e9, 30e9, 50e9, 60e9, 70e9, 80e9),
    )
    # Sorted 10 … 80: the upper quartile is the third from above, the middle half 30 to 60.
    assert record.probed_bytes_per_s == 60e9
    assert record.spread == pytest.approx((60e9 - 30e9) / 2 / 45e9)
    assert not record.steady
    assert msgspec.structs.replace(record, least_bytes_per_s=61e9).steady
    even = msgspec.structs.replace(record, samples=(40e9,) * 8)
    assert even.steady
    assert not msgspec.structs.replace(even, waited=True).steady
    assert not even.cached
    assert msgspec.structs.replace(even, large_bytes_per_s=31e9).cached
    assert not msgspec.structs.replace(even, large_bytes_per_s=32e9).cached


def _point(depth: int, rate: float) -> RatePoint:
    return RatePoint(depth=depth, bytes_per_token=depth, ceiling=rate, low=rate, high=rate)


def test_rates_between_two_depths_by_their_time(plan_of: Callable[..., Plan]) -> None:
    record = plan_record(plan_of(machine(card()), gpu_layers=1))
    curve = (_point(100, 100.0), _point(300, 50.0))
    kept = msgspec.structs.replace(record, curve=curve)
    assert kept.rate_at(50) == curve[0]
    assert kept.rate_at(300) == kept.rate_at(9999) == curve[1]
    middle = kept.rate_at(200)
    assert middle is not None
    assert middle.bytes_per_token == 200
    assert middle.ceiling == pytest.approx(1 / ((1 / 100 + 1 / 50) / 2))  # 10 and 20 ms: 15
    assert msgspec.structs.replace(record, curve=()).rate_at(5) is None
    assert kept.device("CUDA0") is record.devices[1]
    assert kept.device("CUDA9") is None

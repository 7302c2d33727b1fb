"""A kept plan: between the points of its curves, and what its devices are called."""

from __future__ import annotations

import pytest

from inspector.plan_record import GrowthLine, PlannedDevice
from inspector.records import BandwidthRecord


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

"""What the probe promises whatever the speed of the machine; no figure is compared with another."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from app.engine import bandwidth
from app.engine.bandwidth import LARGE_BYTES, MOST_BYTES, measure_bandwidth, probe_size

MIB = 1 << 20


def test_a_probe_says_what_it_read_and_how() -> None:
    before = threading.active_count()  # other tests' pools may have some
    record = measure_bandwidth(4 * MIB, 2, repeats=3, large_bytes=16 * MIB)
    assert record.buffer_bytes == 4 * MIB
    assert record.threads == 2
    assert len(record.samples) == 3
    assert all(rate > 0 for rate in record.samples)
    assert record.large_bytes_per_s is not None
    assert record.spread >= 0
    assert threading.active_count() <= before


def test_a_large_buffer_needs_no_second_one() -> None:
    assert measure_bandwidth(4 * MIB, 0, repeats=1, large_bytes=4 * MIB).large_bytes_per_s is None
    assert measure_bandwidth(1 * MIB, 1, repeats=1, large_bytes=0).large_bytes_per_s is None


@pytest.mark.parametrize(
    ("wanted", "free", "size"),
    [
        (100 * MIB, None, 100 * MIB),
        (1, None, MIB),
        (100 << 30, None, MOST_BYTES),
        (100 << 30, 400 * MIB, 100 * MIB),
        (100 << 30, 0, MIB),
        (5 * MIB + 17, None, 5 * MIB),
    ],
)
def test_the_buffer_is_the_models_size_within_what_can_be_spared(
    wanted: int, free: int | None, size: int
) -> None:
    assert probe_size(wanted, free) == size


def test_every_byte_is_read_by_every_scanner() -> None:
    part = np.full(1000, 0x0101010101010101, dtype=np.uint64)
    fold, search = bandwidth._scanners()
    assert fold(part) == 0x0101010101010101
    assert search(part) is None
    part[-1] = 0x0701010101010101
    assert fold(part) == 0x0701010101010101
    last = part.nbytes - (1 if sys.byteorder == "little" else 8)
    assert search(part) == part.ctypes.data + last


def test_the_faster_scanner_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: dict[str, float] = {"slow": 2.0, "fast": 0.5}

    def passes(scan: Callable[[Any], str], _parts: object, count: int) -> tuple[list[float], bool]:
        return [spent[scan(None)]] * count, False

    monkeypatch.setattr(bandwidth, "_scanners", lambda: [lambda _: "slow", lambda _: "fast"])
    monkeypatch.setattr(bandwidth, "_passes", passes)
    assert measure_bandwidth(MIB, 1, repeats=2, large_bytes=0).samples == (2 * MIB, 2 * MIB)
    assert LARGE_BYTES < MOST_BYTES

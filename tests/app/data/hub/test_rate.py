from __future__ import annotations

from app.data.hub.rate import RateMeter


def test_a_rate_needs_some_time() -> None:
    meter = RateMeter()
    assert meter.bytes_per_s() is None
    meter.add(0.0, 0)
    meter.add(0.1, 1000)
    assert meter.bytes_per_s() is None
    assert meter.left_s(1000) is None
    meter.add(1.0, 10_000)
    assert meter.bytes_per_s() == 10_000
    assert meter.left_s(50_000) == 5


def test_an_old_rate_is_forgotten() -> None:
    meter = RateMeter()
    for second in range(10):
        meter.add(float(second), second * 1_000_000)
    for second in range(10, 20):
        meter.add(float(second), 9_000_000 + (second - 9) * 1000)
    assert meter.bytes_per_s() == 1000


def test_a_pause_shows_as_no_rate_and_no_end() -> None:
    meter = RateMeter()
    for second in range(10):
        meter.add(float(second), 5000)
    assert meter.bytes_per_s() == 0
    assert meter.left_s(1) is None

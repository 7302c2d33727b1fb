from __future__ import annotations

from gguf_tools.machine import MEASURED_BUSY, OF_LARGER, bandwidth_how


def test_how_a_bandwidth_was_got() -> None:
    assert bandwidth_how("measured", "") == "measured"
    assert bandwidth_how("measured", MEASURED_BUSY) == MEASURED_BUSY
    assert bandwidth_how("measured", OF_LARGER) == f"measured {OF_LARGER}"
    assert bandwidth_how("measured", f"{MEASURED_BUSY}; {OF_LARGER}") == (
        f"{MEASURED_BUSY} {OF_LARGER}"
    )

"""Devices: what others hold, other bandwidths, and how a bandwidth was got."""

from __future__ import annotations

import pytest

from gguf_tools.machine import MEASURED_BUSY, Device, Machine, bandwidth_how, cpu_only
from gguf_tools.units import GIB


def _card(**values: object) -> Device:
    return Device(name="GPU0", kind="gpu", backend="CUDA", **values)  # type: ignore[arg-type]


def test_what_other_programs_hold() -> None:
    card = _card(total_bytes=24 * GIB, free_bytes=20 * GIB)
    assert card.used_by_others_bytes == 4 * GIB
    assert card.with_free(25 * GIB).used_by_others_bytes == 0
    assert card.with_free(None).used_by_others_bytes is None
    assert _card(free_bytes=1).used_by_others_bytes is None


def test_a_given_bandwidth_is_that_of_what_works_first() -> None:
    host = cpu_only(64 * GIB, 60 * GIB)
    assert host.with_bandwidth(5e10).cpu.bandwidth_bytes_per_s == 5e10
    both = Machine(name="both", cpu=host.cpu, accelerators=(_card(), _card()))
    changed = both.with_bandwidth(1e12)
    assert [item.bandwidth_bytes_per_s for item in changed.devices] == [None, 1e12, None]
    assert changed.accelerators[0].bandwidth_basis == "assumed"


def test_alignment_and_rows() -> None:
    assert (cpu_only().cpu.alignment, _card().alignment) == (32, 128)
    assert Device(name="RPC0", kind="rpc").alignment == 32
    assert _card().pads_rows
    assert not Device(name="MTL0", kind="gpu", backend="MTL").pads_rows
    assert _card().memory_pool == "GPU0"
    assert _card(pool="shared").memory_pool == "shared"


@pytest.mark.parametrize(
    ("basis", "note", "words"),
    [
        ("table", "", "table"),
        ("measured", "4 threads", "measured, 4 threads"),
        ("measured", f"4 threads; {MEASURED_BUSY}", f"{MEASURED_BUSY}, 4 threads"),
        ("", "given", "given"),
    ],
)
def test_how_a_bandwidth_was_got(basis: str, note: str, words: str) -> None:
    assert bandwidth_how(basis, note) == words
    assert _card(bandwidth_note=note).measured_busy == (MEASURED_BUSY in note)

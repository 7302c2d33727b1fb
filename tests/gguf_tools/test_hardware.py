"""Published figures, found by the names that engines, drivers and systems report."""

from __future__ import annotations

import pytest

from gguf_tools.hardware import HardwareTable, parse_hardware
from gguf_tools.machine import cpu_only
from gguf_tools.units import GIB
from resources.loader import read_text


@pytest.fixture(scope="module")
def table() -> HardwareTable:
    return parse_hardware(read_text("hardware.json"))


def test_rows_have_sources_and_are_found_by_their_own_names(table: HardwareTable) -> None:
    assert len(table.rows) >= 60
    for row in table.rows:
        assert row.source
        assert row.source_url.startswith("https://")
        assert row.bandwidth_bytes_per_s > 5e9
        if row.kind != "cpu":
            assert table.find(row.name, max(row.memory_bytes)) is row


def test_about_half_of_the_rows_were_compared_with_a_second_source(table: HardwareTable) -> None:
    checked = [row for row in table.rows if row.checked]
    assert len(checked) >= 90
    assert not any("://" in row.checked or "www." in row.checked for row in checked)


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("NVIDIA GeForce RTX 3050", 15.75),
        ("Intel Arc A770 16 GB", 31.5),
        ("Intel Arc Pro B60", 31.5),
        ("AMD Radeon RX 9070 XT", 63.0),
        ("AMD Instinct MI50", 31.5),
    ],
)
def test_links_as_wide_as_the_cards_are(table: HardwareTable, name: str, link: float) -> None:
    row = next(row for row in table.rows if row.name == name)
    assert row.link_bytes_per_s == link * 1e9


@pytest.mark.parametrize(
    ("reported", "gib", "name"),
    [
        ("NVIDIA H100 80GB HBM3", 80, "NVIDIA H100 SXM"),
        ("NVIDIA A100-SXM4-40GB", 40, "NVIDIA A100 40 GB"),
        ("NVIDIA A100 80GB PCIe", 80, "NVIDIA A100 80 GB PCIe"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", 16, "NVIDIA GeForce RTX 4070 Ti SUPER"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 16, "NVIDIA GeForce RTX 4090 Laptop GPU"),
        ("NVIDIA GeForce RTX 3080", 12, "NVIDIA GeForce RTX 3080 12 GB"),
        ("AMD Radeon RX 7900 XTX (RADV NAVI31)", 24, "AMD Radeon RX 7900 XTX"),
        ("Intel(R) Arc(TM) A770 Graphics", 8, "Intel Arc A770 8 GB"),
        ("Apple M4 Max", 36, "Apple M4 Max (32-core GPU)"),
        ("Apple M4 Max", 128, "Apple M4 Max (40-core GPU)"),
        ("NVIDIA GeForce RTX 4090 D", 24, None),
        ("NVIDIA GeForce RTX 3050", 6, None),
        ("Some GPU", 8, None),
    ],
)
def test_reported_names(table: HardwareTable, reported: str, gib: int, name: str | None) -> None:
    row = table.find(reported, gib * GIB, cpu=False)
    assert (None if row is None else row.name) == name


@pytest.mark.parametrize(
    ("reported", "bandwidth"),
    [
        ("AMD Ryzen 9 7950X 16-Core Processor", 83.2),
        ("12th Gen Intel(R) Core(TM) i7-12700K", 76.8),
        ("AMD EPYC 9654 96-Core Processor", 460.8),
        ("Intel(R) Xeon(R) Platinum 8480+", 307.2),
        ("AMD EPYC", None),
    ],
)
def test_processors(table: HardwareTable, reported: str, bandwidth: float | None) -> None:
    row = table.find(reported, cpu=True)
    found = None if row is None else round(row.bandwidth_bytes_per_s / 1e9, 1)
    assert found == bandwidth


def test_machines_by_name(table: HardwareTable) -> None:
    cpu = cpu_only(64 * GIB, 60 * GIB).cpu
    pair = table.machine("2x RTX 3090", cpu)
    assert pair is not None
    assert len(pair.accelerators) == 2
    shared = table.machine("M4 Max", cpu)
    assert shared is not None
    assert shared.cpu.memory_pool == shared.accelerators[0].memory_pool
    assert table.machine("abacus", cpu) is None
    assert table.machine("0x RTX 3090", cpu) is None
    most = table.machine("14 x RTX 3090", cpu)
    assert most is not None
    assert len(most.accelerators) == 14


@pytest.mark.parametrize("count", [15, 100, 99_999])
def test_more_devices_than_llama_cpp_takes_are_refused(table: HardwareTable, count: int) -> None:
    cpu = cpu_only(64 * GIB, 60 * GIB).cpu
    with pytest.raises(ValueError, match=f"at most 14 devices, not {count:,}; .*'14x RTX 4090'"):
        table.machine(f"{count}x RTX 4090", cpu)


@pytest.mark.parametrize(
    ("name", "bandwidth", "tera"),
    [
        ("H100", 3.35e12, 989),
        ("RTX 4090", 1.008e12, 165),
        ("Apple M4", 120e9, None),
        ("Apple M4 Max 128 GB", 546e9, None),
    ],
)
def test_figures_of_the_lesson(
    table: HardwareTable, name: str, bandwidth: float, tera: float | None
) -> None:
    row = table.find(name)
    assert row is not None
    assert row.bandwidth_bytes_per_s == pytest.approx(bandwidth)
    if tera is not None:
        assert row.flops_per_s == pytest.approx(tera * 1e12, rel=0.01)


def test_no_table_is_told() -> None:
    with pytest.raises(ValueError, match="hardware table"):
        parse_hardware("{}")


def test_a_processor_of_the_table_takes_the_place_of_the_computer_s(table: HardwareTable) -> None:
    cpu = cpu_only(64 * GIB, 60 * GIB).cpu
    name = "AMD Ryzen 9 7950X 16-Core Processor"
    row, machine = table.find(name, cpu=True), table.machine(name, cpu)
    assert row is not None
    assert machine is not None
    assert machine.accelerators == ()
    assert machine.cpu.bandwidth_bytes_per_s == row.bandwidth_bytes_per_s
    assert (machine.cpu.total_bytes, machine.cpu.free_bytes) == (64 * GIB, 60 * GIB)

"""Two figures for the bandwidth of one computer are told apart by name; see also the e2e tests."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from app.data.probe import host_device
from app.machine import hardware_table
from app.ui.presenters.library_basis import basis_line
from app.ui.presenters.status import plan_bandwidth
from gguf_tools.facts import read_facts
from gguf_tools.machine import Machine, bandwidth_how
from gguf_tools.plan import make_plan
from gguf_tools.settings import LoadSettings
from inspector.planned import plan_record
from inspector.records import BandwidthRecord
from tests.helpers.shape_gguf import ShapeModel


def machine(rate: float, large: float | None = None) -> Machine:
    record = BandwidthRecord(
        at_ms=1, threads=2, buffer_bytes=100 << 20, samples=(rate,), large_bytes_per_s=large
    )
    return Machine(name="this", cpu=host_device(hardware_table(), "Some CPU", 2, record))


@pytest.mark.parametrize("fastest", [None, 0.0, 9.6e9])
def test_rows_that_rest_on_main_memory_need_no_second_figure(fastest: float | None) -> None:
    assert basis_line(machine(9.55e9), fastest) == (
        "Predicted for Some · main memory 9.55 GB/s measured"
    )


def test_the_header_names_what_a_small_model_s_row_rests_on() -> None:
    assert basis_line(machine(9.55e9), 34e9) == (
        "Predicted for Some · main memory 9.55 GB/s measured · small models up to 34.0 GB/s, "
        "partly from cache"
    )


def test_what_is_hardly_faster_is_not_said_to_be_the_cache_s() -> None:
    assert basis_line(machine(14.1e9), 14.5e9) == (
        "Predicted for Some · main memory 14.1 GB/s measured · small ones 14.5 GB/s"
    )


def test_a_small_model_s_size_that_was_not_measured_is_said_to_be_so() -> None:
    assert basis_line(machine(9.55e9), 9.55e9, is_lower=True) == (
        "Predicted for Some · main memory 9.55 GB/s measured · small models may be faster, "
        "not measured yet"
    )
    # One that was measured says it better.
    assert "not measured" not in basis_line(machine(9.55e9), 34e9, is_lower=True)


def test_a_figure_of_larger_models_says_so_wherever_it_stands() -> None:
    record = BandwidthRecord(
        at_ms=1, threads=2, buffer_bytes=1 << 30, samples=(9e9,), of_larger=True
    )
    cpu = host_device(hardware_table(), "Some CPU", 2, record)
    assert bandwidth_how(cpu.bandwidth_basis, cpu.bandwidth_note) == (
        "measured for larger models: the processor's cache may read this one faster"
    )
    busy = host_device(
        hardware_table(), "Some CPU", 2, msgspec.structs.replace(record, waited=True)
    )
    assert bandwidth_how(busy.bandwidth_basis, busy.bandwidth_note) == (
        "measured while busy for larger models: the processor's cache may read this one faster"
    )


def test_the_status_line_s_figure_says_that_it_is_not_main_memory_s(tmp_path: Path) -> None:
    facts = read_facts(ShapeModel(layers=4).builder().write(tmp_path / "m.gguf"))

    def known(here: Machine) -> tuple[float, str, bool]:
        found = plan_bandwidth(plan_record(make_plan(facts, LoadSettings(context=512), here)))
        assert found is not None
        return found.bytes_per_s, found.basis, found.is_cached

    how = "measured, partly from the processor's cache: main memory 9.55 GB/s"
    assert known(machine(34e9, 9.55e9)) == (34e9, how, True)
    assert known(machine(9.55e9)) == (9.55e9, "measured", False)

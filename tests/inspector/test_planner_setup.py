"""What the planner keeps, and the machines that its rows mean."""

from __future__ import annotations

import msgspec
import pytest

from app.machine import hardware_table
from gguf_tools.hardware import HardwareTable
from gguf_tools.machine import cpu_only
from inspector.planner_examples import EXAMPLES, first_setup, model_named
from inspector.planner_setup import (
    MachineSpec,
    ModelSpec,
    PlannerSettings,
    PlannerSetup,
    RowSetup,
    Scenario,
    decode_setup,
    encode_setup,
    machine_of,
    usable_bytes,
)

GIB = 1 << 30


@pytest.mark.parametrize("setup", [first_setup(), *(item.setup for item in EXAMPLES)])
def test_a_page_is_kept_whole(setup: PlannerSetup) -> None:
    assert decode_setup(encode_setup(setup)) == setup


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"{",
        b"[]",
        b'{"rows": 3}',
        b'{"rows": [{"key": "a"}]}',
        b'{"common": {"settings": {"context": "long"}}}',
        b'{"rows": [{"key": "a", "machine": {}}, {"key": "a", "machine": {}}]}',
        b"\xff\xfe",
    ],
)
def test_damaged_pages_count_as_none(data: bytes | None) -> None:
    assert decode_setup(data) is None


def test_rows_share_the_pages_settings_unless_they_have_their_own() -> None:
    own = Scenario(ModelSpec("/a.gguf"), PlannerSettings(context=512))
    setup = PlannerSetup(
        rows=(RowSetup("a", MachineSpec()), RowSetup("b", MachineSpec(), own)), chosen="b"
    )
    assert setup.scenario(setup.row("a")) == setup.common
    assert setup.scenario(setup.row("b")) == own
    assert setup.chosen_row == setup.row("b")
    assert msgspec.structs.replace(setup, chosen="gone").chosen_row == setup.row("a")
    assert setup.new_key() not in {"a", "b"}


def test_rows_are_added_replaced_moved_and_removed() -> None:
    setup = PlannerSetup(rows=(RowSetup("a", MachineSpec()), RowSetup("b", MachineSpec())))
    machine = MachineSpec("typed", "Mine")
    more = setup.with_new_row(machine)
    assert more.rows[:2] == setup.rows
    assert more.chosen_row == more.rows[2] == RowSetup(setup.new_key(), machine)
    assert more.without_row(more.chosen) == msgspec.structs.replace(setup, chosen=more.chosen)
    changed = setup.with_row(RowSetup("b", machine))
    assert changed.rows == (setup.rows[0], RowSetup("b", machine))
    assert [row.key for row in more.with_row_moved("a", 1).rows][:2] == ["b", "a"]
    assert more.with_row_moved("a", 1).with_row_moved("a", -1) == more
    for key, by in (("a", -1), (more.chosen, 1), ("gone", 1)):
        assert more.with_row_moved(key, by) == more


def test_the_form_changes_the_chosen_rows_own_settings_or_those_of_all() -> None:
    own, wanted = Scenario(ModelSpec("/a.gguf")), Scenario(ModelSpec("/b.gguf"))
    rows = (RowSetup("a", MachineSpec()), RowSetup("b", MachineSpec(), own))
    of_all = PlannerSetup(rows=rows, chosen="a").with_scenario(wanted)
    assert (of_all.common, of_all.rows) == (wanted, rows)
    of_one = PlannerSetup(rows=rows, chosen="b").with_scenario(wanted)
    assert of_one.common == Scenario()
    assert of_one.rows == (rows[0], RowSetup("b", MachineSpec(), wanted))


@pytest.mark.parametrize(
    ("memory_gib", "usable_gib"),
    # What Metal reports as recommendedMaxWorkingSetSize on Macs of these sizes.
    [(16, 10.67), (18, 12.0), (24, 16.0), (32, 21.33), (36, 27.0), (64, 48.0), (128, 96.0)],
)
def test_macos_keeps_a_part_of_the_memory(memory_gib: int, usable_gib: float) -> None:
    assert usable_bytes(memory_gib * GIB, "MTL") / GIB == pytest.approx(usable_gib, abs=0.01)
    assert usable_bytes(memory_gib * GIB, "CUDA") == memory_gib * GIB


def test_cards_of_the_table() -> None:
    spec = MachineSpec("table", "NVIDIA GeForce RTX 3090", cards=2, host_bytes=32 * GIB)
    machine = machine_of(spec, hardware_table(), None)
    assert machine is not None
    assert machine.name == "2 × NVIDIA GeForce RTX 3090"
    assert [device.total_bytes for device in machine.accelerators] == [24 * GIB] * 2
    assert len({device.memory_pool for device in machine.devices}) == 3
    assert machine.cpu.total_bytes == 32 * GIB
    assert machine.cpu.bandwidth_basis == "assumed"
    assert machine.accelerators[0].bandwidth_basis == "table"


def test_shared_memory_is_one_pool() -> None:
    spec = MachineSpec("table", "Apple M4", "unified", memory_bytes=16 * GIB)
    machine = machine_of(spec, hardware_table(), None)
    assert machine is not None
    assert len({device.memory_pool for device in machine.devices}) == 1
    assert machine.cpu.total_bytes == machine.accelerators[0].total_bytes == 16 * GIB * 2 // 3
    assert "usable of 16.0 GiB" in machine.notes[0]


def test_processors_have_the_memory_that_was_given() -> None:
    spec = MachineSpec("table", "AMD EPYC 9004", "cpu", host_bytes=384 * GIB)
    machine = machine_of(spec, hardware_table(), None)
    assert machine is not None
    assert machine.accelerators == ()
    assert machine.cpu.total_bytes == 384 * GIB
    assert machine.cpu.bandwidth_bytes_per_s == pytest.approx(460.8e9)


def test_typed_machines_say_that_they_are_assumed() -> None:
    spec = MachineSpec(
        "typed", "Dream", "gpu", cards=3, memory_bytes=48 * GIB, bandwidth_bytes_per_s=2e12
    )
    machine = machine_of(spec, hardware_table(), None)
    assert machine is not None
    assert len(machine.accelerators) == 3
    assert machine.accelerators[0].bandwidth_basis == "assumed"
    unified = machine_of(
        MachineSpec("typed", "Box", "unified", memory_bytes=128 * GIB, bandwidth_bytes_per_s=2e11),
        hardware_table(),
        None,
    )
    assert unified is not None
    assert len({device.memory_pool for device in unified.devices}) == 1


def test_this_computer_is_what_it_is() -> None:
    this = cpu_only(8 * GIB, 6 * GIB)
    assert machine_of(MachineSpec(), hardware_table(), this) is this
    assert machine_of(MachineSpec(), hardware_table(), None) is None


def test_hardware_that_left_the_table_is_said() -> None:
    with pytest.raises(ValueError, match="no 'GTX 9999'"):
        machine_of(MachineSpec("table", "GTX 9999"), hardware_table(), None)


def test_unknown_models_are_no_example() -> None:
    with pytest.raises(KeyError):
        model_named("Llama 9")


def test_as_many_rows_as_a_page_holds_are_kept() -> None:
    def page(count: int) -> PlannerSetup:
        return PlannerSetup(rows=tuple(RowSetup(f"r{n}", MachineSpec()) for n in range(count)))

    assert decode_setup(encode_setup(page(24))) == page(24)
    assert decode_setup(encode_setup(page(25))) is None


def test_a_first_page_begins_with_its_first_row() -> None:
    page = first_setup()
    assert page.chosen == page.rows[0].key
    assert page.chosen_row is page.rows[0]
    assert [row.key for row in page.rows] == [f"r{n}" for n in range(6)]
    assert page.rows[-1].machine.source == "this"


@pytest.mark.parametrize(
    ("kind", "cards", "names"),
    [
        ("gpu", 1, ["Box"]),
        ("gpu", 3, ["Box 1", "Box 2", "Box 3"]),
        ("unified", 1, ["Box"]),
    ],
)
def test_a_typed_machine_has_as_many_cards_as_were_typed(
    kind: str, cards: int, names: list[str]
) -> None:
    spec = MachineSpec(
        source="typed",
        name="Box",
        kind=kind,  # type: ignore[arg-type]
        cards=cards,
        memory_bytes=24 << 30,
        bandwidth_bytes_per_s=1e12,
        flops_per_s=1e14,
    )
    machine = machine_of(spec, HardwareTable(()), None)
    assert machine is not None
    assert [device.name for device in machine.accelerators] == names
    assert {device.total_bytes for device in machine.accelerators} == {24 << 30}
    # Unified memory is one with the processor's; a card's is its own.
    shared = {device.memory_pool == machine.cpu.memory_pool for device in machine.accelerators}
    assert shared == {kind == "unified"}
    assert len({device.memory_pool for device in machine.accelerators}) == cards

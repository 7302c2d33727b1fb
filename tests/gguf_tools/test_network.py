"""Bytes that cross the network; the engine's own traffic is held against them in
tests/app/engine/test_remote_devices.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gguf_tools.facts import read_facts
from gguf_tools.machine import Device, Machine
from gguf_tools.network import network_seconds
from gguf_tools.plan import Plan, make_plan
from gguf_tools.settings import LoadSettings
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

GIB = 1 << 30


def _far(name: str = "RPC0", **values: float | None) -> Device:
    return Device(
        name=name,
        kind="rpc",
        description="10.0.0.5:50052",
        backend="RPC",
        total_bytes=8 * GIB,
        free_bytes=8 * GIB,
        bandwidth_bytes_per_s=50e9,
        **values,  # type: ignore[arg-type]
    )


def _plan(folder: Path, *devices: Device, depth: int = 0, **load: object) -> Plan:
    path = write_tiny_model(folder / "m.gguf", TinyModel(layers=4))
    cpu = Device(name="CPU", kind="cpu", backend="CPU", bandwidth_bytes_per_s=50e9)
    machine = Machine(name="m", cpu=cpu, accelerators=devices)
    settings = LoadSettings(context=2048, **load)  # type: ignore[arg-type]
    return make_plan(read_facts(str(path)), settings, machine, depth=depth)


def test_a_stretch_of_layers_costs_one_trip_and_the_logits(tmp_path: Path) -> None:
    plan = _plan(tmp_path, _far())
    cpu, far = plan.decode.reads
    assert (cpu.moved, cpu.trips) == (0, 0)
    assert far.trips == 1
    vocabulary = plan.facts.vocab_size or 0
    assert far.moved > 4 * vocabulary
    assert far.moved < 4 * vocabulary + 10_000


def test_two_computers_pass_the_hidden_state_on(tmp_path: Path) -> None:
    plan = _plan(tmp_path, _far(), _far("RPC1"), split=(1.0, 1.0))
    _, first, second = plan.decode.reads
    assert first.trips == second.trips == 1
    assert first.moved < second.moved  # only the last one sends the logits


def test_masks_grow_with_the_depth_and_halve_with_flash_attention(tmp_path: Path) -> None:
    def moved(depth: int, flash: str) -> float:
        plan = _plan(tmp_path, _far(), depth=depth, flash_attention=flash)
        return plan.decode.reads[1].moved

    assert moved(1023, "on") - moved(0, "on") == 2 * 768
    assert moved(1023, "off") - moved(0, "off") == 4 * 768


def test_time_on_the_network_adds_to_each_token(tmp_path: Path) -> None:
    near = _plan(tmp_path, _far())
    far = _plan(tmp_path, _far(round_trip_s=0.002, link_bytes_per_s=100e6))
    assert near.decode.ceiling is not None
    assert far.decode.ceiling is not None
    added = 1 / far.decode.ceiling - 1 / near.decode.ceiling
    assert added == pytest.approx(0.002 + far.decode.reads[1].moved / 100e6)
    assert near.decode.expected_high is not None
    assert far.decode.expected_high is not None
    assert 1 / far.decode.expected_high - 1 / near.decode.expected_high == pytest.approx(added)


def test_a_card_of_this_computer_has_no_network() -> None:
    card = Device(name="CUDA0", kind="gpu", link_bytes_per_s=1e9, round_trip_s=1.0)
    assert network_seconds(1e9, 1, card) == 0
    assert network_seconds(1e9, 1, _far()) == 0  # not measured: nothing is made up

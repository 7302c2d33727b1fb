"""Memory measured again by a click: said while it runs, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from inspector.records import BandwidthRecord
from inspector.widgets.finding_card import FixButton
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window import Program

Open = Callable[..., Program]


@pytest.fixture
def program(tmp_path: Path, open_program: Open) -> Program:
    """A model whose figures rest on a probe of all sizes that threads had to wait in."""
    path = write_tiny_model(tmp_path / "Tiny-Chat-F32.gguf", TinyModel(script=("<|im_end|>",)))
    program = open_program(path).ready()
    inspector, hello = program.app.inspector, program.app.engine.state.hello
    assert hello is not None
    known = inspector.plan.live.probe
    program.until(lambda: known(hello) is not None and not inspector.probing)
    threads = inspector.plan.live.threads
    for kind in range(1, 32):  # slower than any computer
        slow = BandwidthRecord(
            at_ms=1, threads=threads, buffer_bytes=1 << kind, samples=(1e6,), waited=True
        )
        name = f"bandwidth {hello.cpu} | {threads} threads | 2^{kind}"
        program.app.state.set_blob(name, msgspec.json.encode(slow))
    return program


def button(program: Program, text: str) -> FixButton:
    """Return the note's button as soon as the panel shows it."""

    def found() -> list[FixButton]:
        cards = program.app.inspector._panel.notes.findings
        return [item for card in cards for item in card.buttons if item.fix.label == text]

    program.until(lambda: program.app.inspector._panel is not None and bool(found()))
    return found()[0]


def test_the_button_waits_and_what_came_of_it_is_said(program: Program) -> None:
    inspector = program.app.inspector
    button(program, "Measure again").click()
    assert not button(program, "Measuring…").isEnabled()
    program.until(lambda: not inspector.session.measuring)
    bars = program.app.window.chat.notices._bars
    program.until(lambda: "fix" in bars)
    assert inspector.session.plan is not None
    rate = inspector.session.plan.devices[0].bandwidth_bytes_per_s
    assert rate is not None
    assert rate > 1e8
    said = bars["fix"].text
    assert said.startswith(("Measured: ", "Still busy: "))

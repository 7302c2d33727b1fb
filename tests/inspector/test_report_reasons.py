"""A report says why a turn has no prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gguf_tools.plan import Plan
from inspector.report import report_as_markdown
from inspector.session import Session
from tests.inspector.conftest import cpu, loaded, machine, turn


def test_why_predicted_and_ceiling_are_unknown(plan_of: Callable[..., Plan]) -> None:
    unmeasured = machine(host=replace(cpu(), bandwidth_bytes_per_s=None))
    texts = []
    for on in (unmeasured, machine()):
        session = Session()
        session.planned(plan_of(on, n_ctx=1024))
        texts.append(report_as_markdown("t", [turn(loaded(session))]))
    said = "— stands where the memory's bandwidth was not measured yet when the model was loaded."
    assert said in texts[0]
    assert said not in texts[1]
    assert "| — | — |" in texts[0]


def test_a_turn_without_the_record_of_its_load() -> None:
    text = report_as_markdown("t", [turn()])
    assert "Nothing was planned for turns whose load was not recorded." in text

"""What is said of threads and of a bandwidth that was measured while the machine was busy."""

from __future__ import annotations

import msgspec
import pytest

from gguf_tools.machine import MEASURED_BUSY
from inspector.findings import findings_of
from inspector.plan_record import BUSY, FixRecord
from inspector.session import Session


@pytest.mark.parametrize(
    ("threads", "cores", "text", "severity"),
    [
        (3, 6, "", ""),
        (2, 6, "2 of 6 fast cores are used.", "note"),
        (1, 3, "1 of 3 fast cores are used.", "note"),
        (6, 6, "", ""),
        (7, 6, "7 threads share 6 fast cores.", "warning"),
    ],
)
def test_threads_are_told_where_they_are_too_many_or_under_half(
    session: Session, threads: int, cores: int, text: str, severity: str
) -> None:
    load = session.load
    assert load is not None
    session.load = msgspec.structs.replace(
        load, settings=msgspec.structs.replace(load.settings, threads=threads)
    )
    session.cores = cores
    told = [(item.text, item.severity) for item in findings_of(session) if item.id == "threads"]
    assert told == [(text, severity)] * bool(text)


def _fixes(session: Session) -> tuple[FixRecord, ...]:
    (finding,) = [item for item in findings_of(session) if item.id == "bandwidth_busy"]
    return finding.fixes


def test_while_it_measures_it_can_not_be_asked_to_measure(session: Session) -> None:
    plan = session.plan
    assert plan is not None
    (device,) = plan.devices
    session.plan = msgspec.structs.replace(
        plan, devices=(msgspec.structs.replace(device, bandwidth_note=MEASURED_BUSY),)
    )
    (again,) = _fixes(session)
    assert (again.text, again.action) == ("Measure again", "probe")
    session.measuring = True
    (waiting,) = _fixes(session)
    assert waiting.text == "Measuring…"
    assert waiting.action == BUSY

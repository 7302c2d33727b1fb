"""What is said of threads and of a bandwidth that was measured while the machine was busy."""

from __future__ import annotations

import msgspec
import pytest

from gguf_tools.machine import MEASURED_BUSY
from inspector.findings import findings_of
from inspector.plan_record import BUSY, FixRecord
from inspector.records import DeviceSample, MemorySample
from inspector.session import Session
from inspector.speed import judge
from tests.inspector.conftest import at_rate, turn


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


def test_further_causes_of_a_slow_turn_stand_below_the_first(session: Session) -> None:
    session.cores = 4
    session.busy = "Other programs use 1.9 processor cores."
    assert at_rate(session, 5, threads=8, reply_tokens=20, decode_s=19 / 5) == "below"
    first, *others = judge(session).causes
    assert len(others) == 2
    (slow,) = [item for item in findings_of(session) if item.id == "slow"]
    assert slow.cause == judge(session).sentence
    assert slow.cause.endswith(first)
    assert slow.cost == " ".join(others)
    assert slow.severity == "note"  # a short reply


@pytest.mark.parametrize(
    ("trained", "context"), [(None, 4096), (8192, 4096), (3000, 3000), (2048, None), (1024, None)]
)
def test_a_context_is_doubled_up_to_the_trained_length(
    session: Session, trained: int | None, context: int | None
) -> None:
    load = session.load
    assert load is not None
    session.load = msgspec.structs.replace(load, n_ctx_train=trained or 0)
    session.conversation([turn(prompt_tokens=1900, reply_tokens=100)])
    (window,) = [item for item in findings_of(session) if item.id == "window"]
    wanted = [] if context is None else [{"n_ctx": context}]
    assert [fix.changes for fix in window.fixes if "n_ctx" in fix.changes] == wanted


@pytest.mark.parametrize(("tokens", "severity"), [(31, "note"), (32, "warning")])
def test_a_short_reply_is_no_warning(session: Session, tokens: int, severity: str) -> None:
    at_rate(session, 5, reply_tokens=tokens, decode_s=(tokens - 1) / 5)
    (slow,) = [item for item in findings_of(session) if item.id == "slow"]
    assert slow.severity == severity


@pytest.mark.parametrize(("size_bytes", "told"), [((64 << 20) - 1, False), (64 << 20, True)])
def test_how_much_a_driver_may_move_unsaid(
    session: Session, size_bytes: int, *, told: bool
) -> None:
    spilled = DeviceSample(name="CUDA0", kind="gpu", spilled_bytes=size_bytes)
    session.memory(MemorySample(at_ms=2, devices=(spilled,)))
    assert ("spill/CUDA0" in {item.id for item in findings_of(session)}) is told
    at_rate(session, 5)
    causes = " ".join(judge(session).causes)
    assert ("The driver moved 64.0 MiB of CUDA0" in causes) is told

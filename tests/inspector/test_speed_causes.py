from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from gguf_tools.plan import Plan
from inspector.records import DeviceSample, MemorySample
from inspector.session import Session
from inspector.speed import judge, speed_view
from tests.inspector.conftest import FLAT, GIB, at_rate, buffer, card, loaded, machine, sample, turn

PlanOf = Callable[..., Plan]


def cause(session: Session) -> str:
    return judge(session).causes[0]


def test_a39_more_threads_than_cores(session: Session) -> None:
    session.cores = 2
    at_rate(session, 5, threads=8)
    assert cause(session) == "8 threads share 2 fast cores and wait for each other."


def test_another_program_computes(session: Session) -> None:
    session.busy = "Other programs use 1.9 processor cores, a compiler the most of them."
    at_rate(session, 5)
    assert cause(session) == session.busy


def test_the_driver_moved_memory_out(session: Session) -> None:
    at_rate(session, 5)
    spilled = DeviceSample(name="CUDA0", kind="gpu", spilled_bytes=1 << 30, limited_by="heat")
    session.memory(MemorySample(at_ms=2, devices=(spilled,)))
    assert cause(session).startswith("The driver moved 1.00 GiB of CUDA0 to system memory")
    assert "CUDA0 is held back by heat." in judge(session).causes


def test_pages_of_the_model_are_not_in_memory(session: Session) -> None:
    load = session.load
    assert load is not None
    session.load = msgspec.structs.replace(
        load, buffers=(buffer("CPU_Mapped", "weights", 4 << 30),)
    )
    at_rate(session, 5)
    session.memory(MemorySample(at_ms=2, private_bytes=1, mapped_bytes=1 << 30))
    assert "Only 1.00 GiB of the model's 4.00 GiB lie in memory" in cause(session)
    session.memory(MemorySample(at_ms=2, private_bytes=1, mapped_bytes=4 << 30))
    assert judge(session).causes == ()


def test_repacked_weights_need_no_pages(session: Session) -> None:
    load = session.load
    assert load is not None
    session.load = msgspec.structs.replace(
        load,
        buffers=(
            buffer("CPU_Mapped", "weights", 4 << 30),
            buffer("CPU_REPACK", "weights", 3 << 30),
        ),
    )
    at_rate(session, 5)
    session.memory(MemorySample(at_ms=2, private_bytes=1, mapped_bytes=1 << 30))
    assert judge(session).causes == ()


def test_drawing_takes_the_time(session: Session) -> None:
    at_rate(session, 5, sample_s=10.0)
    assert "Drawing tokens took 50\u00a0% of the time" in cause(session)


def test_the_rate_falls_within_the_reply(session: Session) -> None:
    times = [(1, 0.0)]
    for block in range(12):
        tokens, seconds = times[-1]
        times.append((tokens + 20, seconds + (20 / 60 if block < 6 else 20 / 10)))
    at_rate(session, 100 / 14, samples=tuple(times), reply_tokens=241)
    assert "the rate fell from 60.0 tok/s to 10.0 tok/s" in cause(session)


def test_compatibility_and_cache_type_count_on_the_processor(session: Session) -> None:
    load = session.load
    assert load is not None
    session.load = msgspec.structs.replace(
        load,
        settings=msgspec.structs.replace(load.settings, compatibility=True, type_k="q8_0"),
    )
    session.cores = 16
    at_rate(session, 5, threads=2)
    assert len(judge(session).causes) == 3
    assert cause(session).startswith("Compatibility mode")


def test_a_short_reply_is_uncertain(session: Session) -> None:
    at_rate(session, 5, reply_tokens=20, decode_s=19 / 5)
    assert "The reply is short (20 tokens)" in cause(session)


def _slow(session: Session) -> str:
    load = session.load
    session.conversation([turn(load, decode_s=100.0, samples=((1, 0.0), (101, 100.0)))])
    view = speed_view(session)
    assert view is not None
    return " ".join(judge(session).causes)


def test_layers_that_are_not_where_they_were_planned(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card()), n_ctx=2048))
    loaded(session, layers_offloaded=1)
    assert "Of 3 layers planned on the accelerator 1 came there." in _slow(session)


def test_weights_that_are_read_from_the_disk(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(n_ctx=2048))
    loaded(session, buffers=(buffer("CPU_Mapped", "weights", 1 * GIB),))
    session.memory(sample(mapped_mib=100))
    assert "Only 100 MiB of the model's 1.00 GiB lie in memory" in _slow(session)
    loaded(session, buffers=(buffer("CPU_REPACK", "weights", 1 * GIB),))
    assert "lie in memory" not in _slow(session)


def test_a_network_that_may_have_become_slower(plan_of: PlanOf) -> None:
    far = card(
        name="RPC0", kind="rpc", description="10.0.0.5:50052", backend="RPC",
        link_bytes_per_s=1e8, round_trip_s=0.001,
    )  # fmt: skip
    session = Session()
    session.planned(plan_of(machine(far), n_ctx=2048))
    loaded(session, layers_offloaded=3)
    assert "Layers lie on RPC0, and the network to 10.0.0.5:50052" in _slow(session)


def test_without_a_load_nothing_is_said_of_its_pages(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(n_ctx=2048))
    session.conversation([turn(None, decode_s=100.0)])
    session.memory(sample(mapped_mib=0))
    assert "lie in memory" not in " ".join(judge(session).causes)


def test_a_device_of_unknown_bandwidth_is_not_blamed(session: Session) -> None:
    plan = session.plan
    assert plan is not None
    known = plan.devices[0]
    unknown = msgspec.structs.replace(known, name="CUDA0", bandwidth_bytes_per_s=None)
    idle = msgspec.structs.replace(known, name="CUDA1", weights_bytes=0)
    session.plan = msgspec.structs.replace(plan, devices=(known, unknown, idle))
    assert at_rate(session, 150) == "above"
    assert judge(session).causes == (
        "The 40.0 GB/s of CPU was measured while the machine may have been busy.",
    )


def test_a_rate_that_falls_as_the_curve_does_needs_no_cause(session: Session) -> None:
    plan = session.plan
    assert plan is not None
    start, end = FLAT
    steep = (
        msgspec.structs.replace(start, low=60.0),
        msgspec.structs.replace(end, low=20.0, high=40.0, ceiling=50.0),
    )
    # 20 tokens a block: 12 blocks from 60 tok/s down to 20 over the whole context.
    times = [(1, 0.0)]
    for block in range(12):
        tokens, seconds = times[-1]
        times.append((tokens + 150, seconds + 150 / (6.0 - block / 3)))
    falling: dict[str, Any] = {"samples": tuple(times), "reply_tokens": 1801, "prompt_tokens": 100}
    session.plan = msgspec.structs.replace(plan, curve=steep)
    at_rate(session, 0.2, **falling)
    assert not any("Within the reply" in sentence for sentence in judge(session).causes)
    session.plan = msgspec.structs.replace(plan, curve=FLAT)
    at_rate(session, 0.2, **falling)
    assert any("Within the reply" in sentence for sentence in judge(session).causes)


@pytest.mark.parametrize(
    ("threads", "cores", "tuned", "said"),
    [
        (0, 8, False, ""),
        (1, 3, False, "Only 1 of 3 fast cores are used."),
        (2, 4, False, ""),
        (4, 9, False, "Only 4 of 9 fast cores are used."),
        (4, 9, True, ""),
        (5, 4, False, "5 threads share 4 fast cores and wait for each other."),
        (5, 4, True, ""),
        (4, 4, False, ""),
    ],
)
def test_threads_beside_cores(
    session: Session, threads: int, cores: int, said: str, *, tuned: bool
) -> None:
    load = session.load
    assert load is not None
    session.cores, session.tuned = cores, tuned
    at_rate(session, 5, threads=threads)
    assert [text for text in judge(session).causes if "fast cores" in text] == [said] * bool(said)


@pytest.mark.parametrize(("tokens", "is_short"), [(31, True), (32, False)])
def test_how_short_a_reply_is_uncertain(session: Session, tokens: int, *, is_short: bool) -> None:
    at_rate(session, 5, reply_tokens=tokens, decode_s=(tokens - 1) / 5)
    told = any("The reply is short" in sentence for sentence in judge(session).causes)
    assert told is is_short

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from gguf_tools.plan import Plan
from inspector.ceiling import decode_equation
from inspector.plan_record import FitRecord, PlanRecord, RatePoint
from inspector.records import DeviceSample, MemorySample
from inspector.session import Session
from inspector.speed import judge, speed_view
from tests.inspector.conftest import GIB, buffer, card, cpu, loaded, machine, sample, stats, turn

PlanOf = Callable[..., Plan]

# a hundred tokens a second at most at any depth, 40 to 80 of them expected
FLAT = tuple(
    RatePoint(depth=depth, bytes_per_token=400_000_000, ceiling=100.0, low=40.0, high=80.0)
    for depth in (0, 2047)
)


@pytest.fixture
def session(plan_of: PlanOf) -> Session:
    made = Session()
    made.planned(plan_of())
    assert made.plan is not None
    made.plan = msgspec.structs.replace(made.plan, curve=FLAT)
    loaded(made)
    return made


def at_rate(session: Session, per_s: float, **values: Any) -> str:
    """Finish a turn of 101 tokens at a rate and return the kind of verdict."""
    base: dict[str, Any] = {"reply_tokens": 101, "decode_s": 100 / per_s}
    session.conversation([turn(**(base | values))])
    return judge(session).kind


def test_measured_beside_predicted(session: Session) -> None:
    assert at_rate(session, 60) == "inside"
    view = speed_view(session)
    assert view is not None
    assert view.decode.measured == pytest.approx(60)
    assert (view.decode.predicted_low, view.decode.predicted_high) == (40, 80)
    assert view.decode.efficiency == pytest.approx(0.6)
    assert view.decode.predicted_basis == "assumed"
    assert view.decode.ceiling_basis == "measured"
    assert "400 MB" not in view.decode.formula
    assert "381 MiB a token" in view.decode.formula
    assert "40.0 GB/s (measured)" in view.decode.formula
    assert view.explanation == ""
    assert not view.alarming


@pytest.mark.parametrize(("rate", "kind"), [(101.9, "inside"), (102.5, "above"), (150, "above")])
def test_above_the_ceiling_by_more_than_two_per_cent_something_is_wrong(
    session: Session, rate: float, kind: str
) -> None:
    assert at_rate(session, rate) == kind
    sentence = judge(session).sentence
    if kind == "above":
        assert "the byte count or the bandwidth is wrong" in sentence
        assert "40.0 GB/s of CPU was measured" in sentence
        view = speed_view(session)
        assert view is not None
        assert view.alarming
    else:
        assert sentence == ""


def test_far_below_without_evidence_the_reason_is_unknown(session: Session) -> None:
    session.cores = 2
    assert at_rate(session, 33) == "inside"
    assert at_rate(session, 20) == "below"
    assert judge(session).causes == ()
    assert judge(session).sentence.endswith("The reason is unknown.")
    assert "20\u00a0% of the ceiling" in judge(session).sentence


def test_too_few_tokens_measure_nothing(session: Session) -> None:
    assert at_rate(session, 1, reply_tokens=5) == "unknown"
    assert at_rate(session, 1, reply_tokens=1, decode_s=0.0) == "unknown"
    assert judge(Session()).kind == "unknown"


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


def test_rates_along_a_reply_stand_at_their_depth() -> None:
    found = stats(
        prompt_tokens=100, samples=((1, 0.0), (11, 0.1), (21, 1.0), (61, 2.0))
    ).rates_along()
    assert found == ((111, 20.0), (141, 40.0))
    assert stats(prompt_tokens=100, reply_tokens=101, decode_s=2.0).rates_along() == ((150, 50.0),)
    assert stats(reply_tokens=1, decode_s=0.0).rates_along() == ()


def test_parts_of_the_first_token(session: Session) -> None:
    session.conversation([turn(load_s=3.0, prefill_s=0.5, first_token_s=0.6)])
    view = speed_view(session)
    assert view is not None
    first = view.first_token
    assert first is not None
    assert [part.label for part in first.parts] == [
        "load",
        "prefill of 60 tokens",
        "template and first draw",
    ]
    assert sum(part.seconds for part in first.parts) == pytest.approx(first.total_s)
    assert (first.new_tokens, first.reused_tokens) == (60, 40)


def test_time_to_first_token_is_told_before_sending(session: Session) -> None:
    session.conversation([turn(evaluated_tokens=100, prefill_s=1.0), turn(evaluated_tokens=1)])
    session.draft(50, 400)
    view = speed_view(session)
    assert view is not None
    assert view.draft_first_token is not None
    assert view.draft_first_token.total_s == pytest.approx(0.5)
    assert view.draft_first_token.basis == "planned"
    assert view.draft_first_token.reused_tokens == 400
    session.draft(None)
    view = speed_view(session)
    assert view is not None
    assert view.draft_first_token is None


def test_a_running_reply_is_held_against_its_own_depth(session: Session) -> None:
    session.turn_started(prompt_tokens=500, reused_tokens=100, new_tokens=400)
    session.read(200)
    assert session.used_tokens == 300
    session.tokens(40, 55.0)
    assert session.used_tokens == 540
    view = speed_view(session)
    assert view is not None
    assert view.decode.live
    assert view.decode.measured == 55.0
    plan = session.plan
    assert plan is not None
    point = plan.rate_at(520)
    assert point is not None
    assert view.decode.ceiling == point.ceiling
    assert view.decode.equation == decode_equation(plan, point)


def test_while_a_turn_runs_figures_of_the_one_before_are_named(session: Session) -> None:
    session.conversation([turn(prompt_tokens=40, reply_tokens=101, decode_s=2.0)])
    session.turn_started(prompt_tokens=500, reused_tokens=141, new_tokens=359)
    view = speed_view(session)
    assert view is not None
    assert view.first_token is not None
    assert (view.decode.earlier, view.prefill.earlier, view.first_token.earlier) == (True,) * 3
    assert not view.prefill.live
    for count in range(2, 66):
        session.tokens(count, 40.0)
    view = speed_view(session)
    assert view is not None
    assert (view.decode.live, view.decode.earlier) == (True, False)
    assert view.prefill.earlier
    assert view.explanation == ""
    # The curve goes on where this reply is written, at the rate of each stretch.
    own = view.measured_over_depth[1:]
    assert [point.depth_tokens for point in own] == [509, 525, 541, 557]
    assert [point.per_s for point in own] == [pytest.approx(40.0)] * 4
    session.turn_finished(turn(prompt_tokens=500, reply_tokens=65))
    view = speed_view(session)
    assert view is not None
    assert view.first_token is not None
    after = (view.decode.earlier, view.prefill.earlier, view.first_token.earlier)
    assert after == (False,) * 3


def test_several_are_set_beside_the_latest_alone_though_another_version_hides_it(
    session: Session,
) -> None:
    load = session.load
    slow, fast = turn(load, decode_s=5.4), turn(load, decode_s=1.76)
    batch = turn(load, replies_at_once=3, batch_reply_tokens=303, batch_decode_s=3.0)
    session.conversation([slow])
    session.turn_finished(fast)
    session.turn_finished(batch)
    session.conversation([slow, batch])
    assert "The latest reply alone wrote 56.8" in judge(session).sentence


def test_without_anything_there_is_no_view(plan_of: PlanOf) -> None:
    assert speed_view(Session()) is None
    only_turn = Session()
    only_turn.conversation([turn()])
    view = speed_view(only_turn)
    assert view is not None
    assert view.decode.predicted is None
    assert view.decode.measured is not None
    plan: PlanRecord | None = only_turn.plan
    assert plan is None
    assert machine().accelerators == ()


def test_what_was_measured_here_is_said_and_a_slow_computer_stays_one(session: Session) -> None:
    assert session.plan is not None
    fitted = tuple(
        msgspec.structs.replace(point, low=20.0, high=25.0, likely_low=40.0) for point in FLAT
    )
    session.plan = msgspec.structs.replace(
        session.plan, curve=fitted, fit=FitRecord(own=True, count=12, deepest=900, spread=0.1)
    )
    assert at_rate(session, 22) == "below"  # as ever here, and still far below what is likely
    assert "at least 40.0 tok/s would be usual" in judge(session).sentence
    view = speed_view(session)
    assert view is not None
    assert view.decode.predicted_basis == "measured"
    assert "By 12 measured rates of this model on this computer" in view.decode.formula
    assert at_rate(session, 33) == "inside"


def test_batch_and_draft_are_not_held_against_the_ceiling_of_one_token(session: Session) -> None:
    alone = turn(reply_tokens=101, decode_s=2.0)
    batch = turn(
        reply_tokens=101,
        decode_s=5.0,
        replies_at_once=3,
        batch_reply_tokens=303,
        batch_decode_s=5.0,
    )
    draft = turn(reply_tokens=101, decode_s=0.2, drafted_tokens=80, accepted_tokens=60)
    session.conversation([alone, batch])
    said = judge(session)
    assert said.kind == "shared"
    assert said.sentence.startswith("3 replies at once: 60.0 tok/s together, 20.0 each")
    assert "The latest reply alone wrote 50.0" in said.sentence
    session.conversation([alone, batch, draft])
    said = judge(session)
    assert said.sentence.startswith("The draft model guessed 80 tokens and 75 % of them were right")
    view = speed_view(session)
    assert view is not None
    assert not view.alarming
    # Their rates are no points of the curve.
    assert [point.per_s for point in view.measured_over_depth] == [pytest.approx(50.0)]


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
    assert "3 layers were planned on the accelerator and 1 are there." in _slow(session)


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


def test_a_basis_that_a_later_program_wrote_is_unknown(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(n_ctx=2048))
    record = loaded(session)
    assert record.plan is not None
    session.conversation([turn(record)])
    for basis, bandwidth, shown in (
        ("measured", 40e9, "measured"),
        ("guessed", 40e9, "unknown"),
        ("measured", None, "unknown"),
    ):
        device = msgspec.structs.replace(
            record.plan.devices[0], bandwidth_basis=basis, bandwidth_bytes_per_s=bandwidth
        )
        session.plan = msgspec.structs.replace(record.plan, devices=(device,))
        view = speed_view(session)
        assert view is not None
        assert view.decode.ceiling_basis == shown


def test_without_a_load_nothing_is_said_of_its_pages(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(n_ctx=2048))
    session.conversation([turn(None, decode_s=100.0)])
    assert "lie in memory" not in " ".join(judge(session).causes)


def test_a_prediction_without_a_bandwidth_is_no_judgement(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(host=cpu(bandwidth_bytes_per_s=None)), n_ctx=2048))
    session.conversation([turn(loaded(session))])
    assert judge(session).kind == "unknown"


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


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (
            FitRecord(own=True, count=1, deepest=1200, spread=0.1, runs=1),
            "By 1 measured rate of 1 run of this model on this computer, up to 1,200 tokens deep.",
        ),
        (
            FitRecord(own=True, count=12, deepest=900, spread=0.1, runs=3),
            "By 12 measured rates of 3 runs of this model on this computer, up to 900 tokens deep.",
        ),
        (
            FitRecord(own=False, count=2, deepest=900, spread=0.1),
            "By 2 measured rates of other settings or another model on this computer.",
        ),
    ],
)
def test_on_what_the_range_rests(session: Session, fit: FitRecord, words: str) -> None:
    assert session.plan is not None
    session.plan = msgspec.structs.replace(session.plan, fit=fit)
    assert at_rate(session, 60) == "inside"
    view = speed_view(session)
    assert view is not None
    assert view.decode.formula.endswith(words)
    assert view.decode.predicted_basis == ("measured" if fit.own else "assumed")

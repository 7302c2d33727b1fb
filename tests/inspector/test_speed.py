from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from gguf_tools.plan import Plan
from inspector.batching import LEAST_TOKENS
from inspector.findings import findings_of
from inspector.plan_record import FitRecord, PlanRecord
from inspector.session import Session
from inspector.speed import judge, speed_view
from inspector.views import PredictedPoint
from tests.inspector.conftest import FLAT, at_rate, cpu, loaded, machine, turn

PlanOf = Callable[..., Plan]


def test_measured_beside_predicted(session: Session) -> None:
    assert at_rate(session, 60) == "inside"
    view = speed_view(session)
    assert view is not None
    assert view.decode.measured == pytest.approx(60)
    assert (view.decode.predicted_low, view.decode.predicted_high) == (40, 80)
    assert view.decode.efficiency == pytest.approx(0.6)
    assert view.decode.predicted_basis == "assumed"
    assert view.decode.ceiling_basis == "measured"
    assert "MiB" not in view.decode.formula
    assert "400 MB a token" in view.decode.formula
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


def fitted(session: Session, *, busy: bool = False) -> None:
    """Have 20 to 25 tok/s predicted by measurements, where 40 would be likely of the memory."""
    assert session.plan is not None
    curve = tuple(
        msgspec.structs.replace(point, low=20.0, high=25.0, likely_low=40.0) for point in FLAT
    )
    fit = FitRecord(own=True, count=12, deepest=900, spread=0.1, busy=busy)
    session.plan = msgspec.structs.replace(session.plan, curve=curve, fit=fit)


def test_a_rate_is_slow_below_the_very_prediction_that_the_card_shows(session: Session) -> None:
    fitted(session)
    for rate in (31, 22, 16.1):  # the first is faster than predicted, and below what is likely
        assert at_rate(session, rate) == "inside"
        assert judge(session).sentence == ""
        assert "slow" not in {item.id for item in findings_of(session)}
    assert at_rate(session, 15.9) == "below"
    assert "at least 20.0 tok/s was expected" in judge(session).sentence
    view = speed_view(session)
    assert view is not None
    assert (view.decode.predicted_low, view.decode.predicted_high) == (20, 25)
    assert view.decode.predicted_basis == "measured"
    assert "By 12 measured rates of this model on this computer" in view.decode.formula


def test_a_computer_that_is_always_slow_is_told_to_be_one(session: Session) -> None:
    fitted(session)
    at_rate(session, 22)
    view = speed_view(session)
    assert view is not None
    assert "Of the memory's bandwidth alone at least 40.0 tok/s would be" in view.decode.formula
    assert "Other programs ran meanwhile" not in view.decode.formula


def test_a_prediction_of_busy_runs_says_so(session: Session) -> None:
    fitted(session, busy=True)
    at_rate(session, 22)
    view = speed_view(session)
    assert view is not None
    assert "Other programs ran meanwhile, so it may be faster." in view.decode.formula


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


def test_a_prediction_without_a_bandwidth_is_no_judgement(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(host=cpu(bandwidth_bytes_per_s=None)), n_ctx=2048))
    session.conversation([turn(loaded(session))])
    assert judge(session).kind == "unknown"


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
            "By 2 measured rates of another model on this computer.",
        ),
        (
            FitRecord(own=False, other_settings=True, count=1, deepest=900, spread=0.1),
            "By 1 measured rate of this model with other settings on this computer.",
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


def test_the_curve_is_drawn_where_all_of_it_is_known(session: Session) -> None:
    view = speed_view(session)
    assert view is not None
    assert view.predicted_over_depth == (
        PredictedPoint(0, 40.0, 80.0, 100.0), PredictedPoint(2047, 40.0, 80.0, 100.0)
    )  # fmt: skip
    assert session.plan is not None
    for missing in ("low", "high", "ceiling"):
        less = msgspec.structs.replace(FLAT[0], **{missing: None})
        session.plan = msgspec.structs.replace(session.plan, curve=(less, FLAT[1]))
        view = speed_view(session)
        assert view is not None
        assert [point.depth_tokens for point in view.predicted_over_depth] == [2047]


@pytest.mark.parametrize("missing", ["low", "ceiling"])
def test_without_one_of_its_bounds_a_rate_is_not_judged(session: Session, missing: str) -> None:
    assert session.plan is not None
    curve = tuple(msgspec.structs.replace(point, **{missing: None}) for point in FLAT)
    session.plan = msgspec.structs.replace(session.plan, curve=curve)
    assert at_rate(session, 20) == "unknown"
    assert judge(session).measured == pytest.approx(20)


def test_without_a_plan_a_rate_is_now_or_of_the_turn_before() -> None:
    session = Session()
    session.conversation([turn()])

    def decode() -> tuple[float | None, bool, bool]:
        view = speed_view(session)
        assert view is not None
        return view.decode.measured, view.decode.live, view.decode.earlier

    assert decode() == (50.0, False, False)
    session.turn_started(prompt_tokens=10, reused_tokens=0, new_tokens=10)
    assert decode() == (50.0, False, True)
    session.tokens(5, 30.0)
    assert decode() == (30.0, True, False)


def test_by_how_much_a_rate_is_above_its_ceiling(session: Session) -> None:
    assert at_rate(session, 150) == "above"
    assert judge(session).sentence.startswith(
        "150 tok/s is 50\u00a0% above the ceiling of 100 tok/s, which can't be: "
    )


def test_how_many_tokens_are_judged(session: Session) -> None:
    for tokens, kind in ((LEAST_TOKENS - 1, "unknown"), (LEAST_TOKENS, "inside")):
        assert at_rate(session, 60, reply_tokens=tokens, decode_s=(tokens - 1) / 60) == kind


def test_plans_of_an_earlier_version_have_the_ceiling_of_arithmetic(session: Session) -> None:
    at_rate(session, 60)
    plan = session.plan
    assert plan is not None
    lead = max(plan.devices, key=lambda item: item.weights_bytes)
    assert lead.flops_per_s is not None
    session.plan = msgspec.structs.replace(plan, prefill_ceiling=None, prefill_flops_per_token=1e9)
    view = speed_view(session)
    assert view is not None
    assert view.prefill.ceiling == lead.flops_per_s / 1e9

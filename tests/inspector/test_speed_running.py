from __future__ import annotations

import pytest

from inspector.ceiling import decode_equation
from inspector.session import Session
from inspector.speed import speed_view
from tests.inspector.conftest import turn


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


def test_a_rate_without_tokens_for_some_seconds_is_held_up(session: Session) -> None:
    session.turn_started(prompt_tokens=500, reused_tokens=100, new_tokens=400)
    session.held_up()  # a long prompt: there is no rate yet
    view = speed_view(session)
    assert view is not None
    assert (view.decode.live, view.decode.held_up) == (False, False)
    session.tokens(40, 55.0)
    view = speed_view(session)
    assert view is not None
    assert (view.decode.live, view.decode.held_up) == (True, False)
    session.held_up()
    view = speed_view(session)
    assert view is not None
    assert (view.decode.live, view.decode.held_up) == (True, True)
    assert view.decode.measured == 55.0
    session.tokens(41, 50.0)
    view = speed_view(session)
    assert view is not None
    assert (view.decode.live, view.decode.held_up) == (True, False)

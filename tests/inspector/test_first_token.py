from __future__ import annotations

import pytest

from inspector.session import Session
from inspector.speed import speed_view
from tests.inspector.conftest import turn


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


def test_without_a_time_to_the_first_token_nothing_is_shown(session: Session) -> None:
    session.conversation([turn(first_token_s=0.0)])
    view = speed_view(session)
    assert view is not None
    assert view.first_token is None
    session.conversation([turn(prefill_s=0.6, first_token_s=0.6)])
    view = speed_view(session)
    assert view is not None
    assert view.first_token is not None
    # Nothing is left beside the prefill, and no load waited for.
    assert [part.seconds for part in view.first_token.parts] == [0.6]
    assert view.first_token.total_s == 0.6

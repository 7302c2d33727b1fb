"""Steps from one list of messages to another lead there, and are no more than are needed."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from app.ui.presenters.chat_changes import ListChange, list_change
from app.ui.transcript.items import MessageView


def _views(*keys: int | str) -> list[MessageView]:
    return [MessageView(str(key), "user", "text") for key in keys]


def _done(before: list[MessageView], change: ListChange) -> list[MessageView]:
    """Take the steps as the transcript does."""
    shown = [view for view in before if view.id not in change.gone]
    for index, view in change.come:
        shown.insert(index, view)
    other = {view.id: view for view in change.other}
    return [other.get(view.id, view) for view in shown]


ids = st.lists(st.integers(0, 30), unique=True, max_size=25)


@given(before=ids, after=ids, edited=st.sets(st.integers(0, 30)))
def test_the_steps_lead_from_one_to_the_other(
    before: list[int], after: list[int], edited: set[int]
) -> None:
    old = _views(*before)
    new = [
        replace(view, text="other") if int(view.id) in edited else view for view in _views(*after)
    ]
    change = list_change(old, new)
    if change is not None:
        assert _done(old, change) == new
        assert not (change.gone and change.come)
        stayed = set(before) & set(after) & edited
        assert {view.id for view in change.other} == {str(key) for key in stayed}
        assert len(change.other) == len(stayed)


@given(keys=ids.filter(bool), taken=st.sets(st.integers(0, 30), max_size=10))
def test_what_was_taken_out_can_be_put_back(keys: list[int], taken: set[int]) -> None:
    whole = _views(*keys)
    rest = [view for view in whole if int(view.id) not in taken]
    out = list_change(whole, rest)
    assert out is not None
    assert set(out.gone) == {str(key) for key in set(keys) & taken}
    assert out.come == ()
    back = list_change(rest, whole)
    assert (back is None) == (not rest)
    if back is not None:
        assert _done(rest, back) == whole


def test_one_message_of_thousands_is_one_step() -> None:
    whole = _views(*range(5000))
    rest = whole[:2500] + whole[2501:]
    assert list_change(whole, rest) == ListChange(("2500",), (), ())
    assert list_change(rest, whole) == ListChange((), ((2500, whole[2500]),), ())


def test_any_number_may_come_at_the_end() -> None:
    whole = _views(*range(300))
    change = list_change(whole[:1], whole)
    assert change is not None
    assert [index for index, _ in change.come] == list(range(1, 300))


def test_another_branch_and_another_order_are_shown_anew() -> None:
    assert list_change([], _views(1)) is None
    assert list_change(_views(1, 2, 3), _views(1, 4, 5)) is None
    assert list_change(_views(1, 2, 3), _views(1, 3, 2)) is None
    many = _views(*range(100))
    assert list_change(many, [many[0], many[-1]]) is None
    assert list_change([many[0], many[-1]], many) is None

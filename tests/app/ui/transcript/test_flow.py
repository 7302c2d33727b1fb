from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ui.transcript.entry import Entry
from app.ui.transcript.flow import MESSAGE_GAP, Flow
from app.ui.transcript.items import MessageView

VIEW = 400


def _flow(count: int, height: int = 100) -> Flow:
    flow = Flow()
    entries = [Entry(MessageView(f"m{i}", "user", "x")) for i in range(count)]
    for entry in entries:
        entry.open()
        entry.rows[0].height = height
    flow.set_entries(entries)
    return flow


def _resize(flow: Flow, index: int, height: int) -> None:
    entry = flow.entries[index]
    entry.rows[0].height = height
    flow.resized(entry)


def _seen(flow: Flow, index: int) -> int:
    """Return where a message stands on the screen."""
    return flow.top_of(flow.entries[index]) - flow.position(VIEW)


def test_opens_at_the_end_and_follows_it() -> None:
    flow = _flow(20)
    assert flow.position(VIEW) == flow.total - VIEW
    _resize(flow, 19, 300)
    assert flow.position(VIEW) == flow.total - VIEW


def test_short_conversation_stands_at_the_top() -> None:
    flow = _flow(1)
    assert flow.position(VIEW) == 0
    assert flow.top_of(flow.entries[0]) == flow.padding


def test_heights_add_up() -> None:
    flow = _flow(3)
    assert flow.total == 3 * 100 + 2 * MESSAGE_GAP + 2 * flow.padding
    assert [placed.top for placed in flow.between(0, 10_000)] == [22, 140, 258]


@given(
    at=st.integers(0, 1800),
    changes=st.lists(st.tuples(st.integers(0, 19), st.integers(10, 900)), max_size=12),
)
def test_reading_place_stays_whatever_changes_above_or_below(
    at: int, changes: list[tuple[int, int]]
) -> None:
    flow = _flow(20)
    for entry in flow.entries:
        entry.rows[0].measured_width = 1
    flow.scroll_to(at, VIEW)
    if flow.follow:
        return
    flow.keep_place(VIEW)
    position = flow.position(VIEW)
    first = next(
        placed for placed in flow.between(position, position + VIEW) if placed.top >= position
    )
    before = _seen(flow, first.index)
    for index, height in changes:
        _resize(flow, index, height)
    limit = flow.limit(VIEW)
    if 0 < flow.position(VIEW) < limit:
        assert _seen(flow, first.index) == before


def test_small_steps_keep_the_anchor_while_unknown_heights_change() -> None:
    flow = _flow(40)
    for entry in flow.entries[20:]:
        entry.rows[0].measured_width = 1
    flow.scroll_to(flow.top_of(flow.entries[20]), VIEW)
    flow.keep_place(VIEW)
    flow.scroll_to(flow.position(VIEW) - 50, VIEW)
    assert _seen(flow, 20) == 50
    _resize(flow, 19, 700)
    assert _seen(flow, 20) == 50


def test_wheel_to_the_end_follows_again() -> None:
    flow = _flow(20)
    flow.scroll_to(100, VIEW)
    assert not flow.follow
    flow.scroll_to(flow.limit(VIEW), VIEW)
    assert flow.follow


def test_share_of_a_high_row_is_kept_when_everything_gets_higher() -> None:
    flow = _flow(3, 2000)
    flow.scroll_to(flow.top_of(flow.entries[1]) + 1000, VIEW)
    flow.keep_place(VIEW, by_share=True)
    for index in range(3):
        _resize(flow, index, 4000)
    assert _seen(flow, 1) == pytest.approx(-2000, abs=1)


def test_opening_the_message_at_the_top_keeps_the_share() -> None:
    flow = Flow()
    text = "\n\n".join(f"paragraph {i}" for i in range(400))
    entries = [Entry(MessageView(f"m{i}", "assistant", text)) for i in range(3)]
    flow.set_entries(entries)
    middle = flow.top_of(entries[1]) + entries[1].height(1.0) // 2
    flow.scroll_to(middle, VIEW)
    assert entries[1].open() is not None
    flow.resized(entries[1])
    into = flow.position(VIEW) - flow.top_of(entries[1])
    assert into == pytest.approx(entries[1].height(1.0) / 2, rel=0.1)


def test_removing_the_message_that_is_read_goes_to_its_neighbour() -> None:
    flow = _flow(20)
    flow.scroll_to(flow.top_of(flow.entries[10]), VIEW)
    flow.keep_place(VIEW)
    flow.remove("m10")
    assert flow.find("m10") is None
    assert flow.index_of("m11") == 10
    assert _seen(flow, 10) == 0


def test_appending_does_not_move_a_reader() -> None:
    flow = _flow(20)
    flow.scroll_to(500, VIEW)
    flow.append(Entry(MessageView("new", "user", "x")))
    assert flow.position(VIEW) == 500


@pytest.mark.parametrize("index", [0, 10, 12, 19])
def test_a_message_that_comes_back_stands_where_it_stood(index: int) -> None:
    flow = _flow(20)
    flow.scroll_to(flow.top_of(flow.entries[10]) - 30, VIEW)
    flow.keep_place(VIEW)
    before = [_seen(flow, number) for number in range(20)]
    taken = flow.remove(f"m{index}")
    assert taken is not None
    flow.insert(index, taken)
    assert [entry.view.id for entry in flow.entries] == [f"m{i}" for i in range(20)]
    assert [flow.index_of(f"m{i}") for i in range(20)] == list(range(20))
    assert [_seen(flow, number) for number in range(20)] == before


def test_what_is_put_in_elsewhere_does_not_move_a_reader() -> None:
    flow = _flow(20)
    flow.scroll_to(flow.top_of(flow.entries[10]) + 30, VIEW)
    flow.keep_place(VIEW)
    before = _seen(flow, 10)
    flow.insert(3, Entry(MessageView("above", "user", "x")))
    assert _seen(flow, 11) == before
    flow.insert(18, Entry(MessageView("below", "user", "x")))
    assert _seen(flow, 11) == before


def test_a_reader_at_the_end_stays_there_when_something_is_put_in() -> None:
    flow = _flow(20)
    flow.insert(19, Entry(MessageView("new", "user", "x")))
    assert flow.follow
    assert flow.position(VIEW) == flow.limit(VIEW)

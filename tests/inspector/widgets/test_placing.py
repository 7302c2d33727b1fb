"""Labels never lie on each other."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.widgets.placing import Box, Wish, around, place_labels

BOUNDS = Box(0, 0, 300, 100)


def test_the_first_wish_is_met_where_nothing_is_in_the_way() -> None:
    places = around(150, 50, 40, 10, 4)
    assert place_labels([Wish("now", places)], BOUNDS) == {"now": places[0]}


def test_a_label_keeps_off_obstacles_and_earlier_labels() -> None:
    first = Wish("a", (Box(10, 10, 50, 10),))
    second = Wish("b", (Box(40, 12, 50, 10), Box(40, 40, 50, 10)))
    placed = place_labels([first, second], BOUNDS, [Box(40, 70, 10, 10)])
    assert placed["b"] == Box(40, 40, 50, 10)


def test_a_label_without_a_place_is_left_out() -> None:
    assert place_labels([Wish("a", (Box(290, 0, 20, 10),))], BOUNDS) == {}


def test_lines_are_kept_off_by_their_weight() -> None:
    wish = Wish("a", (Box(0, 0, 50, 10), Box(0, 40, 50, 10), Box(0, 80, 50, 10)))
    lines = [((0.0, 5.0, 300.0, 5.0), 4.0), ((0.0, 45.0, 300.0, 45.0), 1.0)]
    assert place_labels([wish], BOUNDS, lines=lines)["a"].top == 80
    lines.append(((0.0, 85.0, 300.0, 85.0), 2.0))
    assert place_labels([wish], BOUNDS, lines=lines)["a"].top == 40


def test_a_line_crosses_a_box() -> None:
    box = Box(10, 10, 20, 20)
    assert box.crossed_by((0, 0, 40, 40))
    assert box.crossed_by((20, 0, 20, 100))
    assert not box.crossed_by((0, 0, 40, 5))
    assert not box.crossed_by((5, 0, 5, 100))
    assert not box.crossed_by((0, 0, 9, 9))


@settings(deadline=None)  # other programs may hold the processor
@given(
    st.lists(
        st.tuples(st.floats(0, 300), st.floats(0, 100), st.floats(1, 120), st.floats(1, 20)),
        max_size=6,
    )
)
def test_placed_labels_are_apart_and_inside(
    points: list[tuple[float, float, float, float]],
) -> None:
    wishes = [Wish(str(n), around(*point, 6)) for n, point in enumerate(points)]
    placed = place_labels(wishes, BOUNDS)
    assert all(BOUNDS.holds(box) for box in placed.values())
    assert not any(a.overlaps(b) for a, b in combinations(placed.values(), 2))

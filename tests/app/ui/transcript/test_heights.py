from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.ui.transcript.heights import Heights

heights = st.lists(st.integers(0, 500), min_size=1, max_size=60)


@given(values=heights, changes=st.lists(st.tuples(st.integers(0, 59), st.integers(0, 900))))
def test_sums_after_changes(values: list[int], changes: list[tuple[int, int]]) -> None:
    tree = Heights(values)
    for index, value in changes:
        tree.set(index % len(values), value)
        values[index % len(values)] = value
    assert [tree.before(i) for i in range(len(values) + 1)] == [
        sum(values[:i]) for i in range(len(values) + 1)
    ]
    assert tree.total == sum(values)


@given(first=heights, later=heights, gone=st.integers(0, 200))
def test_appending_and_removing(first: list[int], later: list[int], gone: int) -> None:
    tree = Heights(first)
    for value in later:
        tree.append(value)
    values = first + later
    tree.remove(gone % len(values))
    del values[gone % len(values)]
    assert [tree[i] for i in range(len(tree))] == values
    assert [tree.before(i) for i in range(len(values) + 1)] == [
        sum(values[:i]) for i in range(len(values) + 1)
    ]


@given(values=heights, offset=st.integers(-10, 40_000))
def test_finding_what_lies_at_an_offset(values: list[int], offset: int) -> None:
    tree = Heights(values)
    found = tree.find(offset)
    inside = [i for i in range(len(values)) if sum(values[:i]) <= offset < sum(values[: i + 1])]
    if inside:
        assert found == inside[0]
    else:
        assert found == (0 if offset < 0 else len(values) - 1)


def test_nothing_has_no_height() -> None:
    assert Heights().total == 0
    assert Heights().find(100) == 0


@given(values=heights, added=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 500))))
def test_putting_in_anywhere(values: list[int], added: list[tuple[int, int]]) -> None:
    tree = Heights(values)
    for place, value in added:
        index = place % (len(values) + 1)
        tree.insert(index, value)
        values.insert(index, value)
    assert [tree[i] for i in range(len(tree))] == values
    assert [tree.before(i) for i in range(len(values) + 1)] == [
        sum(values[:i]) for i in range(len(values) + 1)
    ]
    assert tree.find(sum(values[:-1])) == Heights(values).find(sum(values[:-1]))

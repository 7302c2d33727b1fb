"""Segments of the budget bar as numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inspector.views import BudgetView, SegmentKind, SegmentView
from inspector.widgets.bar_geometry import bar_geometry
from tests.helpers.panel_samples import SPLIT_BUDGET

KINDS: tuple[SegmentKind, ...] = (
    "weights",
    "kv_used",
    "kv_reserved",
    "compute",
    "other_programs",
    "free",
)


def view(total: int | None, *sizes: int) -> BudgetView:
    return BudgetView(
        "GPU",
        total,
        tuple(SegmentView(kind, size, "engine") for kind, size in zip(KINDS, sizes, strict=False)),
    )


def test_widths_follow_the_shares() -> None:
    spans = bar_geometry(view(1000, 600, 140, 80, 60, 50, 70), 500).spans
    assert [span.width for span in spans] == [300, 70, 40, 30, 25, 35]
    assert spans[0].start == 0
    assert spans[-1].end == 500


def test_load_line_lies_at_nine_tenths() -> None:
    bar = bar_geometry(view(1000, 500, 0, 0, 0, 0, 500), 500)
    assert bar.load_line_x == 450
    assert bar.end_x is None


def test_an_over_full_device_ends_inside_its_bar() -> None:
    bar = bar_geometry(view(1000, 800, 0, 400, 50, 0, 100), 500)
    assert bar.end_x == 400
    assert bar.load_line_x == 360
    assert bar.spans[-1].end == 500
    assert "free" not in [span.kind for span in bar.spans]


def test_an_unknown_capacity_has_no_load_line() -> None:
    bar = bar_geometry(view(None, 300, 100), 400)
    assert [span.width for span in bar.spans] == [300, 100]
    assert (bar.load_line_x, bar.end_x) == (None, None)


def test_a_tiny_segment_is_still_seen() -> None:
    spans = bar_geometry(view(10**12, 10**6, 10**6, 0, 10**6, 0, 10**12 - 3 * 10**6), 350).spans
    assert [span.width for span in spans[:3]] == [2, 2, 2]
    assert spans[-1].end == 350


def test_nothing_to_show() -> None:
    assert bar_geometry(view(None), 300).spans == ()
    assert bar_geometry(view(1000, 10), 0).spans == ()


def test_the_span_below_a_pixel() -> None:
    bar = bar_geometry(view(1000, 500, 500), 100)
    first, second = bar.at(0), bar.at(99)
    assert first is not None
    assert second is not None
    assert (first.kind, second.kind) == ("weights", "kv_used")
    assert bar.at(100) is None


def test_a_load_line_of_the_picture() -> None:
    bar = bar_geometry(SPLIT_BUDGET, 364)
    assert [span.kind for span in bar.spans] == list(KINDS)
    assert bar.spans[-1].end == 364


@given(
    st.lists(st.integers(0, 1 << 42), max_size=6),
    st.one_of(st.none(), st.integers(0, 1 << 42)),
    st.integers(0, 900),
)
def test_spans_never_overlap_nor_leave_the_bar(
    sizes: list[int], total: int | None, width: int
) -> None:
    bar = bar_geometry(view(total, *sizes), width)
    at = 0
    for span in bar.spans:
        assert span.start == at
        assert span.start <= span.end <= width
        at = span.end
    for x in (bar.load_line_x, bar.end_x):
        assert x is None or 0 <= x <= width

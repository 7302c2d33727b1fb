"""Numbers of the growth plot: axes with round steps, points on polylines, what is drawn where.

Pure, so that the plot's promises (nothing beyond the window, the budget's line on the axis when
it matters) can be tested without a screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from inspector.views import CurvePoint, GrowthView

__all__ = [
    "Axes",
    "axes",
    "byte_step",
    "rounded_end",
    "split_at_now",
    "token_step",
    "value_at",
]

# A budget far above the line would press the line flat; it is said in words instead.
_FAR_BUDGET = 1.7
# A model may be trained for far more than the window: the plot goes a little beyond the window.
_BEYOND = 1.25


@dataclass(frozen=True, slots=True)
class Axes:
    """Ends and steps of both axes. ``shows_budget`` tells whether its line is on the plot."""

    last_tokens: int
    last_bytes: int
    token_ticks: tuple[int, ...]
    byte_ticks: tuple[int, ...]
    shows_budget: bool


def token_step(last_tokens: int) -> int:
    """Return a step of a power of two that gives two to four stretches."""
    step = 1
    while last_tokens / step >= 4:
        step *= 2
    return step


def rounded_end(last_tokens: int) -> int:
    """Return the next step if it is within a hundredth: an axis to 8,191 ends at 8K."""
    step = token_step(last_tokens)
    end = -(-last_tokens // step) * step
    return end if end - last_tokens <= last_tokens / 100 else last_tokens


def byte_step(last_bytes: int) -> int:
    """Return a step of a power of two bytes that gives two to three stretches."""
    step = 1
    while last_bytes / step > 3:
        step *= 2
    return step


def axes(view: GrowthView) -> Axes:
    """Return the axes of a growth plot."""
    whole = view.line[-1].tokens if view.line else 0
    last_tokens = max(view.window_tokens, min(whole, int(_BEYOND * view.window_tokens)), 1)
    corners = [point for point in (*view.line, *view.used) if point.tokens <= last_tokens]
    highest = max((point.size_bytes for point in corners), default=0)
    highest = max(highest, round(value_at(view.line, last_tokens) or 0))
    if view.now is not None:
        highest = max(highest, view.now.size_bytes)
    highest = max(highest, 1)
    budget = view.budget_bytes
    shows_budget = budget is not None and 0 <= budget <= highest * _FAR_BUDGET
    if shows_budget and budget is not None:
        highest = max(highest, budget)
    step = byte_step(highest)
    # A line that ends just above a step needs no whole further step above it.
    last_bytes = max(int(highest * 1.08), -(-highest // step) * step if highest % step else highest)
    if last_bytes > highest * 1.3:
        last_bytes = int(highest * 1.12)
    stride = token_step(last_tokens)
    return Axes(
        last_tokens,
        last_bytes,
        tuple(range(0, last_tokens + 1, stride)),
        tuple(range(0, last_bytes + 1, step)),
        shows_budget,
    )


def value_at(line: Sequence[CurvePoint], tokens: float) -> float | None:
    """Return the size on a polyline, None outside it."""
    for before, after in pairwise(line):
        if before.tokens <= tokens <= after.tokens:
            span = after.tokens - before.tokens
            share = (tokens - before.tokens) / span if span else 0.0
            return before.size_bytes + share * (after.size_bytes - before.size_bytes)
    return None


def split_at_now(view: GrowthView) -> tuple[tuple[CurvePoint, ...], tuple[CurvePoint, ...]]:
    """Return the used part (measured turns, else the formula up to now) and what is ahead.

    Turns are in the order of their length: a chat that lost old messages has longer ones before.
    """
    now = view.now
    if now is None:
        return (), view.line
    measured = tuple(
        sorted(
            (point for point in view.used if point.tokens < now.tokens),
            key=lambda point: point.tokens,
        )
    )
    if not measured:
        measured = tuple(point for point in view.line if point.tokens < now.tokens)
    elif measured[0].tokens > 0:
        measured = (CurvePoint(0, view.line[0].size_bytes if view.line else 0), *measured)
    ahead = tuple(point for point in view.line if point.tokens > now.tokens)
    return (*measured, now), (now, *ahead) if ahead else ()

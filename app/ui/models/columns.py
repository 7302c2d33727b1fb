"""Which columns of the models' list have room, how wide they are, and where the rest goes.

What has no column stands on the row's second line, beside where the file lies, or on lines of its
own below: large text on a small window hides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["NAME_PX", "Extra", "fit_columns", "place_rest"]

NAME_PX: Final = 190
"""The width of the names below which columns give way; names take what the columns leave."""

_LEAST_NAME_PX: Final = 130
_LEAST_PLACE_PX: Final = 190  # where a file lies is drawn no shorter for figures beside it
_WIDTHS: Final = {
    "size": 82,
    "bits": 96,
    "context": 74,
    "budget": 150,
    "fit": 146,
    "max_context": 100,
    "decode": 84,
    "prefill": 70,
}
_NARROW_BUDGET_PX: Final = 108
# What is found on another line first; the budget's bar shrinks before it goes.
_GIVE_WAY: Final = ("bits", "context", "prefill", "budget", "max_context", "budget", "decode")


@dataclass(frozen=True, slots=True)
class Extra:
    """Names of columns without room: ``beside`` the file's place, and on ``lines`` of their own."""

    beside: tuple[str, ...] = ()
    lines: tuple[tuple[str, ...], ...] = ()


def fit_columns(width_px: float) -> dict[str, int]:
    """Return the widths of the columns that have room beside the names, in design pixels."""
    shown = dict(_WIDTHS)
    for name in _GIVE_WAY:
        if NAME_PX + sum(shown.values()) <= width_px:
            break
        if name == "budget" and shown[name] != _NARROW_BUDGET_PX:
            shown[name] = _NARROW_BUDGET_PX
        else:
            del shown[name]
    for name in ("fit", "size"):
        if _LEAST_NAME_PX + sum(shown.values()) > width_px:
            del shown[name]
    return shown


def place_rest(
    shown: Mapping[str, int], needs_px: Mapping[str, float], room_px: float, gap_px: float
) -> Extra:
    """Return where the columns go that are not shown.

    Args:
        shown: columns that have room.
        needs_px: what each takes at most on a line, with its name.
        room_px: the width of a line.
        gap_px: between two of them.
    """
    rest = [name for name in _WIDTHS if name not in shown]
    if not rest:
        return Extra()
    whole = sum(needs_px[name] + gap_px for name in rest)
    if whole + _LEAST_PLACE_PX <= room_px:
        return Extra(beside=tuple(rest))
    return Extra(lines=tuple(_lines(rest, needs_px, room_px, gap_px)))


def _lines(
    names: Sequence[str], needs_px: Mapping[str, float], room_px: float, gap_px: float
) -> list[tuple[str, ...]]:
    lines: list[list[str]] = [[]]
    at = 0.0
    for name in names:
        if lines[-1] and at + needs_px[name] > room_px:
            lines.append([])
            at = 0.0
        lines[-1].append(name)
        at += needs_px[name] + gap_px
    return [tuple(line) for line in lines]

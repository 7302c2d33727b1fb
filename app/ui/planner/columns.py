"""Where the columns of the planner's table are: pure, so that it can be tested as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.ui.planner.views import CELLS, CellKey

__all__ = ["Column", "column_at", "columns", "is_narrow"]

_NARROW_PX: Final = 940
_LEAST_BAR_PX: Final = 70
_WIDE: Final[dict[CellKey, int]] = {
    "machine": 218,
    "verdict": 206,
    "context": 84,
    "users": 52,
    "ceiling": 88,
    "realistic": 84,
}
_CLOSE: Final[dict[CellKey, int]] = {
    "machine": 148,
    "verdict": 150,
    "context": 56,
    "users": 40,
    "ceiling": 70,
    "realistic": 70,
}
_GAPS: Final = (14, 9)
_TINY_PX: Final = 560
_TINY: Final[frozenset[CellKey]] = frozenset({"context", "users", "ceiling"})  # left out


@dataclass(frozen=True, slots=True)
class Column:
    """A cell's place in a row, in pixels from the row's beginning."""

    key: CellKey
    start: int
    width: int

    @property
    def end(self) -> int:
        """Return where it ends."""
        return self.start + self.width


def is_narrow(width_px: int, scale: float) -> bool:
    """Tell whether a row of this width is laid out closely."""
    return width_px < _NARROW_PX * scale


def columns(width_px: int, scale: float) -> tuple[Column, ...]:
    """Return the columns of a row ``width_px`` wide; what the others leave is the bar's.

    Columns that are left out of a very narrow row have no width.
    """
    narrow = is_narrow(width_px, scale)
    widths = {key: round(value * scale) for key, value in (_CLOSE if narrow else _WIDE).items()}
    left_out = _TINY if width_px < _TINY_PX * scale else frozenset()
    widths.update(dict.fromkeys(left_out, 0))
    gap = round(_GAPS[narrow] * scale)
    left = width_px - sum(widths.values()) - gap * (len(CELLS) - len(left_out) - 1)
    least = round(_LEAST_BAR_PX * scale)
    for key in ("machine", "verdict"):  # with large text words give way, and are shortened
        taken = min(max(least - left, 0), widths[key] // 3)
        widths[key] -= taken
        left += taken
    widths["bar"] = max(left, least)
    found, at = [], 0
    for key in CELLS:
        found.append(Column(key, at, widths[key]))
        at += 0 if key in left_out else widths[key] + gap
    return tuple(found)


def column_at(placed: tuple[Column, ...], x: int) -> Column | None:
    """Return the column at a pixel, the gap behind it included."""
    found = [column for column in placed if column.start <= x and column.width > 0]
    return found[-1] if found else None

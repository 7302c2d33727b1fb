"""Which columns of the models' list have room, and how wide they are."""

from __future__ import annotations

from typing import Final

__all__ = ["NAME_PX", "fit_columns"]

NAME_PX: Final = 190
"""The least width of the names, which take what the other columns leave."""

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
# What can be done without first; the budget's bar shrinks before it goes.
_GIVE_WAY: Final = ("bits", "context", "prefill", "budget", "max_context", "budget", "decode")


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
    return shown

"""Which side columns have room beside the middle one."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Columns", "fit_columns"]


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths in pixels; ``middle`` is the least that the middle column needs."""

    sidebar: int
    inspector: int
    middle: int


def fit_columns(
    width: int, columns: Columns, *, sidebar: bool, inspector: bool, inspector_first: bool
) -> tuple[bool, bool]:
    """Return whether the sidebar and the inspector are shown in a window of ``width``.

    ``sidebar`` and ``inspector`` say what is wanted. When only one has room it is the sidebar,
    unless the inspector was asked for last (``inspector_first``). The one that gives way comes
    back when the window is wide enough again.
    """
    room = width - columns.middle
    if sidebar and inspector and columns.sidebar + columns.inspector > room:
        return (False, True) if inspector_first else (True, False)
    return sidebar, inspector

"""How a table with a frame of its own looks; one sheet for all of them."""

from __future__ import annotations

from typing import Final

from inspector.widgets.palette import ThemeLike

__all__ = ["table_style"]

_RADIUS_PX: Final = 8
_PADDING_PX: Final = 6
_CELL_MARGIN: Final = 3  # that Qt leaves beside the words of a cell, whatever the size of text


def table_style(theme: ThemeLike) -> str:
    """Return the style sheet of a `QTableView` and its header, for a theme and its text size."""
    background, ink, line = (theme.css(token) for token in ("background", "ink", "line"))
    padding, radius = theme.px(_PADDING_PX), theme.px(_RADIUS_PX)
    corner = radius - 1  # within the frame, which a square corner would cover
    return (
        f"QTableView {{ background: {background}; color: {ink};"
        f" border: 1px solid {line}; border-radius: {radius}px;"
        f" selection-background-color: {theme.css('selection')}; selection-color: {ink}; }}"
        f" QTableView::item {{ padding: 0 {padding}px; border: none; }}"
        f" QTableView::item:selected {{ background: {theme.css('selection')}; }}"
        f" QTableView:focus {{ border-color: {theme.css('accent')}; }}"
        " QHeaderView { background: transparent; border: none; }"
        f" QHeaderView::section {{ background: {theme.css('panel')}; color: {theme.css('dim')};"
        f" border: none; padding: 0 {padding + _CELL_MARGIN}px; }}"
        f" QHeaderView::section:first {{ border-top-left-radius: {corner}px; }}"
        f" QHeaderView::section:last {{ border-top-right-radius: {corner}px; }}"
    )

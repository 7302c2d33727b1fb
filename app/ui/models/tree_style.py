"""The look of the models' tree that a stylesheet can say: rows are drawn by hand."""

from __future__ import annotations

from app.ui.theme import Theme

__all__ = ["tree_style"]


def tree_style(theme: Theme) -> str:
    """Return the stylesheet of the tree and its header."""
    return (
        "QTreeView { background: transparent; border: none; }"
        "QTreeView::item, QTreeView::item:selected, QTreeView::item:hover"
        " { background: transparent; border: none; }"
        "QTreeView::branch { background: transparent; }"
        f"QHeaderView {{ background: transparent; border: none; }}"
        f"QHeaderView::section {{ background: transparent; color: {theme.css('dim')};"
        f" border: none; border-bottom: 1px solid {theme.css('line')};"
        f" padding: 0 {theme.px(8)}px; font-size: {theme.pt(12.5)}pt; }}"
        f"QHeaderView::section:hover {{ color: {theme.css('ink')}; }}"
    )

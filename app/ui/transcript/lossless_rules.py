"""Block rules that lose no text where Markdown's own rules would drop it.

The parser stops at a depth of nesting and leaves out everything that lies deeper, and a table
leaves out cells that its head has no column for. Here a list or quote that would be too deep is
no list or quote, so its source is read as plain text with its marks, and cells too many are shown
in the last column.
"""

from __future__ import annotations

from typing import Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, list_block, table
from markdown_it.rules_block.table import escapedSplit

__all__ = ["MAX_NESTING", "add_lossless"]

MAX_NESTING: Final = 24
"""Depth in the parser's own levels: a quote takes one, a list with its item two."""

_LEVELS_OF_LIST: Final = 2


def _too_deep(state: StateBlock) -> bool:
    return state.level + _LEVELS_OF_LIST >= MAX_NESTING


def _list_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    return not _too_deep(state) and list_block(state, start, end, silent)


def _quote_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    return not _too_deep(state) and blockquote(state, start, end, silent)


def _cells_of(state: StateBlock, line: int) -> list[str]:
    """Return the cells of a line, split as the table rule splits them."""
    text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
    cells = escapedSplit(text.strip())
    if cells and cells[0] == "":
        cells.pop(0)
    if cells and cells[-1] == "":
        cells.pop()
    return cells


def _table_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    before = len(state.tokens)
    if not table(state, start, end, silent):
        return False
    made = state.tokens[before:]
    columns = sum(token.type == "th_open" for token in made)
    for index, token in enumerate(made):
        # Only a row of the body can have more cells than the head.
        if token.type != "tr_close":
            continue
        last = made[index - 2]
        cells = _cells_of(state, last.map[0]) if last.map else []
        if len(cells) > columns:
            last.content = " | ".join(cell.strip() for cell in cells[columns - 1 :])
    return True


def add_lossless(md: MarkdownIt) -> None:
    """Replace a parser's rules for lists, quotes and tables."""
    ruler = md.block.ruler
    ruler.at("list", _list_rule, {"alt": ["paragraph", "reference", "blockquote"]})
    ruler.at("blockquote", _quote_rule, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    ruler.at("table", _table_rule, {"alt": ["paragraph", "reference"]})

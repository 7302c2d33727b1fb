r"""Mathematics in Markdown: ``$…$``, ``\(…\)``, ``$$…$$`` and ``\[…\]``, but not "$5 and $10".

The block rule decides on the opening line alone and ends at a blank line. So a text that is still
being written can be cut at any line without changing what the lines before it mean, which no
rule that looks ahead for a closing mark can promise.
"""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

__all__ = ["MAX_FORMULA", "add_math"]

MAX_FORMULA = 2000
"""Longest formula that is looked for, in characters."""

_PAIRS = {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}


def _opens(text: str, pos: int) -> str:
    two = text[pos : pos + 2]
    return two if two in _PAIRS else ""


def _block_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    begin = state.bMarks[start] + state.tShift[start]
    line = state.src[begin : state.eMarks[start]].rstrip()
    opening = _opens(line, 0)
    if opening not in ("$$", "\\["):
        return False
    closing = _PAIRS[opening]
    rest = line[2:]
    closed = True
    if rest.strip():
        body, mark, after = rest.partition(closing)
        if not mark or after.strip(" .,;:") or not body.strip():
            return False
        if silent:
            return True
        content, next_line = body, start + 1
    else:
        if silent:
            return True
        content, next_line, closed = _body(state, start + 1, end, closing)
    state.line = next_line
    token = state.push("math_block", "", 0)
    token.block = True
    token.content = content.strip()
    token.map = [start, next_line]
    token.markup = opening
    token.meta = {"closed": closed}
    return True


def _body(state: StateBlock, line: int, end: int, closing: str) -> tuple[str, int, bool]:
    """Return content up to the closing mark, the line after it and whether it was there."""
    lines: list[str] = []
    while line < end and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
        line += 1
        body, mark, after = text.partition(closing)
        if mark and not after.strip(" .,;:"):
            return "\n".join([*lines, body]), line, True
        lines.append(text)
    return "\n".join(lines), line, False


def _dollar_end(text: str, pos: int, limit: int) -> int:
    """Return where the formula that starts at ``pos`` ends, or -1 when it is an amount."""
    if pos + 1 >= limit or text[pos + 1].isspace() or (pos and text[pos - 1].isalnum()):
        return -1
    found = pos + 1
    while (found := text.find("$", found, limit)) > 0:
        if text[found - 1] == "\\":
            found += 1
            continue
        after = text[found + 1] if found + 1 < limit else ""
        inner = text[pos + 1 : found]
        if inner[-1:].isspace() or after.isalnum() or not inner or "`" in inner:
            return -1
        # "$5 or 10$" is money: a number followed by words.
        words = inner.split()
        if len(words) > 1 and words[0][0].isdigit() and words[1].isalpha() and len(words[1]) > 1:
            return -1
        return found
    return -1


def _inline_rule(state: StateInline, silent: bool) -> bool:
    pos, text = state.pos, state.src
    char = text[pos]
    if char not in "$\\":
        return False
    limit = min(state.posMax, pos + MAX_FORMULA)
    opening = _opens(text, pos)
    if opening:
        end = text.find(_PAIRS[opening], pos + 2, limit)
        content, after = text[pos + 2 : end], end + 2
    elif char == "$":
        end = _dollar_end(text, pos, limit)
        content, after = text[pos + 1 : end], end + 1
    else:
        return False
    if end < 0 or not content.strip():
        return False
    if not silent:
        token = state.push("math_inline", "", 0)
        token.content = content.strip()
        token.markup = opening or "$"
    state.pos = after
    return True


def add_math(md: MarkdownIt) -> None:
    """Teach a parser mathematics; tokens are ``math_inline`` and ``math_block``."""
    md.block.ruler.before(
        "fence", "math_block", _block_rule, {"alt": ["paragraph", "blockquote", "list"]}
    )
    md.inline.ruler.before("escape", "math_inline", _inline_rule)

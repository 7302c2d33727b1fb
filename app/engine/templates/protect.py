"""Keeps special tokens that people type from becoming control tokens.

A template mixes its own scaffold and the text of messages into one string, after which nobody can
tell who wrote ``<|im_end|>``. So a mark that no text contains (a Unicode noncharacter) is put into
every such text before it is rendered. Where the rendered prompt spells a special token without a
mark, the template wrote it. The marks are gone before a model or a person sees the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

__all__ = ["MARK", "Piece", "protect", "split_protected", "unprotect"]

MARK: Final = "\ufdd0"


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a rendered prompt, without marks.

    Attributes:
        text: what it says; never empty.
        special: it is one special token that the template wrote.
        protected: it holds the text of special tokens that must stay text, so it has to be
            tokenised without parsing special tokens.
    """

    text: str
    special: bool
    protected: bool


def protect(text: str, dangerous: Collection[str]) -> str:
    """Return a text with a mark after the first character of each dangerous token in it.

    Overlapping tokens are all marked. Marks that were typed are removed.
    """
    text = unprotect(text)
    pattern = _starts(frozenset(dangerous))
    return text if pattern is None else pattern.sub(rf"\g<0>{MARK}", text)


def unprotect(text: str) -> str:
    """Return a text without marks."""
    return text.replace(MARK, "")


def split_protected(rendered: str, specials: Collection[str]) -> list[Piece]:
    """Cut a rendered prompt at the special tokens that its template wrote.

    At each position the longest token is taken. Joined, the pieces are the prompt without marks.
    """
    pattern = _tokens(frozenset(specials))
    pieces: list[Piece] = []
    end = 0
    if pattern is not None:
        for match in pattern.finditer(rendered):
            _append_text(pieces, rendered[end : match.start()])
            pieces.append(Piece(match.group(), special=True, protected=False))
            end = match.end()
    _append_text(pieces, rendered[end:])
    return pieces


def _append_text(pieces: list[Piece], text: str) -> None:
    plain = unprotect(text)
    if plain:
        pieces.append(Piece(plain, special=False, protected=plain != text))


@lru_cache(maxsize=8)
def _starts(tokens: frozenset[str]) -> re.Pattern[str] | None:
    """Match the first character of every occurrence of a token, overlapping ones too."""
    trie = _trie(tokens)
    return re.compile(f"(?={_expression(trie)})(?s:.)") if trie else None


@lru_cache(maxsize=8)
def _tokens(tokens: frozenset[str]) -> re.Pattern[str] | None:
    """Match the longest token, unless it is a single character that carries a mark."""
    trie = _trie(tokens)
    return re.compile(f"(?:{_expression(trie)})(?!{MARK})") if trie else None


_Trie: TypeAlias = "dict[str, _Trie]"
_END: Final = ""


def _trie(tokens: frozenset[str]) -> _Trie:
    """Return the tokens by their characters; a thousand alternatives would be tried one by one."""
    root: _Trie = {}
    for token in sorted(tokens):
        node = root
        for character in token:
            node = node.setdefault(character, {})
        if token:
            node[_END] = {}
    return root


def _expression(node: _Trie) -> str:
    """Return a regular expression for a node's continuations, longest first."""
    # a chain without branches is written in one go: tokens are long and recursion is not deep
    chain: list[str] = []
    while len(node) == 1 and _END not in node:
        character, node = next(iter(node.items()))
        chain.append(re.escape(character))
    branches = [
        re.escape(character) + _expression(child)
        for character, child in node.items()
        if character != _END
    ]
    if not branches:
        return "".join(chain)
    group = f"(?:{'|'.join(branches)})"
    return "".join(chain) + (f"{group}?" if _END in node else group)

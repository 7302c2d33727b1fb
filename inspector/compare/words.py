"""Where answers differ, by words: what a reader's eye should be led to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

__all__ = ["WordSpan", "differing_words"]

_WORD: Final = re.compile(r"\s+|\w+(?:['’]\w+)*|[^\w\s]")
# Comparing takes the product of the words in the worst case; longer middles count as different.
_MOST_PAIRS: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class WordSpan:
    """Characters ``start`` to ``end`` of an answer; ``differs`` from the other side."""

    start: int
    end: int
    differs: bool


def differing_words(answers: Sequence[str], reference: int) -> tuple[tuple[WordSpan, ...], ...]:
    """Return the spans of each answer that cover it without gaps.

    An answer differs where its words are not the reference's; the reference differs where the
    words of at least one other answer are not its own. White space alone is no difference.
    """
    words = [_WORD.findall(answer) for answer in answers]
    marks = [[False] * len(item) for item in words]
    for index, own in enumerate(words):
        if index == reference or not answers[index]:
            continue
        for start, end, other_start, other_end in _changes(words[reference], own):
            marks[reference][start:end] = [True] * (end - start)
            marks[index][other_start:other_end] = [True] * (other_end - other_start)
    return tuple(_spans(own, marked) for own, marked in zip(words, marks, strict=True))


def _changes(first: list[str], second: list[str]) -> list[tuple[int, int, int, int]]:
    """Return the ranges of words that differ, in the first and in the second text."""
    head = 0
    most = min(len(first), len(second))
    while head < most and first[head] == second[head]:
        head += 1
    tail = 0
    while tail < most - head and first[-1 - tail] == second[-1 - tail]:
        tail += 1
    left, right = first[head : len(first) - tail], second[head : len(second) - tail]
    if not left and not right:
        return []
    if len(left) * len(right) > _MOST_PAIRS:
        return [(head, head + len(left), head, head + len(right))]
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    return [
        (head + a, head + b, head + c, head + d)
        for kind, a, b, c, d in matcher.get_opcodes()
        if kind != "equal"
    ]


def _spans(words: list[str], marks: list[bool]) -> tuple[WordSpan, ...]:
    """Return neighbours of a kind joined; white space between two differing words differs too."""
    for index, word in enumerate(words):
        if word.isspace():
            before = index > 0 and marks[index - 1]
            after = index + 1 < len(words) and marks[index + 1]
            marks[index] = before and after
    spans: list[WordSpan] = []
    at = 0
    for word, differs in zip(words, marks, strict=True):
        end = at + len(word)
        if spans and spans[-1].differs == differs:
            spans[-1] = WordSpan(spans[-1].start, end, differs)
        else:
            spans.append(WordSpan(at, end, differs))
        at = end
    return tuple(spans)

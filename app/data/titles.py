"""A title made from what a conversation begins with."""

from __future__ import annotations

import re

__all__ = ["MAX_TITLE", "clean_title", "title_from"]

MAX_TITLE = 200
_AUTO_LENGTH = 48
_LOOKED_AT = 2_000  # characters; a title needs no more, and a pasted book costs nothing
_SPACES = re.compile(r"\s+")


def title_from(text: str) -> str:
    """Return the first line with words in it, without its Markdown, cut to whole words.

    Empty if the text has none, such as a message that is nothing but an attachment.
    """
    for line in _plain_lines(text[:_LOOKED_AT]):
        words = _SPACES.sub(" ", line).strip()
        if any(character.isalnum() for character in words):
            return _cut(words)
    return ""


def clean_title(title: str) -> str:
    """Return a title that a user gave, on one line and of bounded length."""
    return _SPACES.sub(" ", title).strip()[:MAX_TITLE]


def _plain_lines(text: str) -> list[str]:
    # Here and not above: the parser takes longer to import than the rest of the store.
    from markdown_it import MarkdownIt

    lines: list[str] = []
    for token in MarkdownIt("commonmark").parse(text):
        if token.type == "inline":
            plain = "".join(
                "\n" if child.type in {"softbreak", "hardbreak"} else child.content
                for child in token.children or ()
            )
            lines.extend(plain.split("\n"))
        elif token.content:  # code and raw HTML are text, too, if there is nothing else
            lines.extend(token.content.split("\n"))
    return lines


def _cut(words: str) -> str:
    if len(words) <= _AUTO_LENGTH:
        return words.rstrip(" :;,-–—")
    head = words[: _AUTO_LENGTH + 1].rpartition(" ")[0]
    # One long word, or a script without spaces: there is no better place to cut.
    if len(head) < _AUTO_LENGTH // 2:
        head = words[:_AUTO_LENGTH]
    return head.rstrip(" .:;,-–—") + "…"

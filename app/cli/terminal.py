"""What commands print, made harmless: names in files and titles of chats are other people's text.

A terminal obeys control characters: a model's name could clear the screen, turn the order of
letters round or retitle the window. Everything meant to be read therefore goes through `shown`;
what is written to files or pipes stays as it is.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Final, TextIO

__all__ = ["for_stream", "json_line", "note", "say", "shown", "well_formed"]

# C0 and C1 controls, marks that turn the writing direction, line separators, tags, surrogates.
# The joiners U+200C and U+200D stay: Persian words and emoji are made with them.
_UNSAFE: Final = (
    r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f"
)
_IN_A_LINE: Final = re.compile(f"[{_UNSAFE}]")
_IN_LINES: Final = re.compile(rf"(?![\n\t])[{_UNSAFE}]")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def shown(text: object, *, lines: bool = False) -> str:
    """Return text with control characters spelt out, such as ``\\x1b``.

    Args:
        text: anything that has a text.
        lines: whether ends of lines and tabs are meant and stay.
    """
    unsafe = _IN_LINES if lines else _IN_A_LINE
    return unsafe.sub(lambda match: ascii(match[0])[1:-1], str(text))


def for_stream(text: str, stream: TextIO) -> str:
    """Return what to write of a longer text: as it is, unless a terminal would obey it."""
    return shown(text, lines=True) if stream.isatty() else well_formed(text)


def say(text: object) -> None:
    """Print lines of a result that people read to stdout."""
    print(shown(text, lines=True))


def note(text: object) -> None:
    """Print what is no result to stderr, at once."""
    print(shown(text, lines=True), file=sys.stderr, flush=True)


def json_line(value: Any) -> str:
    """Return JSON in one line that reads well, and that no terminal obeys."""
    text = json.dumps(value, ensure_ascii=False)
    return _IN_A_LINE.sub(lambda match: json.dumps(match[0])[1:-1], text)


def well_formed(text: str) -> str:
    """Return text with U+FFFD for every byte that was not UTF-8."""
    return _SURROGATES.sub("\ufffd", text)

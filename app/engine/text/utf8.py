"""Joins the bytes of tokens into characters.

A token may end inside a character, and a model may emit bytes that are no text at all. Whole
characters are released at once, so nothing is held longer than one character; each invalid byte
becomes one replacement mark and the stream goes on.
"""

from __future__ import annotations

import codecs

__all__ = ["Utf8Stream"]


class Utf8Stream:
    """Incremental decoder whose cost does not depend on what came before."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, piece: bytes) -> str:
        """Return the characters completed by a piece."""
        return self._decoder.decode(piece)

    def finish(self) -> str:
        """End the stream. A character that was cut short is dropped: nobody sent it."""
        self._decoder.reset()
        return ""

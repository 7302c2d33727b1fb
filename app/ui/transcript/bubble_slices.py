"""What a user wrote, folded or cut into rows, so that a message of a million characters costs what
is seen of it. The slices of one message stand without a gap and read as one bubble.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.ui.transcript.blocks import Paragraph, Span
from app.ui.transcript.items import MessageView

__all__ = ["BubbleSlice", "bubble_slices"]

_FOLD_LINES: Final = 24
_FOLD_CHARACTERS: Final = 3000
_PIECE: Final = 3200
"""Endless lines become several paragraphs of so many characters at most, more than a folded message
shows: one of all would be laid out anew as a whole."""
_WORD: Final = 200
_SLICE_CHARACTERS: Final = 4000
_SLICE_PIECES: Final = 40


@dataclass(frozen=True, slots=True)
class BubbleSlice:
    """Some lines of a message.

    Attributes:
        pieces: its text, a paragraph each.
        first: whether the message begins here, with its files.
        last: whether it ends here, with its controls.
        folded: whether the rest of the message is not shown.
        unfolded: whether it was folded and is shown whole.
    """

    view: MessageView
    pieces: tuple[str, ...]
    first: bool = True
    last: bool = True
    folded: bool = False
    unfolded: bool = False

    @property
    def text(self) -> str:
        """What a reader can find here."""
        return "\n".join(self.pieces)

    @property
    def blocks(self) -> tuple[Paragraph, ...]:
        """Paragraphs that show every character."""
        return tuple(Paragraph((Span(piece),)) for piece in self.pieces)


def _plain(text: str) -> str:
    return text.replace("\x00", "\ufffd").replace("\r\n", "\n").replace("\r", "\n")


def _start(text: str) -> str:
    """Return what is shown of a folded text: all of it where little would be left out."""
    if len(text) <= _FOLD_CHARACTERS and text.count("\n") < _FOLD_LINES:
        return text
    start = "\n".join(text[:_FOLD_CHARACTERS].split("\n", _FOLD_LINES)[:_FOLD_LINES])
    return text if len(start) > len(text) - 200 else start


def _pieces(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        start = 0
        while len(line) - start > _PIECE:
            behind_space = line.rfind(" ", start + _PIECE - _WORD, start + _PIECE) + 1
            end = behind_space or start + _PIECE
            yield line[start:end]
            start = end
        yield line[start:]


def bubble_slices(view: MessageView, *, whole: bool) -> list[BubbleSlice]:
    """Cut a message; one slice of it where not the ``whole`` is shown."""
    text = _plain(view.text)
    start = _start(text)
    is_long = len(start) < len(text)
    if not (whole and is_long):
        return [BubbleSlice(view, tuple(_pieces(start)), folded=is_long)]
    groups: list[list[str]] = [[]]
    size = 0
    for piece in _pieces(text):
        full = size + len(piece) > _SLICE_CHARACTERS or len(groups[-1]) >= _SLICE_PIECES
        if full and groups[-1]:
            groups.append([])
            size = 0
        groups[-1].append(piece)
        size += len(piece)
    last = len(groups) - 1
    return [
        BubbleSlice(view, tuple(group), first=not number, last=number == last, unfolded=True)
        for number, group in enumerate(groups)
    ]

"""The text that quality is measured on: the built-in one, or a file of the user's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from resources.loader import read_text

__all__ = ["QualityText", "TextError", "builtin_text", "read_quality_text"]

MOST_BYTES: Final = 16 * 1024 * 1024


class TextError(ValueError):
    """A file that is no text; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class QualityText:
    """A text and what to call it."""

    name: str
    text: str


def builtin_text() -> QualityText:
    """Return the public-domain text that comes with the program."""
    return QualityText(
        "Slocum, Sailing Alone Around the World (1900), chapters I and II",
        read_text("texts/slocum.txt"),
    )


def read_quality_text(path: Path) -> QualityText:
    """Return the text in a file.

    Raises:
        TextError: there is none that can be read.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise TextError(f"{path.name} is larger than 16 MB; a few pages are enough.")
        data = path.read_bytes()
    except OSError as error:
        raise TextError(f"{path} can't be read: {error.strerror}.") from error
    if b"\0" in data[:4096]:
        raise TextError(f"{path.name} is no text file.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    if not text.strip():
        raise TextError(f"{path.name} is empty.")
    return QualityText(path.name, text)

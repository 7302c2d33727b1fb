"""The access token that a person gives: in a file of its own that they alone can read.

Not among the settings, which dialogs show and people copy. Without one the hub's library looks
where it always does: ``HF_TOKEN``, then its own login file.
"""

from __future__ import annotations

from pathlib import Path

from app.settings import atomic_write
from app.small_files import read_small

__all__ = ["forget_token", "keep_token", "kept_token", "token_path"]

_MAX_BYTES = 4096


def token_path(data: Path) -> Path:
    """Return the token's file in the data folder."""
    return data / "hub-token"


def kept_token(data: Path) -> str | None:
    """Return the token that was kept, None if there is none."""
    try:
        text = read_small(token_path(data), _MAX_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return text if _looks_like_one(text) else None


def _looks_like_one(token: str) -> bool:
    # It becomes part of a request's head, where the end of a line would begin another field.
    return bool(token) and token.isascii() and token.isprintable() and " " not in token


def keep_token(data: Path, token: str) -> None:
    """Keep a token, readable by its owner alone.

    Raises:
        ValueError: it has characters that no token has.
        OSError: it can't be written.
    """
    token = token.strip()
    if not _looks_like_one(token):
        raise ValueError("An access token has letters, digits and signs, and no blanks.")
    atomic_write(token_path(data), token.encode("ascii"))
    token_path(data).chmod(0o600)


def forget_token(data: Path) -> None:
    """Remove the token.

    Raises:
        OSError: it can't be removed.
    """
    token_path(data).unlink(missing_ok=True)

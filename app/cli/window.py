"""Whether the window can be opened with what was typed: found out before Qt is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from app.cli import COMMANDS

__all__ = ["model_of", "refusal"]

_LISTED: Final = "'plimsoll --help' lists the commands."


def model_of(arguments: Sequence[str]) -> str | None:
    """Return the model that is to be opened with the window, as an absolute path."""
    return str(Path(arguments[0]).absolute()) if arguments else None


def refusal(arguments: Sequence[str]) -> str | None:
    """Return a sentence why the window can't be opened with these arguments, None if it can."""
    if arguments:
        name, others = arguments[0], arguments[1:]
        if name.startswith("-"):
            return f"{name} is no option and no command; {_LISTED}"
        if not Path(name).exists():
            return _unknown(name)
        if others:
            return f"{name} is no command, and the window opens one file alone; {_LISTED}"
        if Path(name).is_dir():
            return f"{name} is a folder; name a model file in it."
    if not _has_screen():
        return "there is no screen to open a window on; use 'plimsoll chat' in a terminal."
    return None


def _unknown(name: str) -> str:
    """Say what a first word is not: a file if it looks like one, else a command."""
    if Path(name).name != name or Path(name).suffix:
        return f"there is no file {name}."
    near = get_close_matches(name.lower(), [command.name for command in COMMANDS], 1)
    if near:
        return f"{name} is no command; did you mean 'plimsoll {near[0]}'?"
    return f"{name} is no command, and there is no such file; {_LISTED}"


def _has_screen() -> bool:
    if sys.platform != "linux" or os.environ.get("QT_QPA_PLATFORM"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))

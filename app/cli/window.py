"""Whether the window can be opened with what was typed: found out before Qt is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from app.cli import COMMANDS

__all__ = ["model_of", "refusal"]


def model_of(arguments: Sequence[str]) -> str | None:
    """Return the model that is to be opened with the window, as an absolute path."""
    return str(Path(arguments[0]).absolute()) if arguments else None


def refusal(arguments: Sequence[str]) -> str | None:
    """Return a sentence why the window can't be opened with these arguments, None if it can."""
    for number, argument in enumerate(arguments):
        if argument.startswith("-") or number:
            return (
                f"{argument} is neither a command nor a model file; "
                "'plimsoll --help' lists the commands."
            )
    if arguments and not Path(arguments[0]).is_file():
        name = arguments[0]
        if Path(name).is_dir():
            return f"{name} is a folder; name a model file in it."
        near = get_close_matches(name, [command.name for command in COMMANDS], 1)
        hint = f"; did you mean 'plimsoll {near[0]}'?" if near else "."
        return f"there is no file {name}{hint}"
    if not _has_screen():
        return "there is no screen to open a window on; use 'plimsoll chat' in a terminal."
    return None


def _has_screen() -> bool:
    if sys.platform != "linux" or os.environ.get("QT_QPA_PLATFORM"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))

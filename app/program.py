"""How this program starts itself again: as the engine's worker and other processes of its own."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["own_command"]


def own_command(*arguments: str) -> list[str]:
    """Return the command line that runs this very program with other arguments.

    From source that is ``python -m app``; in a built program ``sys.executable`` is the program
    itself and knows no ``-m``. On Windows the window is a program without standard streams; the
    one for terminals lies beside it and is taken, since these processes speak through pipes.
    """
    if not getattr(sys, "frozen", False):
        return [sys.executable, "-m", "app", *arguments]
    program = Path(sys.executable)
    if sys.platform == "win32":
        beside = program.with_name("plimsoll.exe")
        program = beside if beside.is_file() else program
    return [str(program), *arguments]

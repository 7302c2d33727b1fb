"""A way out for answers alone, for child processes that speak through stdin and stdout.

Libraries print to descriptor 1: llama.cpp does from C. So the pipe gets a descriptor of its own,
and 1 is pointed at stderr before anything else runs.
"""

from __future__ import annotations

import os
import sys

__all__ = ["claim_stdout"]


def claim_stdout() -> int:
    """Return a private descriptor of stdout; what others print goes to stderr from now on.

    On Windows it and stdin carry bytes as they are from now on.
    """
    private = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(private, os.O_BINARY)
        msvcrt.setmode(0, os.O_BINARY)
    return private

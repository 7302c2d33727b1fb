"""What a command's exit code means; 0 is success."""

from __future__ import annotations

from typing import Final

__all__ = ["EXIT_ENGINE", "EXIT_INTERRUPTED", "EXIT_NO_MODEL", "EXIT_REFUSED", "EXIT_USAGE"]

EXIT_REFUSED: Final = 1
EXIT_USAGE: Final = 2
EXIT_NO_MODEL: Final = 3
"""A file that is no usable model."""
EXIT_ENGINE: Final = 4
EXIT_INTERRUPTED: Final = 130
"""By Ctrl+C, as shells have it."""

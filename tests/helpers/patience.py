"""How long a test waits for what is to come: on a slow, busy machine everything comes late.

No promise of speed: those are measured in `tests.bench`. What never comes fails its test by this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pytestqt.qtbot import QtBot

__all__ = ["PATIENCE_MS", "PATIENCE_S", "PatientBot"]

PATIENCE_S: Final = 120.0
PATIENCE_MS: Final = 120_000


class PatientBot(QtBot):
    """Waits as long as that wherever a test names no time of its own, in milliseconds."""

    def waitUntil(self, callback: Callable[[], bool | None], *, timeout: int = PATIENCE_MS) -> None:
        """Let events run until something is so."""
        super().waitUntil(callback, timeout=timeout)

    def waitSignal(self, signal: Any, *, timeout: int = PATIENCE_MS, **options: Any) -> Any:
        """Let events run until a signal comes."""
        return super().waitSignal(signal, timeout=timeout, **options)

    def waitActive(self, widget: Any, *, timeout: int = PATIENCE_MS) -> Any:
        """Let events run until a window has the keyboard."""
        return super().waitActive(widget, timeout=timeout)

    def waitExposed(self, widget: Any, *, timeout: int = PATIENCE_MS) -> Any:
        """Let events run until a window is on the screen."""
        return super().waitExposed(widget, timeout=timeout)

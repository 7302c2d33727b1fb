"""Ctrl+C as an order to stop what is running, instead of an exception wherever it falls."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["on_interrupt"]


@contextmanager
def on_interrupt(stop: Callable[[], object], *, ends_next: bool = False) -> Iterator[None]:
    """Have Ctrl+C call ``stop`` meanwhile; with ``ends_next`` a second one ends the program.

    ``stop`` runs in a thread of its own: the signal may come in the middle of what it needs, such
    as a line that is being sent. Other threads than the main one can't be interrupted, and are left
    alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def act(_number: int, _frame: object) -> None:
        if ends_next:
            signal.signal(signal.SIGINT, before)
        threading.Thread(target=stop, name="interrupt", daemon=True).start()

    signal.signal(signal.SIGINT, act)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

"""Lets long work in another thread hold up no frame; no Qt here."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

__all__ = ["giving_way"]

_STRETCH_S: Final = 0.001  # for which another thread works on in one go
_WAY_S: Final = 0.0002

T = TypeVar("T")


def giving_way(items: Iterable[T]) -> Iterator[T]:
    """Yield items; now and then the window's thread may take the interpreter.

    It would get it anyway, but a frame that asks for it dozens of times would wait each time until
    a turn of the other thread is over. On the window's thread itself nothing is waited for.
    """
    if threading.current_thread() is threading.main_thread():
        yield from items
        return
    end_s = time.perf_counter() + _STRETCH_S
    for item in items:
        yield item
        if time.perf_counter() > end_s:
            time.sleep(_WAY_S)
            end_s = time.perf_counter() + _STRETCH_S

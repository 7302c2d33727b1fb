"""Windows' counter of main memory that a process uses through a card's driver.

When a card is full, Windows moves its memory out without telling the program; that memory leaves
the dedicated counter and appears in this one ("GPU Process Memory", "Shared Usage"). Written after
the documentation of pdh.h and not run: the development machines have no Windows.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

__all__ = ["shared_bytes"]

_FORMAT_LARGE: Final = 0x00000400  # PDH_FMT_LARGE
_MORE_DATA: Final = 0x800007D2  # PDH_MORE_DATA


class _Value(ctypes.Structure):
    """``PDH_FMT_COUNTERVALUE``; the union begins at eight bytes."""

    _fields_ = (("status", ctypes.c_uint32), ("large", ctypes.c_int64))


class _Item(ctypes.Structure):
    """``PDH_FMT_COUNTERVALUE_ITEM_W``."""

    _fields_ = (("name", ctypes.c_wchar_p), ("value", _Value))


def shared_bytes(pid: int) -> int | None:
    """Return bytes of main memory that a process uses through cards' drivers, None if unknown."""
    loader: Any = getattr(ctypes, "WinDLL", None)
    if loader is None:
        return None
    try:
        library = loader("pdh.dll")
    except OSError:
        return None
    query = ctypes.c_void_p()
    if library.PdhOpenQueryW(None, None, ctypes.byref(query)):
        return None
    try:
        return _sum(library, query, f"\\GPU Process Memory(pid_{pid}_*)\\Shared Usage")
    finally:
        library.PdhCloseQuery(query)


def _sum(library: Any, query: ctypes.c_void_p, path: str) -> int | None:
    counter = ctypes.c_void_p()
    if library.PdhAddEnglishCounterW(query, path, None, ctypes.byref(counter)):
        return None
    if library.PdhCollectQueryData(query):
        return None
    size, count = ctypes.c_uint32(0), ctypes.c_uint32(0)
    read = library.PdhGetFormattedCounterArrayW
    code = read(counter, _FORMAT_LARGE, ctypes.byref(size), ctypes.byref(count), None)
    if code & 0xFFFFFFFF != _MORE_DATA:
        return None
    buffer = ctypes.create_string_buffer(size.value)
    items = ctypes.cast(buffer, ctypes.POINTER(_Item))
    if read(counter, _FORMAT_LARGE, ctypes.byref(size), ctypes.byref(count), items):
        return None
    return sum(int(items[index].value.large) for index in range(count.value))

"""Reading rows out of the pages of a database file that SQLite itself refuses.

Works on any remains: a header that is gone, a file cut off, pages of NUL bytes in between. Each
page that looks like a leaf of a table is read cell by cell; a row is recognised by the shape of
its columns. Pages in the write-ahead log are newer than those of the file and are read as well.
The format is that of SQLite's published file format description (B-tree pages, record format,
WAL format). No length in the file is believed before it is checked against what is there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from app.data import rows

__all__ = ["rows_of"]

Row: TypeAlias = tuple[str, int, dict[str, Any]]

_TABLE_LEAF = 0x0D
_PAGE_SIZE = 4096  # what this program writes; the header's own word counts where it is sound
_WAL_HEADER = 32
_FRAME_HEADER = 24
_MAX_PAYLOAD = 1 << 30
_ID_LENGTH = 32
_HEX = frozenset("0123456789abcdef")


def rows_of(path: Path) -> Iterator[Row]:
    """Yield (table, seq, values by column) of every row that can be made out, in no order.

    A row whose end is lost comes with the columns that are left; the last of them may be cut.
    """
    pages = _Pages(path)
    for number in pages.numbers():
        for rowid, payload in _cells(pages, number):
            values = _record(payload)
            found = _recognise(values) if values else None
            if found is not None:
                table, columns = found
                yield table, rowid, dict(zip(columns, values[1:], strict=False))


class _Pages:
    """The pages of a store by number (from 1), those in the log above those in the file."""

    def __init__(self, path: Path) -> None:
        self._file = _bytes_of(path)
        log = _bytes_of(Path(f"{path}-wal"))
        self.size = _page_size(self._file, log)
        self._logged: dict[int, bytes] = {}
        salts = log[16:24]
        step = _FRAME_HEADER + self.size
        for start in range(_WAL_HEADER, len(log) - step + 1, step):
            number, _, frame_salts = struct.unpack_from(">II8s", log, start)
            if frame_salts == salts and number:
                self._logged[number] = log[start + _FRAME_HEADER : start + step]

    def numbers(self) -> Iterator[int]:
        """Every page there is."""
        in_file = -(-len(self._file) // self.size)
        yield from range(1, in_file + 1)
        yield from sorted(number for number in self._logged if number > in_file)

    def page(self, number: int) -> bytes:
        """Return a page, shorter at a cut end, empty where there is none."""
        logged = self._logged.get(number)
        if logged is not None:
            return logged
        return self._file[(number - 1) * self.size : number * self.size]


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _page_size(file: bytes, log: bytes) -> int:
    if file.startswith(b"SQLite format 3\0"):
        size = int.from_bytes(file[16:18], "big")
        return 65536 if size == 1 else size if _is_page_size(size) else _PAGE_SIZE
    size = int.from_bytes(log[8:12], "big")
    return size if _is_page_size(size) else _PAGE_SIZE


def _is_page_size(size: int) -> bool:
    return 512 <= size <= 65536 and size & (size - 1) == 0


def _cells(pages: _Pages, number: int) -> Iterator[tuple[int, bytes]]:
    """Yield (rowid, payload) of the cells of a page, if it is a leaf of a table."""
    page = pages.page(number)
    start = 100 if number == 1 else 0
    if len(page) < start + 8 or page[start] != _TABLE_LEAF:
        return
    count = int.from_bytes(page[start + 3 : start + 5], "big")
    for index in range(min(count, pages.size // 4)):
        pointer = start + 8 + 2 * index
        place = int.from_bytes(page[pointer : pointer + 2], "big")
        if start + 8 <= place < len(page):
            size, place = _varint(page, place)
            rowid, place = _varint(page, place)
            if 0 < size <= _MAX_PAYLOAD and rowid >= 0:
                yield rowid, _payload(pages, page, place, size)


def _payload(pages: _Pages, page: bytes, place: int, size: int) -> bytes:
    """Return the payload of a cell, as far as its overflow pages go."""
    usable = pages.size
    local = size
    if size > usable - 35:
        least = (usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (usable - 4)
        local = local if local <= usable - 35 else least
    parts = [page[place : place + local]]
    rest = size - local
    following = int.from_bytes(page[place + local : place + local + 4], "big") if rest else 0
    seen: set[int] = set()
    while rest > 0 and following and following not in seen:
        seen.add(following)
        overflow = pages.page(following)
        parts.append(overflow[4 : 4 + rest])
        rest -= usable - 4
        following = int.from_bytes(overflow[:4], "big")
    return b"".join(parts)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Return (value, place behind it); -1 where the data ends inside."""
    value = 0
    for index in range(9):
        if place >= len(data):
            return -1, place
        byte = data[place]
        place += 1
        if index == 8:
            return value << 8 | byte, place
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return value, place


_SIZES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)


def _record(payload: bytes) -> list[Any]:
    """Return the values of a record, those that are there; empty if it is none."""
    header, place = _varint(payload, 0)
    if not 0 < header <= min(len(payload), 400):
        return []
    kinds: list[int] = []
    while place < header:
        kind, place = _varint(payload, place)
        kinds.append(kind)
    values: list[Any] = []
    place = header
    for kind in kinds:
        if kind in {10, 11} or kind < 0:
            return []
        size = _SIZES[kind] if kind < 10 else (kind - 12) // 2
        if place > len(payload):
            break
        values.append(_value(kind, payload[place : place + size]))
        place += size
    return values


def _value(kind: int, raw: bytes) -> Any:
    if kind == 0:
        return None
    if kind <= 6:
        return int.from_bytes(raw, "big", signed=True)
    if kind == 7:
        return struct.unpack(">d", raw)[0] if len(raw) == 8 else None
    if kind in {8, 9}:
        return kind - 8
    return raw.decode("utf-8", "ignore") if kind % 2 else raw


def _recognise(values: list[Any]) -> tuple[str, tuple[str, ...]] | None:
    # The first column is the row's own number and is stored as nothing.
    if len(values) < 5 or values[0] is not None or not _is_id(values[1]):
        return None
    of_a_chat = values[2] is None or _is_id(values[2])
    if of_a_chat and isinstance(values[3], int) and values[3] > 1 and isinstance(values[4], str):
        return "draft_files", rows.DRAFT_FILE_COLUMNS
    if _is_id(values[2]) and values[4] in {"user", "assistant"}:
        return "messages", rows.MESSAGE_COLUMNS
    if _is_id(values[2]) and _is_id(values[3]) and isinstance(values[4], int):
        return "context_events", rows.EVENT_COLUMNS
    if isinstance(values[2], str) and values[3] in {0, 1} and isinstance(values[4], int):
        return "conversations", rows.CONVERSATION_COLUMNS
    return None


def _is_id(value: object) -> bool:
    return isinstance(value, str) and len(value) == _ID_LENGTH and _HEX.issuperset(value)

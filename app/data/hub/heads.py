"""The header of a model that is not here yet: only its first bytes are fetched.

A header ends where the tensors begin, a few MiB into a file of many GiB, and nearly all of it is
the vocabulary, which the variants of one model share. So of the first variant the whole header is
read, and of the others what lies before and after the vocabulary; the pieces are joined and read
by the same bounded reader as any file. Whatever doesn't fit together is read whole instead.

Headers are kept in a folder by what they are of, so that looking twice fetches once.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

from app.data.hub.client import Hub
from app.data.hub.errors import HubError
from app.data.hub.values import Listing, RemoteFile, Variant
from gguf_tools.facts import ModelFacts, facts_of
from gguf_tools.header import Header, HeaderError
from gguf_tools.header.parser import read_raw_header
from gguf_tools.header.raw import RawHeader
from gguf_tools.units import KIB, MIB

__all__ = ["HeadReader", "head_folder", "head_is_kept", "prune", "read_head"]

_FIRST_BYTES: Final = MIB
_MOST_BYTES: Final = 64 * MIB
_BIG_VALUE_BYTES: Final = 64 * KIB
_OVERLAP_BYTES: Final = 4 * KIB
_SLACK_BYTES: Final = 16 * KIB
_KEPT_BYTES: Final = 192 * MIB


def head_folder(cache: Path, variant: Variant) -> Path:
    """Return where the header of a variant is kept, by what its files are."""
    identity = "\n".join(
        f"{file.path}:{file.size_bytes}:{file.sha256 or file.git_sha1}" for file in variant.files
    )
    return cache / hashlib.sha256(identity.encode()).hexdigest()[:20]


def _head_path(folder: Path, file: RemoteFile) -> Path:
    return folder / PurePosixPath(file.path).name


def head_is_kept(cache: Path, variant: Variant) -> bool:
    """Tell whether a variant's header was read before."""
    folder = head_folder(cache, variant)
    return all(_head_path(folder, file).is_file() for file in variant.files)


def read_head(cache: Path, variant: Variant) -> ModelFacts:
    """Return what the files of a variant say, from their headers in the folder ``cache``.

    Raises:
        HubError: they say nothing of use (kind ``header``).
    """
    folder = head_folder(cache, variant)
    shards: list[RawHeader] = []
    try:
        for file in variant.files:
            raw = read_raw_header(_head_path(folder, file))
            # The rest of the file lies elsewhere; what counts is how long it is there.
            shards.append(replace(raw, file_bytes=file.size_bytes, glued=False))
        return facts_of(Header(shards[0].path, tuple(shards)))
    except HeaderError as error:
        name = PurePosixPath(variant.key).name
        text = str(error).replace(str(folder / name), name)
        raise HubError("header", text) from error


def prune(cache: Path, keep_bytes: int = _KEPT_BYTES) -> None:
    """Remove the headers looked at longest ago, beyond so many bytes in all."""
    try:
        folders = sorted(
            (path for path in cache.iterdir() if path.is_dir()),
            key=lambda path: path.stat().st_mtime,
            reverse=True,
        )
    except OSError:
        return
    held = 0
    for folder in folders:
        held += sum(path.stat().st_size for path in folder.glob("*") if path.is_file())
        if held > keep_bytes:
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """The header of another variant, to take the vocabulary from."""

    path: Path
    raw: RawHeader
    start: int  # of its first big value
    end: int  # of its last big value
    key: bytes  # name and type of the first big value, as they stand in the file


class HeadReader:
    """Reads the headers of a listing's variants, one after another.

    Attributes:
        fetched_bytes: what was fetched so far.
    """

    def __init__(
        self, hub: Hub, listing: Listing, cache: Path, cancelled: Callable[[], bool]
    ) -> None:
        self._hub = hub
        self._listing = listing
        self._cache = cache
        self._cancelled = cancelled
        self._pattern: _Pattern | None = None
        self.fetched_bytes = 0

    def fetch(self, variant: Variant) -> None:
        """Bring the header of a variant into the cache.

        Raises:
            HubError: it can't be had, or is none.
            OSError: the cache can't be written.
        """
        folder = head_folder(self._cache, variant)
        folder.mkdir(parents=True, exist_ok=True)
        for file in variant.files:
            path = _head_path(folder, file)
            if not path.is_file():
                self._fetch_file(file, path)
            if self._pattern is None:
                self._pattern = _pattern_of(path)

    def _fetch_file(self, file: RemoteFile, path: Path) -> None:
        fresh = path.with_suffix(".new")
        pattern = self._pattern
        first = _FIRST_BYTES if pattern is None else pattern.start + _SLACK_BYTES
        data = self._range(file, 0, min(first, file.size_bytes))
        joined = self._joined(file, data)
        if joined is not None:
            fresh.write_bytes(joined)
            if _reads(fresh, file):
                fresh.replace(path)
                return
        while True:
            fresh.write_bytes(data)
            try:
                raw = read_raw_header(fresh)
            except HeaderError as error:
                if error.kind != "truncated" or len(data) >= min(file.size_bytes, _MOST_BYTES):
                    fresh.unlink(missing_ok=True)
                    name = PurePosixPath(file.path).name
                    raise HubError("header", str(error).replace(str(fresh), name)) from error
                data += self._range(
                    file, len(data), min(max(len(data) * 2, _FIRST_BYTES), file.size_bytes)
                )
            else:
                fresh.write_bytes(data[: raw.header_bytes])
                fresh.replace(path)
                return

    def _range(self, file: RemoteFile, start: int, end: int) -> bytes:
        """Return the bytes from ``start`` to ``end`` of a file.

        Raises:
            HubError: they can't be had, or it was cancelled (kind ``stopped``).
        """
        wanted = end - start
        found = bytearray()
        listing = self._listing
        with self._hub.open(listing.repository, listing.revision, file, start, end) as stream:
            if stream.start != start:
                raise HubError("header", "The server gives no part of a file.")
            for chunk in stream.chunks():
                if self._cancelled():
                    raise HubError("stopped", "Cancelled.")
                found += chunk
                self.fetched_bytes += len(chunk)
                if len(found) >= wanted:  # also from a server that gives more than asked for
                    break
        if len(found) < wanted:
            raise HubError("network", "The connection ended early.")
        return bytes(found[:wanted])

    def _joined(self, file: RemoteFile, first: bytes) -> bytes | None:
        """Return a header made of this file's ends and the other variant's vocabulary."""
        pattern = self._pattern
        if pattern is None or pattern.end - pattern.start < 4 * _BIG_VALUE_BYTES:
            return None
        found = first.find(pattern.key)
        if found < 0:
            return None
        moved = found + len(pattern.key) - pattern.start
        after = pattern.end + moved
        stop = min(pattern.raw.header_bytes + moved + _SLACK_BYTES, file.size_bytes)
        if stop - after <= 0:
            return None
        tail = self._range(file, after - _OVERLAP_BYTES, stop)
        with pattern.path.open("rb") as stream:
            stream.seek(pattern.start)
            middle = stream.read(pattern.end - pattern.start)
        if tail[:_OVERLAP_BYTES] != middle[-_OVERLAP_BYTES:]:
            return None
        return first[: found + len(pattern.key)] + middle + tail[_OVERLAP_BYTES:]


def _pattern_of(path: Path) -> _Pattern | None:
    """Return the vocabulary of a header that was read, None if it has no big values."""
    try:
        raw = read_raw_header(path)
    except HeaderError:
        return None
    big = [
        (key, value) for key, value in raw.values.items() if value.size_bytes >= _BIG_VALUE_BYTES
    ]
    if not big:
        return None
    key, value = big[0]
    end = max(item.offset + item.size_bytes for _, item in big)
    # Before an array stand its key with a length, and type, type of elements and their number.
    before = 8 + len(key.encode()) + 4 + (12 if value.count is not None else 8)
    with path.open("rb") as stream:
        stream.seek(value.offset - before)
        name = stream.read(before)
    return _Pattern(path, raw, value.offset, end, name)


def _reads(path: Path, file: RemoteFile) -> bool:
    """Tell whether a joined header is that of the file: its tensors must end where the file does.

    The sizes of a few hundred tensors add up to the file's length by chance never.
    """
    try:
        raw = read_raw_header(path)
    except HeaderError:
        return False
    if not 0 <= file.size_bytes - raw.needed_bytes < 4 * KIB:
        return False
    path.write_bytes(path.read_bytes()[: raw.header_bytes])
    return True

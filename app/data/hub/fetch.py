"""The download of a job: from where it stopped, checked, and put in place as a whole.

What was fetched stays in the job's folder until all of it is there and its checksums are right;
then each file gets its name by a rename. So a model in the library is a complete one, and a
download that was killed at any moment goes on from its last byte.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from app.data.hub.client import Hub
from app.data.hub.errors import HubError
from app.data.hub.places import (
    check_space,
    discard,
    kept_bytes,
    lock_path,
    part_path,
    remember,
    target_path,
)
from app.data.hub.rate import RateMeter
from app.data.hub.values import Job, RemoteFile, Transfer
from app.data.lock import ProcessLock
from app.paths import default_paths
from app.small_files import share_as_usual
from gguf_tools.units import format_bytes

__all__ = ["PATIENCE_S", "download"]

PATIENCE_S: Final = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Waits between tries that bring no byte; after the last one the download gives up."""

_READ_BYTES: Final = 4 * 1024 * 1024
_REPORT_S: Final = 0.1
_PASSING: Final = frozenset({"network", "busy"})
_LONGEST_WAIT_S: Final = 60.0


class _Digest(Protocol):
    def update(self, data: bytes | memoryview, /) -> None: ...
    def hexdigest(self) -> str: ...


def download(
    job: Job,
    hub: Hub,
    report: Callable[[Transfer], None],
    patience_s: Sequence[float] = PATIENCE_S,
) -> tuple[Path, ...]:
    """Fetch the files of a job and return where they lie; the first is the one to open.

    Whatever ends it, also a kill, leaves what was fetched for the next call with the same job.

    Args:
        job: what to fetch.
        hub: where from.
        report: told how far it is, about ten times a second.
        patience_s: waits between tries that bring nothing.

    Raises:
        HubError: it can't go on; the sentence says why and what is kept.
    """
    targets = tuple(target_path(job, file) for file in job.files)
    if len(set(targets)) != len(targets):
        raise HubError("exists", f"Two files of {job.title} have the same name here.")
    check_space(job)
    lock = ProcessLock(lock_path(job))
    try:
        remember(job)
        if not lock.acquire():
            raise HubError("locked", f"Another Plimsoll is fetching {job.title} already.")
        try:
            run = _Run(job, hub, report, patience_s)
            for number in range(len(job.files)):
                run.fetch(number)
            _put_in_place(job, targets)
        finally:
            lock.release()
    except HubError as error:
        if error.kind != "locked" and not kept_bytes(job):
            discard(job)  # nothing was begun that could go on
        raise
    except OSError as error:
        raise _disk_trouble(job, error) from error
    discard(job)
    return targets


class _Part:
    """A file that grows: its bytes on the disk and their checksum always agree."""

    def __init__(self, file: RemoteFile, sink: BinaryIO) -> None:
        self.file = file
        self.have_bytes = sink.seek(0, os.SEEK_END)
        self.digest = _digest(file)
        self._sink = sink

    def add(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = self._sink.write(view)
            self.digest.update(view[:written])
            self.have_bytes += written
            view = view[written:]

    def empty(self) -> None:
        self._sink.truncate(0)
        self.have_bytes = 0
        self.digest = _digest(self.file)


class _Run:
    """One run of a job: what is done, and how fast."""

    def __init__(
        self,
        job: Job,
        hub: Hub,
        report: Callable[[Transfer], None],
        patience_s: Sequence[float],
    ) -> None:
        self._job = job
        self._hub = hub
        self._report = report
        self._patience_s = patience_s
        self._before_bytes = 0  # of the files that are done
        self._meter = RateMeter()
        self._reported_s = 0.0

    def fetch(self, number: int) -> None:
        """Fetch one file to its end, or find that it is there."""
        file = self._job.files[number]
        part, target = part_path(self._job, number), target_path(self._job, file)
        if not part.exists() and target.exists():
            self._check_target(file, target)
        else:
            self._fetch_part(file, part)
        self._before_bytes += file.size_bytes

    def _check_target(self, file: RemoteFile, target: Path) -> None:
        digest = _digest(file)
        if target.is_file() and target.stat().st_size == file.size_bytes:
            with target.open("rb") as stream:
                self._take_in(stream, digest)
            if _is_right(file, digest):
                return
        raise HubError(
            "exists",
            f"{target} is there already with other content: move it away or remove it, then try "
            "again.",
        )

    def _fetch_part(self, file: RemoteFile, path: Path) -> None:
        # Unbuffered: what was reported as done is in the system's hands, whatever kills us.
        with path.open("ab", buffering=0) as sink:
            part = _Part(file, sink)
            if part.have_bytes > file.size_bytes:
                part.empty()
            if part.have_bytes:
                with path.open("rb") as stream:
                    self._take_in(stream, part.digest)
            tries = 0
            while part.have_bytes < file.size_bytes:
                before = part.have_bytes
                try:
                    self._stream(part)
                except HubError as error:
                    tries = 1 if part.have_bytes > before else tries + 1
                    if error.kind not in _PASSING or tries > len(self._patience_s):
                        raise
                    self._wait(error, part.have_bytes, self._patience_s[tries - 1])
            os.fsync(sink.fileno())
        if not _is_right(file, part.digest):
            path.unlink()
            raise HubError(
                "checksum",
                f"{file.path} arrived damaged: its checksum is not the one that the hub gives. "
                "The damaged file was removed; try again.",
            )

    def _stream(self, part: _Part) -> None:
        """Write what arrives behind what is there.

        Raises:
            HubError: it ended early (kind ``network``), or is not what was listed.
        """
        job, file = self._job, part.file
        with self._hub.open(job.repository, job.revision, file, start=part.have_bytes) as stream:
            if stream.start != part.have_bytes:  # the server can't begin in the middle
                part.empty()
            for chunk in stream.chunks():
                if part.have_bytes + len(chunk) > file.size_bytes:
                    raise HubError("changed", f"{file.path} is longer than the hub says.")
                part.add(chunk)
                self._tell("downloading", part.have_bytes, part.have_bytes == file.size_bytes)
        if part.have_bytes < file.size_bytes:
            raise HubError("network", "The connection ended early.")

    def _take_in(self, stream: BinaryIO, digest: _Digest) -> None:
        """Sum up what lies on the disk already."""
        done = 0
        while data := stream.read(_READ_BYTES):
            digest.update(data)
            done += len(data)
            self._tell("checking", done, False)
        self._meter = RateMeter()

    def _wait(self, error: HubError, have: int, pause_s: float) -> None:
        if error.retry_after_s is not None:
            pause_s = min(max(error.retry_after_s, pause_s), _LONGEST_WAIT_S)
        self._report(
            Transfer(
                phase="waiting",
                done_bytes=self._before_bytes + have,
                total_bytes=self._job.size_bytes,
                note=str(error),
            )
        )
        time.sleep(pause_s)
        self._meter = RateMeter()

    def _tell(self, phase: str, have: int, last: bool) -> None:
        now = time.monotonic()
        if now - self._reported_s < _REPORT_S and not last:
            return
        self._reported_s = now
        done, total = self._before_bytes + have, self._job.size_bytes
        self._meter.add(now, done)
        self._report(
            Transfer(
                phase="checking" if phase == "checking" else "downloading",
                done_bytes=done,
                total_bytes=total,
                bytes_per_s=self._meter.bytes_per_s(),
                left_s=None if phase == "checking" else self._meter.left_s(total - done),
            )
        )


def _digest(file: RemoteFile) -> _Digest:
    if file.sha256 is None and file.git_sha1 is not None:
        # How git names a blob: the sum of a header and the content.
        return hashlib.sha1(b"blob %d\0" % file.size_bytes, usedforsecurity=False)
    return hashlib.sha256()


def _is_right(file: RemoteFile, digest: _Digest) -> bool:
    expected = file.sha256 or file.git_sha1
    return expected is None or digest.hexdigest() == expected.lower()


def _put_in_place(job: Job, targets: tuple[Path, ...]) -> None:
    """Give finished files their names; a call after a kill in between does the rest."""
    for number, target in enumerate(targets):
        part = part_path(job, number)
        if part.exists():
            made = [folder for folder in target.parents if not folder.exists()]
            target.parent.mkdir(parents=True, exist_ok=True)
            part.replace(target)
            if default_paths().data not in target.parents:
                for path in (target, *made):
                    share_as_usual(path)


def _disk_trouble(job: Job, error: OSError) -> HubError:
    kept = f"{format_bytes(kept_bytes(job))} of {format_bytes(job.size_bytes)} are kept"
    if error.errno in {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}:
        return HubError("disk", f"The disk is full. {kept}: make room, then resume.")
    if error.errno == errno.EFBIG:
        return HubError(
            "disk",
            f"The disk's file system takes no file as large as {job.title}: choose another folder "
            "in the settings.",
        )
    return HubError(
        "disk",
        f"{job.folder} can't be written ({error.strerror or error}). {kept}: see to the folder, "
        "then resume.",
    )

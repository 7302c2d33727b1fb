"""Where downloads lie: finished ones as models, unfinished ones where no model is looked for.

Finished: ``FOLDER/owner/name/FILE.gguf``. Unfinished: ``FOLDER/.incomplete/ID/`` with the parts
under numbers, without ``.gguf`` in their names, and ``job.json`` that says what they are. Both lie
on one volume, so that a finished file gets its name by a rename, whole or not at all.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

import msgspec

from app.data.hub.errors import HubError
from app.data.hub.values import Job, RemoteFile
from app.settings import atomic_write
from gguf_tools.units import MIB, format_bytes

__all__ = [
    "INCOMPLETE",
    "check_space",
    "discard",
    "kept_bytes",
    "lock_path",
    "part_path",
    "remember",
    "target_path",
    "unfinished",
    "work_folder",
]

INCOMPLETE: Final = ".incomplete"
SPARE_BYTES: Final = 256 * MIB
"""What a download leaves free: a system without any room works badly."""

_JOB_FILE: Final = "job.json"
_MAX_JOB_BYTES: Final = 4 * MIB
_ID: Final = re.compile(r"[0-9a-f]{16}")
# Windows keeps these for devices and refuses these characters, and drops dots and blanks at ends.
_RESERVED: Final = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")
_REFUSED: Final = re.compile(r'[<>:"|?*\\\x00-\x1f\x7f]')


def target_path(job: Job, file: RemoteFile) -> Path:
    """Return where a finished file lies.

    Raises:
        HubError: its name would lead out of the folder.
    """
    names = [*job.repository.split("/"), *file.path.split("/")]
    if any(name in {"", ".", ".."} for name in names):
        raise HubError("unknown", f"{file.path} is no name for a file here: it is not fetched.")
    return Path(job.folder, *map(_safe, names))


def _safe(name: str) -> str:
    clean = _REFUSED.sub("_", name).rstrip(". ") or "_"
    return f"_{clean}" if _RESERVED.fullmatch(clean) else clean


def work_folder(job: Job) -> Path:
    """Return the folder of a job's unfinished files."""
    return Path(job.folder) / INCOMPLETE / job.id


def part_path(job: Job, number: int) -> Path:
    """Return where the bytes of file ``number`` (from 0) are gathered."""
    return work_folder(job) / f"{number}.part"


def lock_path(job: Job) -> Path:
    """Return the file whose lock says that a process works on the job."""
    return work_folder(job).with_suffix(".lock")


def kept_bytes(job: Job) -> int:
    """Return how much of a job is on the disk already, finished files included."""
    kept = 0
    for number, file in enumerate(job.files):
        for path in (part_path(job, number), target_path(job, file)):
            try:
                kept += min(path.stat().st_size, file.size_bytes)
                break
            except OSError:
                continue
    return kept


def check_space(job: Job, waiting_bytes: int = 0) -> None:
    """Look for room before anything is fetched.

    Args:
        job: what is to be fetched.
        waiting_bytes: what other downloads into the same place still need.

    Raises:
        HubError: there is too little, or the folder can't be made.
    """
    folder = Path(job.folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise HubError(
            "disk",
            f"The folder {folder} can't be used ({error.strerror or error}): choose another one "
            "in the settings.",
        ) from error
    needed = job.size_bytes - kept_bytes(job)
    if needed + waiting_bytes + SPARE_BYTES > free:
        others = f", and {format_bytes(waiting_bytes)} for what waits" if waiting_bytes else ""
        raise HubError(
            "disk",
            f"{job.title} needs {format_bytes(needed)}{others}, and {format_bytes(free)} are free "
            f"where {folder} lies ({format_bytes(SPARE_BYTES)} are left free): make room, or "
            "choose another folder in the settings.",
        )


def remember(job: Job) -> None:
    """Keep what a job is, so that it can go on after the program has ended.

    Raises:
        OSError: it can't be written.
    """
    path = work_folder(job) / _JOB_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        atomic_write(path, msgspec.json.encode(job))


def unfinished(folder: Path) -> tuple[Job, ...]:
    """Return the jobs that were begun and not finished, the oldest first."""
    found: list[tuple[float, Job]] = []
    try:
        below = [path for path in (folder / INCOMPLETE).iterdir() if _ID.fullmatch(path.name)]
    except OSError:
        return ()
    for path in below:
        try:
            status = (path / _JOB_FILE).stat()
            if status.st_size > _MAX_JOB_BYTES:
                continue
            job = msgspec.json.decode((path / _JOB_FILE).read_bytes(), type=Job)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if job.id == path.name:
            # The folder may have been moved together with what lies in it.
            found.append((status.st_mtime, msgspec.structs.replace(job, folder=str(folder))))
    return tuple(job for _, job in sorted(found, key=lambda item: item[0]))


def discard(job: Job) -> None:
    """Remove what was fetched of an unfinished job; nothing happens if there is nothing."""
    shutil.rmtree(work_folder(job), ignore_errors=True)
    try:
        lock_path(job).unlink(missing_ok=True)
        work_folder(job).parent.rmdir()
    except OSError:
        pass  # it is being worked on, or other jobs lie there, or none

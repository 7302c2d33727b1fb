"""Files of ours: who may read them, and reading what somebody else may have put in their place."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["MAX_SMALL_BYTES", "keep_private", "read_small", "require_plain", "share_as_usual"]

MAX_SMALL_BYTES = 16 * 1024 * 1024
_UMASK_VARIABLE = "PLIMSOLL_USERS_UMASK"


def keep_private() -> None:
    """Have every file and folder that this process or a child of it makes be the user's alone.

    To be called once, before anything is written: libraries make files, too, whose mode is not
    ours to choose (SQLite's log, a download's parts, folders above ours).
    """
    before = os.umask(0o077)
    # A child sees our umask and not the user's own, which `share_as_usual` asks for.
    os.environ.setdefault(_UMASK_VARIABLE, f"{before:o}")


def share_as_usual(path: Path) -> None:
    """Give a file or folder the mode that any program of this user would give it.

    For models that were made or fetched into a folder that the user chose: others may read there.
    """
    try:
        umask = int(os.environ.get(_UMASK_VARIABLE, "77"), 8)
    except ValueError:
        return
    try:
        path.chmod((0o777 if path.is_dir() else 0o666) & ~umask)
    except OSError:
        pass  # a file system without modes


def require_plain(path: Path) -> os.stat_result:
    """Return what the system says of a file, before it is opened: opening a pipe would wait.

    Raises:
        OSError: there is none, or it is no plain file but a folder, a pipe or a device.
    """
    about = path.stat()
    if stat.S_ISDIR(about.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, "it is not a plain file", str(path))
    return about


def read_small(path: Path, limit_bytes: int = MAX_SMALL_BYTES) -> bytes:
    """Return what a file holds.

    Raises:
        OSError: it can't be read, is no plain file (reading a pipe would never end), or is larger
            than ``limit_bytes``.
    """
    if require_plain(path).st_size > limit_bytes:
        raise OSError(errno.EFBIG, "it is far too large", str(path))
    return path.read_bytes()

"""Reading files of ours that somebody else may have put there: a pipe, a device, a huge one."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["MAX_SMALL_BYTES", "read_small", "require_plain"]

MAX_SMALL_BYTES = 16 * 1024 * 1024


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

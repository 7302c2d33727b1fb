"""One writer at a time, across processes, and never a lock that a killed process leaves behind.

The operating system holds the lock for as long as the file is open, so it ends with the process,
however that ends. The file itself stays: removing it would let two processes lock two files of
the same name. Written here rather than taken from a library for two things that matter to us: a
network home without locks must not keep anybody from their chats, and the sentence names the
process that holds the store.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from pathlib import Path

__all__ = ["ProcessLock"]

_RETRY_S = 0.05
# What a file system answers that knows no locks at all (network homes, some FUSE mounts).
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}
_PID_BYTES = 32

if sys.platform == "win32":
    import msvcrt

    # The locked byte lies far behind the process id, which others may then still read.
    _LOCKED_BYTE = 1 << 20

    def _try_lock(handle: int) -> None:
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _try_lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


class ProcessLock:
    """An advisory lock on a file of its own.

    Attributes:
        held: whether this object holds the lock.
        enforced: False where the file system knows no locks; the lock then counts as held.
        holder_pid: process that has the lock, where it is another's and says so.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None
        self.held = False
        self.enforced = True
        self.holder_pid: int | None = None

    def acquire(self, wait_s: float = 0.0) -> bool:
        """Take the lock, waiting at most ``wait_s`` seconds; False if another process has it.

        Raises:
            OSError: the lock file can't be made (read-only folder, full disk).
        """
        if self.held:
            return True
        end = time.monotonic() + wait_s
        # Not inherited: a worker that outlives the window must not keep its lock.
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        while not self._attempt(handle):
            if time.monotonic() >= end:
                self.holder_pid = _read_pid(handle)
                os.close(handle)
                return False
            time.sleep(_RETRY_S)
        self._handle = handle
        self.held = True
        self.holder_pid = None
        _write_pid(handle)
        return True

    def _attempt(self, handle: int) -> bool:
        try:
            _try_lock(handle)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                self.enforced = False
                return True
            if error.errno in {errno.EAGAIN, errno.EACCES, errno.EDEADLK}:
                return False
            os.close(handle)
            raise
        return True

    def release(self) -> None:
        """Give the lock back; closing the file does it on every system."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
        self.held = False


def _write_pid(handle: int) -> None:
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, str(os.getpid()).encode().ljust(_PID_BYTES))
    except OSError:
        pass  # a full disk: the process id is a courtesy


def _read_pid(handle: int) -> int | None:
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        text = os.read(handle, _PID_BYTES).decode("ascii", "replace").strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None

"""The log file: what happened, without what was said unless asked.

One file of at most 1 MiB and one before it, readable by the user alone. The engine's stderr goes
there too, because the cause of a crash stands in its last lines.
"""

from __future__ import annotations

import logging
import logging.handlers
from pathlib import Path

__all__ = ["engine_log", "set_up"]

_LIMIT_BYTES = 1 << 20

engine_log = logging.getLogger("plimsoll.engine")


class _PrivateHandler(logging.handlers.RotatingFileHandler):
    def _open(self) -> object:  # type: ignore[override]
        stream = super()._open()
        Path(self.baseFilename).chmod(0o600)
        return stream


def set_up(folder: Path) -> Path | None:
    """Log to ``folder/plimsoll.log``; return its path, None where it can't be written."""
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    path = folder / "plimsoll.log"
    try:
        handler = _PrivateHandler(
            path, maxBytes=_LIMIT_BYTES, backupCount=1, encoding="utf-8", delay=False
        )
    except OSError:
        root.addHandler(logging.NullHandler())
        return None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    return path

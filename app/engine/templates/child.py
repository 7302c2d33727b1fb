"""The process that renders chat templates: ``python -m app.engine.templates.child``.

It reads requests from stdin and answers on stdout until stdin ends. It holds no secrets and can be
killed at any moment; it also ends itself when one request takes too long, so that it never
outlives a parent that died while a template was looping.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from app.engine.templates.environment import render
from app.engine.templates.errors import TemplateError
from app.engine.templates.frames import read_frame, write_frame
from app.private_stdout import claim_stdout

__all__ = ["ERROR", "READY", "TEXT", "main"]

READY = b"R"
TEXT = b"T"
ERROR = b"E"


def main() -> int:
    """Serve until stdin ends."""
    # Ctrl+C in a terminal reaches every process of the group; the parent decides what ends
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # the descriptors themselves, because a program without a console has no sys.stdin
    requests = os.fdopen(os.dup(0), "rb")
    # what a library prints, also from C, must not be taken for an answer
    answers = os.fdopen(claim_stdout(), "wb")
    memory_limited = False
    with requests, answers, Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        write_frame(answers, READY)
        while (frame := read_frame(requests)) is not None:
            request = json.loads(frame)
            if not memory_limited:
                _limit_memory(request["memory_limit_bytes"])
                memory_limited = True
            # not a Python timer: one that also fires while a single C call holds the interpreter
            faulthandler.dump_traceback_later(request["wall_limit_s"], exit=True, file=nowhere)
            write_frame(answers, _answer(request))
            faulthandler.cancel_dump_traceback_later()
    return 0


def _answer(request: dict[str, Any]) -> bytes:
    try:
        text = render(
            request["source"],
            request["values"],
            request["now"],
            max_output_bytes=request["output_limit_bytes"],
        )
        return TEXT + text.encode()
    except TemplateError as error:
        return ERROR + json.dumps([error.kind, error.line, error.message]).encode()
    except MemoryError:
        return ERROR + b'["memory", null, "The chat template takes too much memory"]'


def _limit_memory(limit_bytes: int) -> None:
    """Limit the address space where the system can; elsewhere the parent watches."""
    try:
        import resource
    except ImportError:  # Windows
        return
    try:
        _soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = limit_bytes if hard == resource.RLIM_INFINITY else min(limit_bytes, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    except (OSError, ValueError):  # macOS knows the limit but may refuse to set it
        return


if __name__ == "__main__":
    sys.exit(main())

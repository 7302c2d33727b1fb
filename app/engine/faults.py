"""Faults on demand, for tests of what happens when an engine dies.

Honoured only when ``PLIMSOLL_FAULTS=1`` is in the worker's environment.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from app.engine.launch import FAULTS_VARIABLE
from app.engine.protocol import Fault

__all__ = ["Faults"]


class Faults:
    """Keeps the fault that was asked for until its phase comes."""

    def __init__(self) -> None:
        self._allowed = os.environ.get(FAULTS_VARIABLE) == "1"
        self._armed: Fault | None = None

    def arm(self, fault: Fault) -> bool:
        """Take a fault; False if faults are not allowed here."""
        if not self._allowed:
            return False
        self._armed = fault
        if fault.phase == "now":
            self.reach("now")
        return True

    def reach(self, phase: str, tokens: int = 0) -> None:
        """Misbehave if this is the phase (and the token) that was asked for."""
        fault = self._armed
        if fault is None or fault.phase != phase or tokens < fault.after_tokens:
            return
        self._armed = None
        if fault.signal == "hang":
            while True:
                time.sleep(3600)
        if fault.signal == "oom":
            print(
                "ggml_backend_cuda_buffer_type_alloc_buffer: cudaMalloc failed: out of memory",
                file=sys.stderr,
                flush=True,
            )
            os.abort()
        os.kill(os.getpid(), getattr(signal, fault.signal))
        time.sleep(10)  # the signal arrives

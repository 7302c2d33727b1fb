"""Watches the window's thread: how long a timer was kept waiting, by what, and how frames went.

Two clocks: the wall's, in which the promises are given, and the thread's own processor time,
which says the same on a machine that does other things too. A slice is what lies between two
ticks of a 5 ms timer.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import psutil
from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QWidget

__all__ = ["TICK_MS", "Seen", "Watch", "at_share"]

TICK_MS = 5
_LOOPS = ("until", "rest", "main")
"""Functions of the bench below which the window's own work begins."""


def at_share(values: Sequence[float], share: float) -> float:
    """Return the value that a share of all does not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


@dataclass
class Seen:
    """What was seen in one case; times in milliseconds, memory in bytes.

    Attributes:
        gaps: between the timer's ticks.
        cpu: processor time of the window's thread between the same ticks.
        frames: from the request to draw to what was drawn.
        collected: pauses of Python's collector of cycles.
        slices: what long ones were spent on, where that was asked for.
        causes: functions in which they were spent, with how often they were met there.
    """

    gaps: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    frames: list[float] = field(default_factory=list)
    collected: list[float] = field(default_factory=list)
    growth_bytes: int = 0
    slices: list[str] = field(default_factory=list)
    causes: Counter[str] = field(default_factory=Counter)


class _Frames(QObject):
    """Times the drawing of a window."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.times: list[float] = []
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.UpdateRequest:
            return False
        begun = time.perf_counter()
        watched.event(event)
        self.times.append((time.perf_counter() - begun) * 1000)
        return True


class _Sampler(threading.Thread):
    """Looks at the window's thread every 2 ms, to tell afterwards what a long slice did."""

    def __init__(self, ident: int) -> None:
        super().__init__(daemon=True)
        self._watched = ident
        self._ended = threading.Event()
        self.samples: deque[tuple[float, tuple[str, ...]]] = deque(maxlen=20_000)

    def run(self) -> None:
        while not self._ended.wait(0.002):
            frame = sys._current_frames().get(self._watched)
            names: list[str] = []
            while frame is not None:
                code = frame.f_code
                if code.co_name in _LOOPS:
                    break
                names.append(f"{code.co_filename.rsplit('/', 1)[-1]} {code.co_name}")
                frame = frame.f_back
            frame = None  # held, it would keep what the window's thread has let go of: painters
            self.samples.append((time.perf_counter(), tuple(names)))

    def end(self) -> None:
        self._ended.set()


class Watch:
    """Watches from `start` to `stop`; with ``why_ms`` also what longer slices were spent on."""

    def __init__(self, window: QWidget, why_ms: float | None = None) -> None:
        self._frames = _Frames(window)
        self._why_ms = why_ms
        self._sampler = None if why_ms is None else _Sampler(threading.get_ident())
        if self._sampler is not None:
            self._sampler.start()
        self._process = psutil.Process()
        self._seen = Seen()
        self._before = 0
        self._last = self._last_cpu = self._collecting = 0.0
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        """Begin anew."""
        self._seen = Seen()
        self._frames.times = self._seen.frames
        self._before = self._process.memory_info().rss
        gc.callbacks.append(self._on_collection)
        self._last, self._last_cpu = time.perf_counter(), time.thread_time()
        self._timer.start()

    def stop(self) -> Seen:
        """Return what was seen since `start`."""
        self._tick()
        self._timer.stop()
        gc.callbacks.remove(self._on_collection)
        self._seen.growth_bytes = self._process.memory_info().rss - self._before
        return self._seen

    def close(self) -> None:
        """End the thread that looks on."""
        if self._sampler is not None:
            self._sampler.end()

    def _tick(self) -> None:
        now, cpu = time.perf_counter(), time.thread_time()
        gap_ms, cpu_ms = (now - self._last) * 1000, (cpu - self._last_cpu) * 1000
        self._seen.gaps.append(gap_ms)
        self._seen.cpu.append(cpu_ms)
        if self._sampler is not None and cpu_ms > (self._why_ms or 0):
            self._explain(gap_ms, cpu_ms, now)
        self._last, self._last_cpu = time.perf_counter(), time.thread_time()

    def _explain(self, gap_ms: float, cpu_ms: float, now: float) -> None:
        """Note what was going on since the last tick: which calls, and what was in them."""
        assert self._sampler is not None
        stacks = [stack for at, stack in list(self._sampler.samples) if self._last <= at <= now]
        outer = Counter(stack[-1] if stack else "waiting, or in Qt" for stack in stacks)
        entries = ", ".join(f"{name} {count}" for name, count in outer.most_common(4))
        self._seen.slices.append(f"{gap_ms:.0f} ms, {cpu_ms:.0f} of processor: {entries}")
        for stack in stacks:
            self._seen.causes.update(set(stack))

    def _on_collection(self, phase: str, _info: dict[str, int]) -> None:
        now = time.perf_counter()
        if phase == "start":
            self._collecting = now
        elif self._collecting:
            self._seen.collected.append((now - self._collecting) * 1000)

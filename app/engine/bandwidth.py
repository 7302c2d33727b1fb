"""How fast the processor reads main memory: the straw through which a model on it decodes.

Threads scan a buffer from end to end, outside the interpreter's lock, as often as the repeats say.
The buffer is as large as what a token reads, because a model that fits into the processor's last
cache is read faster than main memory; a second, larger buffer tells whether that is so. Two ways
of scanning are tried and the faster one counts, since a ceiling must not be beaten by a loop that
was merely written better than the probe's.

Nothing else should compute meanwhile; a probe of a few hundred MiB takes about a second.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from inspector.records import BandwidthRecord

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    _Part: TypeAlias = npt.NDArray[np.uint64]

__all__ = ["LARGE_BYTES", "MOST_BYTES", "measure_bandwidth", "probe_size"]

LARGE_BYTES: Final = 512 << 20
"""Far beyond the last cache of any processor but a few servers'."""

MOST_BYTES: Final = 1 << 30
"""A larger buffer measures nothing else."""

_LEAST_BYTES: Final = 1 << 20
_ABSENT: Final = 7  # a byte that the buffer does not hold
_WAITED: Final = 0.1  # share of the time in which a thread that scans had no core
_TELLING_S: Final = 0.05  # of less time some systems' clocks of a thread say nothing


def probe_size(bytes_per_token: int, free_bytes: int | None = None) -> int:
    """Return the buffer's size for a model: its bytes per token, within what can be spared."""
    most = MOST_BYTES if free_bytes is None else min(MOST_BYTES, max(free_bytes // 4, _LEAST_BYTES))
    return max(_LEAST_BYTES, min(bytes_per_token, most)) // 4096 * 4096


def measure_bandwidth(
    buffer_bytes: int, threads: int, *, repeats: int = 9, large_bytes: int = LARGE_BYTES
) -> BandwidthRecord:
    """Return what reading a buffer with so many threads gives.

    ``large_bytes`` is the size of the second buffer; 0, or a first buffer of at least half of it,
    leaves the second out.

    Raises:
        MemoryError: there is no room for the buffers.
    """
    threads = max(1, threads)
    scan = _scan(buffer_bytes, threads, repeats)
    large = None
    if large_bytes and buffer_bytes * 2 <= large_bytes:
        large = median(_scan(large_bytes, threads, max(3, repeats // 2)).rates)
    return BandwidthRecord(
        at_ms=round(time.time() * 1000),
        threads=threads,
        buffer_bytes=buffer_bytes,
        samples=scan.rates,
        large_bytes_per_s=large,
        waited=scan.waited,
    )


@dataclass(frozen=True, slots=True)
class _Scan:
    """Bytes per second of each pass, and whether threads waited for a core meanwhile."""

    rates: tuple[float, ...]
    waited: bool


def _scan(size_bytes: int, threads: int, repeats: int) -> _Scan:
    # Imported here: the window knows this module long before anything is measured.
    import numpy as np

    # Filled, not zeroed: untouched pages all lie in one physical page, which a cache holds.
    buffer: _Part = np.full(size_bytes // 8, 0x0101010101010101, dtype=np.uint64)
    parts = np.array_split(buffer, threads)
    best: _Scan | None = None
    for scan in _scanners():
        passes, waited = _passes(scan, parts, repeats + 1)
        found = _Scan(tuple(buffer.nbytes / spent for spent in passes[1:]), waited)
        if best is None or median(found.rates) > median(best.rates):
            best = found
    assert best is not None
    return best


def _passes(
    scan: Callable[[_Part], Any], parts: list[_Part], count: int
) -> tuple[list[float], bool]:
    """Return the seconds of each pass, all threads starting together, and whether any waited."""
    barrier = threading.Barrier(len(parts))
    marks: list[list[tuple[float, float]]] = [[] for _ in parts]
    computed_s: list[float] = []

    def work(part: _Part, own: list[tuple[float, float]]) -> None:
        spent_s = 0.0
        for _ in range(count):
            barrier.wait()
            # Read by the thread that scans: another one may be woken up long after the start.
            before_s, started = time.thread_time(), time.perf_counter()
            scan(part)
            own.append((started, time.perf_counter()))
            spent_s += time.thread_time() - before_s
        computed_s.append(spent_s)

    workers = [
        threading.Thread(target=work, args=(part, own), daemon=True)
        for part, own in zip(parts, marks, strict=True)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    passed_s = sum(end - start for own in marks for start, end in own)
    waited = passed_s > _TELLING_S and sum(computed_s) < (1 - _WAITED) * passed_s
    passes = [
        max(end for _, end in passed) - min(start for start, _ in passed)
        for passed in zip(*marks, strict=True)
    ]
    return passes, waited


def _scanners() -> list[Callable[[_Part], Any]]:
    """Return ways to read a buffer once; both leave the interpreter's lock alone meanwhile."""
    scanners: list[Callable[[_Part], Any]] = [lambda part: part.max()]
    library: Any = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
    library.memchr.restype = ctypes.c_void_p
    library.memchr.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    scanners.append(lambda part: library.memchr(part.ctypes.data, _ABSENT, part.nbytes))
    return scanners

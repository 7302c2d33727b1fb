"""How many threads are fastest.

Decode waits for memory, so more threads than fast cores only wait for each other: logical
siblings and efficiency cores slow it down. llama.cpp's threads spin while idle, so on a small
machine one core is left for the window and everything else.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psutil

__all__ = [
    "allowed_cpus",
    "choose_threads",
    "clamp_threads",
    "cpu_name",
    "performance_cores",
    "thread_choices",
]

_SYS_CPU = Path("/sys/devices/system/cpu")


def allowed_cpus() -> set[int]:
    """Return the logical CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def _cgroup_limit(root: Path = Path("/sys/fs/cgroup")) -> float | None:
    """Return the number of CPUs that a container may use (cgroup v2, then v1)."""
    try:
        quota, period = (root / "cpu.max").read_text().split()[:2]
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    try:
        quota_us = int((root / "cpu/cpu.cfs_quota_us").read_text())
        period_us = int((root / "cpu/cpu.cfs_period_us").read_text())
        return quota_us / period_us if quota_us > 0 else None
    except (OSError, ValueError, ZeroDivisionError):
        return None


def _linux_cores(cpus: set[int], root: Path) -> int | None:
    """Count distinct fast cores among ``cpus`` by the kernel's topology files."""
    cores: dict[str, int] = {}
    for cpu in cpus:
        folder = root / f"cpu{cpu}"
        try:
            siblings = (folder / "topology/thread_siblings_list").read_text().strip()
        except OSError:
            return None
        capacity = 1024
        for name in ("cpu_capacity", "cpufreq/cpuinfo_max_freq"):
            try:
                capacity = int((folder / name).read_text())
                break
            except (OSError, ValueError):
                continue
        cores[siblings] = max(cores.get(siblings, 0), capacity)
    if not cores:
        return None
    # Cores of one kind differ by a few per cent in top speed, kinds by a third and more.
    fast = 0.8 * max(cores.values())
    return sum(1 for capacity in cores.values() if capacity >= fast)


def _apple_cores() -> int | None:
    import subprocess

    try:
        answer = subprocess.run(
            ["/usr/sbin/sysctl", "-n", "hw.perflevel0.physicalcpu"],
            capture_output=True,
            text=True,
            timeout=2,
            check=True,
        )
        return int(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def performance_cores(cpus: set[int] | None = None, root: Path = _SYS_CPU) -> int:
    """Return the number of physical performance cores that this process may use, at least 1."""
    cpus = allowed_cpus() if cpus is None else cpus
    cores: int | None = None
    if sys.platform.startswith("linux"):
        cores = _linux_cores(cpus, root)
    elif sys.platform == "darwin":
        cores = _apple_cores()
    if cores is None:
        cores = min(psutil.cpu_count(logical=False) or len(cpus), len(cpus))
    limit = _cgroup_limit()
    if limit is not None:
        cores = min(cores, int(limit))
    return max(1, cores)


def choose_threads(cores: int | None = None) -> int:
    """Return the default number of threads: the fast cores, less one when there are few."""
    cores = performance_cores() if cores is None else cores
    return max(1, cores - 1) if cores <= 4 else cores


def clamp_threads(asked: int | None) -> int:
    """Return a usable number of threads for what was asked; None means the default."""
    if asked is None:
        return choose_threads()
    return max(1, min(asked, len(allowed_cpus())))


def thread_choices(cores: int | None = None, cpus: int | None = None) -> tuple[int, ...]:
    """Return numbers of threads that are worth measuring: every one up to four, then steps.

    Args:
        cores: fast cores that this process may use.
        cpus: logical processors that it may use.
    """
    cores = performance_cores() if cores is None else cores
    cpus = len(allowed_cpus()) if cpus is None else cpus
    steps = {cores // 2, cores * 3 // 4, cores - 1, cores, cpus}
    few = {1, 2, 3, 4} if cores <= 4 else set()
    return tuple(sorted(count for count in steps | few if 1 <= count <= cpus))


def cpu_name() -> str:
    """Return the processor's name, empty if the system doesn't tell."""
    if sys.platform.startswith("linux"):
        try:
            for line in Path("/proc/cpuinfo").read_text().splitlines():
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
        except OSError:
            pass
    import platform

    return platform.processor() or platform.machine()

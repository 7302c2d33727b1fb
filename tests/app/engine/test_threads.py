from __future__ import annotations

from pathlib import Path

import pytest

from app.engine import threads
from app.engine.launch import worker_environment

WAIT_VARIABLES = {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}


def _topology(root: Path, cores: list[tuple[str, int]]) -> Path:
    """Write the kernel's files: one (siblings, top speed in kHz) for each logical CPU."""
    for cpu, (siblings, speed) in enumerate(cores):
        folder = root / f"cpu{cpu}"
        (folder / "topology").mkdir(parents=True)
        (folder / "topology/thread_siblings_list").write_text(siblings + "\n")
        (folder / "cpufreq").mkdir()
        (folder / "cpufreq/cpuinfo_max_freq").write_text(str(speed))
    return root


EIGHT_OF_SIXTEEN = [(f"{i % 8},{i % 8 + 8}", 4_500_000) for i in range(16)]
FOUR_P_EIGHT_E = [(f"{i // 2 * 2}-{i // 2 * 2 + 1}", 5_000_000) for i in range(8)] + [
    (str(i), 3_800_000) for i in range(8, 16)
]


@pytest.mark.skipif("not __import__('sys').platform.startswith('linux')")
@pytest.mark.parametrize(
    ("cores", "allowed", "expected"),
    [
        (EIGHT_OF_SIXTEEN, set(range(16)), 8),
        (EIGHT_OF_SIXTEEN, {0, 8}, 1),
        (EIGHT_OF_SIXTEEN, {0, 1}, 2),
        (FOUR_P_EIGHT_E, set(range(16)), 4),
        (FOUR_P_EIGHT_E, set(range(8, 16)), 8),
    ],
)
def test_a39_default_is_the_fast_physical_cores(
    cores: list[tuple[str, int]], allowed: set[int], expected: int, tmp_path: Path
) -> None:
    limit = threads._cgroup_limit()
    found = threads.performance_cores(allowed, _topology(tmp_path, cores))
    assert found == (expected if limit is None else max(1, min(expected, int(limit))))


@pytest.mark.parametrize(("quota", "expected"), [("200000 100000", 2.0), ("max 100000", None)])
def test_a39_container_limit_is_read(quota: str, expected: float | None, tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text(quota)
    assert threads._cgroup_limit(tmp_path) == expected


def test_container_limit_of_the_first_version(tmp_path: Path) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text("150000")
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000")
    assert threads._cgroup_limit(tmp_path) == 1.5
    assert threads._cgroup_limit(tmp_path / "nothing") is None


@pytest.mark.parametrize(("cores", "expected"), [(1, 1), (2, 1), (4, 3), (5, 5), (16, 16)])
def test_small_machines_leave_a_core_for_the_window(cores: int, expected: int) -> None:
    assert threads.choose_threads(cores) == expected


def test_a39_what_is_typed_is_clamped() -> None:
    cpus = len(threads.allowed_cpus())
    assert threads.clamp_threads(512) == cpus
    assert threads.clamp_threads(-3) == 1
    assert 1 <= threads.clamp_threads(None) <= cpus


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"GOMP_SPINCOUNT": "1000"}),
        ({"GOMP_SPINCOUNT": "7"}, {"GOMP_SPINCOUNT": "7"}),
        ({"OMP_WAIT_POLICY": "active"}, {"OMP_WAIT_POLICY": "active"}),
    ],
)
def test_waiting_threads_sleep_soon_unless_the_user_says_how(
    given: dict[str, str], expected: dict[str, str]
) -> None:
    environment = worker_environment(given)
    waits = {name: environment[name] for name in environment if name in WAIT_VARIABLES}
    assert waits == expected

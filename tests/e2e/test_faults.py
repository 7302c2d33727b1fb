"""A short, seeded run of `tests.bench.faults`, one round a kind.

All rounds share a window and a data folder, as a day of bad luck would. The RPC device has rounds
of its own in `tests.e2e.test_rpc`, downloads and variants theirs in the tests of those.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.faults.table import KINDS, Attack

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL and SIGSTOP are POSIX"),
    pytest.mark.timeout(400),
]


@pytest.fixture
def attack(tmp_path: Path) -> Iterator[Attack]:
    with Attack(tmp_path, random.Random(5)) as attack:
        yield attack


@pytest.mark.parametrize(
    "wanted",
    [
        (
            "worker suspended", "window suspended", "worker killed", "window killed",
            "killed in a settings write", "model file damaged",
        ),
        (
            "killed in a migration", "disk read-only", "store locked",
            "store of another version", "store corrupt",
        ),
    ],
    ids=["processes", "stores"],
)  # fmt: skip
def test_faults_lose_a_second_at_most_and_the_next_start_works(
    attack: Attack, wanted: tuple[str, ...]
) -> None:
    assert set(wanted) <= set(KINDS)
    outcomes = [attack.round(kind) for kind in wanted if kind not in attack.impossible]
    assert [(item.kind, item.way, item.problem) for item in outcomes if item.problem] == []
    assert [(item.kind, item.lost_s) for item in outcomes if item.is_late] == []

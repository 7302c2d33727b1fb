from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.engine.oom import killed_since, oom_kills


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts what it ends")
def test_the_kernel_says_how_many_it_has_ended(tmp_path: Path) -> None:
    counters = tmp_path / "vmstat"
    counters.write_text("nr_free_pages 5\noom_kill 12\noom_kill_x 3\n")
    assert oom_kills(counters) == 12
    counters.write_text("nr_free_pages 5\n")
    assert oom_kills(counters) is None
    counters.write_text("oom_kill many\n")
    assert oom_kills(counters) is None
    assert oom_kills(tmp_path / "none") is None


def test_what_is_not_counted_stays_unknown() -> None:
    assert killed_since(3, 5) == 2
    assert killed_since(3, 3) == 0
    assert killed_since(5, 3) == 0  # begun anew
    assert killed_since(None, 5) is None
    assert killed_since(3, None) is None

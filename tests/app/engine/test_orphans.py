"""An engine whose window or command was killed ends by itself, whatever it is doing.

How soon is measured by ``tests.bench.orphans``.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from tests.helpers.orphans import killed_parent

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")

_SLOW_IMPORT = """
import sys, time
print("importing", file=sys.stderr, flush=True)
time.sleep(60)
"""


def test_while_it_is_imported(tmp_path: Path) -> None:
    """A busy computer takes ten seconds and more for this; here the engine's library takes 60."""
    slow = tmp_path / "slow" / "llama_cpp"
    slow.mkdir(parents=True)
    (slow / "__init__.py").write_text(_SLOW_IMPORT)
    killed_parent("starting", tmp_path, tmp_path, 2.0, PYTHONPATH=str(slow.parent))


@pytest.mark.parametrize("phase", ["starting", "loading", "reading a prompt"])
def test_at_any_moment(starter: Path, tmp_path: Path, phase: str) -> None:
    killed_parent(phase, starter, tmp_path, random.Random().uniform(0.0, 1.0))


@pytest.mark.parametrize("phase", ["idle", "writing a reply"])
def test_between_tokens(starter: Path, tmp_path: Path, phase: str) -> None:
    killed_parent(phase, starter, tmp_path, 0.0)


@pytest.mark.parametrize("phase", ["stuck in a load", "stuck in a reply"])
def test_where_nothing_asks_whether_to_go_on(starter: Path, tmp_path: Path, phase: str) -> None:
    killed_parent(phase, starter, tmp_path, 0.5)


def test_while_it_makes_a_variant_and_nothing_of_that_is_left(
    starter: Path, tmp_path: Path
) -> None:
    killed_parent("making a variant", starter, tmp_path / "Made-Q6_K.gguf", 0.3)
    assert list(tmp_path.iterdir()) == []

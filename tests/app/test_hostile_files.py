"""Files of ours and files to import, as an enemy or a bad disk would leave them.

More rounds and other seeds: ``python -m tests.bench.hostile``.
"""

from __future__ import annotations

import random
import sys

import pytest

from tests.helpers.hostile_files import FILES, attack_files

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and alarms are POSIX")


@pytest.mark.parametrize("kind", FILES)
def test_no_content_stops_the_program(kind: str) -> None:
    assert attack_files(kind, 12, random.Random(1)) == []

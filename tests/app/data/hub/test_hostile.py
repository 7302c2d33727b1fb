"""A mad hub, and hostile lines to the process that asks it.

More rounds and other seeds: ``python -m tests.bench.hostile``.
"""

from __future__ import annotations

import random

from tests.helpers.hostile_hub import attack_hub_answers, attack_hub_requests


def test_a_mad_hub_is_an_error_of_one_sentence() -> None:
    assert attack_hub_answers(60, random.Random(1)) == []


def test_hostile_lines_leave_the_process_able_to_answer() -> None:
    assert attack_hub_requests(25, random.Random(1)) == []

"""How far two token sequences are the same: one too many and a wrong token stays in the memory."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.cache import common_prefix


def _counted(a: list[int], b: list[int]) -> int:
    """Return the same by looking at one token after another."""
    for index, (one, other) in enumerate(zip(a, b, strict=False)):
        if one != other:
            return index
    return min(len(a), len(b))


@pytest.mark.parametrize("length", range(6))
def test_every_pair_of_short_sequences(length: int) -> None:
    for a in product((1, 2), repeat=length):
        for other in range(6):
            for b in product((1, 2), repeat=other):
                assert common_prefix(a, b) == _counted([*a], [*b])


@given(st.lists(st.integers(0, 3), max_size=300), st.integers(0, 299), st.integers(1, 3))
def test_one_changed_token_is_where_they_part(tokens: list[int], at: int, step: int) -> None:
    changed = [token + step if index == at else token for index, token in enumerate(tokens)]
    assert common_prefix(tokens, changed) == min(at, len(tokens))
    assert common_prefix(changed, tokens[: at + 1]) == min(at, len(tokens))
    # What was changed once may be the same again behind it: only the first place counts.
    assert common_prefix([*tokens, 9], [*changed, 9]) == (
        at if at < len(tokens) else len(tokens) + 1
    )

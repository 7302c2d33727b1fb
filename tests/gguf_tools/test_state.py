"""What a token reads of a recurrent state, worked out from the family's sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gguf_tools.facts import read_facts
from gguf_tools.machine import cpu_only
from gguf_tools.memory import memory_plan
from gguf_tools.rates import token_bytes
from gguf_tools.settings import LoadSettings
from tests.helpers.families import FAMILIES


@pytest.mark.parametrize("chats", [1, 3])
def test_a_state_is_read_and_written_whatever_the_depth(tmp_path: Path, chats: int) -> None:
    family = FAMILIES["short_convolution"]
    facts = read_facts(family.builder().write(tmp_path / "m.gguf"))
    shape = facts.shape
    assert shape is not None
    memory = memory_plan(facts, LoadSettings(context=3072, sequences=chats), cpu_only())
    for depth in (0, 500):
        for together in (1, chats):
            (read,) = token_bytes(
                facts.header,
                shape,
                memory.settings,
                memory.placement,
                memory.caches,
                memory.states,
                devices=1,
                depth=depth,
                sequences=together,
            )
            # Five layers keep three inputs of 288 values in 4 bytes: each is read and written.
            assert read.state == 2 * 5 * 3 * 288 * 4 * together
            # Two layers have a cache of 3 heads of 32 values, K and V in 2 bytes.
            assert read.kv == 2 * (2 * 3 * 32 * 2) * (depth // 256 + 1) * 256 * together

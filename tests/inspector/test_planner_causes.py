"""What ends a context: whatever takes more of each further token."""

from __future__ import annotations

import msgspec
import pytest

from gguf_tools.machine import cpu_only
from gguf_tools.typed import TypedModel, typed_facts
from inspector.planner_setup import PlannerSettings
from inspector.planning import finish, plan_row

GIB = 1 << 30


@pytest.mark.parametrize(
    ("layers", "conversations", "flash", "cause"),
    [
        # A layer keeps 2 · 64 values of 2 bytes a token; a mask takes 2 bytes for each of 512
        # tokens, 4 without flash attention, and then scores 4 for each of those and 4 heads.
        (6, 1, "on", "cache"),  # 1,536 against 1,024
        (3, 1, "on", "compute"),  # 768 against 1,024
        (6, 1, "off", "compute"),  # against 10,240
        (2, 8, "on", "cache"),  # eight of them are kept: 4,096
        (2, 1, "on", "compute"),
    ],
)
def test_cache_or_compute(layers: int, conversations: int, flash: str, cause: str) -> None:
    model = TypedModel(
        parameters=layers * 20_000_000 + 30_000_000,
        layers=layers,
        kv_heads=1,
        head_length=64,
        heads=4,
        vocabulary=1024,
        context_length=100_000_000,
    )
    wanted = msgspec.structs.replace(
        PlannerSettings(),
        context=4096,
        conversations=conversations,
        flash_attention=flash,
        batch=512,
    )
    row = finish(plan_row(typed_facts(model), wanted, cpu_only(4 * GIB, 4 * GIB)))
    assert row.context_breaks is not None
    assert row.context_breaks < 100_000_000
    assert row.cause == cause

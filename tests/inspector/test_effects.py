"""What changed settings would do, by a plan made with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gguf_tools.plan import Plan
from inspector.effects import effect_of, planned_again
from inspector.fixes import smaller_cache, smaller_context, without
from inspector.plan_record import Changes
from inspector.session import Session
from tests.inspector.conftest import GIB, card, cpu, loaded, machine, turn

PlanOf = Callable[..., Plan]
WIDE = {"head_length": 64, "embedding": 512, "heads": 8, "kv_heads": 8, "context": 1 << 16}
_FULL = 2 * 8 * 64 * 2 * 2  # bytes a token: two layers, eight heads of 64, K and V in two bytes


def test_memory_that_is_freed_or_taken(plan_of: PlanOf) -> None:
    plan = plan_of(model=WIDE, n_ctx=8192)
    half = effect_of(plan, {"n_ctx": 4096})
    assert half.startswith("frees ")
    after = planned_again(plan, {"n_ctx": 4096})
    assert after is not None
    assert plan.memory.kv_bytes - after.memory.kv_bytes == 4096 * _FULL
    assert effect_of(plan, {"n_ctx": 16_384}).startswith("takes ")
    assert effect_of(plan, {"n_ctx": 8192}) == ""


def test_what_fits_then(plan_of: PlanOf) -> None:
    needed = sum(item.total_bytes for item in plan_of(model=WIDE, n_ctx=8192).memory.devices)
    tight = machine(host=cpu(total_bytes=needed, free_bytes=needed))
    fits = plan_of(tight, model=WIDE, n_ctx=8192)
    assert fits.fits
    assert "it does not fit then" in effect_of(fits, {"n_ctx": 32_768})
    over = plan_of(tight, model=WIDE, n_ctx=32_768)
    assert over.fits is False
    assert "then it fits" in effect_of(over, {"n_ctx": 4096})
    assert "it" not in effect_of(over, {"n_ctx": 16_384}).replace("it does not fit then", "")


def test_rates_at_the_depth_of_the_chat(plan_of: PlanOf) -> None:
    plan = plan_of(model=WIDE, n_ctx=8192)
    changes: Changes = {"type_k": "f32", "type_v": "f32"}
    said = []
    for depth in (2000, 8000):
        after = planned_again(plan, changes, depth=depth)
        assert after is not None
        decode = after.decode
        assert decode.depth == depth
        said.append(f"{decode.expected_low:.0f} to {decode.expected_high:.0f} tok/s")
        assert effect_of(plan, changes, depth).endswith(said[-1])
    assert said[0] != said[1]
    # As much as before is not said.
    assert "tok/s" not in effect_of(plan, {"n_ctx": 4096})


def test_what_can_not_be_planned(plan_of: PlanOf) -> None:
    plan = plan_of(model=WIDE, n_ctx=2048)
    assert planned_again(plan, {}) is None
    assert planned_again(plan, {"type_k": "q9_9"}) is None
    assert effect_of(plan, {"type_k": "q9_9"}) == ""
    refused = effect_of(plan_of(n_ctx=2048), {"type_k": "q8_0", "type_v": "q8_0"})
    assert refused.startswith("The engine would refuse: A q8_0 cache needs heads of a multiple")
    odd = planned_again(plan, {"compatibility": True})
    assert odd is not None
    assert odd.load.extra_buffers is False


def test_other_devices(plan_of: PlanOf) -> None:
    both = machine(card(), card(name="CUDA1", description="Tesla P40"))
    plan = plan_of(both, model=WIDE, n_ctx=2048)
    left = planned_again(plan, {"devices": "CUDA1"})
    assert left is not None
    assert [item.name for item in left.machine.devices] == ["CPU", "CUDA1"]
    alone = planned_again(plan, {"devices": None}, machine())
    assert alone is not None
    assert [item.name for item in alone.machine.devices] == ["CPU"]


# --- changes that findings offer


@pytest.fixture
def session(plan_of: PlanOf) -> Session:
    made = Session()
    made.planned(plan_of(model=WIDE, n_ctx=8192))
    loaded(made)
    return made


def test_a_smaller_cache_where_there_can_be_one(session: Session, plan_of: PlanOf) -> None:
    (fix,) = smaller_cache(session)
    assert fix.changes == {"type_k": "q8_0", "type_v": "q8_0"}
    assert fix.effect.startswith("frees ")
    session.planner = None
    (unplanned,) = smaller_cache(session)
    assert unplanned.effect == ""
    quantised = Session()
    quantised.planned(plan_of(model=WIDE, type_k="q8_0", type_v="q8_0"))
    loaded(quantised)
    assert list(smaller_cache(quantised)) == []
    odd = Session()
    odd.planned(plan_of(n_ctx=2048))  # heads of 16 values: the engine would refuse
    loaded(odd)
    assert list(smaller_cache(odd)) == []
    assert list(smaller_cache(Session())) == []


def test_half_the_context_where_the_chat_fits(session: Session) -> None:
    (fix,) = smaller_context(session)
    assert fix.changes == {"n_ctx": 4096}
    session.conversation([turn(n_ctx=8192, prompt_tokens=4000, reply_tokens=200)])
    assert list(smaller_context(session)) == []
    assert list(smaller_context(Session())) == []


def test_without_a_device(plan_of: PlanOf) -> None:
    far = card(name="RPC0", kind="rpc", description="10.0.0.5:50052", backend="RPC")
    made = Session()
    made.planned(plan_of(machine(card(), far), model=WIDE))
    assert made.plan is not None
    first, second = made.plan.devices[1:]
    assert without(made, made.plan, first).changes == {"devices": "10.0.0.5:50052"}
    assert without(made, made.plan, second).changes == {"devices": "CUDA0"}
    made.planned(replace(plan_of(machine(card()), model=WIDE)))
    assert without(made, made.plan, first).changes == {"devices": "none"}
    assert card().total_bytes == 24 * GIB

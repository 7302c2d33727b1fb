"""Why a model does not fit, by the numbers, and the smallest change with which it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gguf_tools.plan import Plan, make_plan
from gguf_tools.settings import LoadSettings
from gguf_tools.typed import typed_facts
from gguf_tools.units import format_bytes
from inspector.planner_examples import model_named
from inspector.room import RoomFix, lacking, room_fixes
from tests.inspector.conftest import GIB, card, cpu, machine

PlanOf = Callable[..., Plan]


def planned(name: str, host_gib: float, card_gib: float | None = None, **load: Any) -> Plan:
    """Return a plan of a typed model on a computer that has so much free, and nothing else used."""
    host = cpu(total_bytes=int(host_gib * GIB), free_bytes=int(host_gib * GIB))
    cards = []
    if card_gib is not None:
        size = int(card_gib * GIB)
        cards = [card(total_bytes=size, free_bytes=size, overhead_bytes=0)]
    settings = LoadSettings(**({"batch": 512, "ubatch": 512} | load))
    return make_plan(typed_facts(model_named(name)), settings, machine(*cards, host=host))


def test_what_fits_lacks_nothing() -> None:
    assert lacking(planned("8B, plain Q4", 16, context=8192)) == ()


def test_a_cache_too_long_is_shortened_or_kept_in_another_type() -> None:
    plan = planned("8B, plain Q4", 16, context=131_072)  # 16 GiB of cache alone
    (finding,) = lacking(plan)
    assert finding.id == "does_not_fit"
    assert finding.severity == "error"
    assert finding.text.startswith("main memory lacks ")
    assert "cache 16.0 GiB" in finding.cause
    assert "must fit into what is free, and 16.0 GiB are (16.0 GiB less 0 B of others)" in (
        finding.cause
    )
    fixes = {tuple(sorted(fix.changes)): fix for fix in finding.fixes}
    shorter, smaller = fixes["n_ctx",], fixes["type_k", "type_v"]
    assert smaller.changes == {"type_k": "q8_0", "type_v": "q8_0"}
    longest = shorter.changes["n_ctx"]
    assert isinstance(longest, int)
    assert longest % 256 == 0
    assert finding.cause.endswith(f"Smallest change that passes: context to {longest:,}.")
    # What is offered fits, and the next step doesn't.
    for tokens, fits in ((longest, True), (longest + 512, False)):
        after = make_plan(plan.facts, replace(plan.load, context=tokens), plan.machine)
        assert after.fits is fits


def test_both_together_where_neither_is_enough() -> None:
    plan = planned("8B, plain Q4", 6, context=131_072)
    texts = [fix.text for fix in room_fixes(plan)]
    assert any(text.startswith("KV cache to q8_0 and context to ") for text in texts)
    assert any(text.startswith("KV cache to q4_0 and context to ") for text in texts)


def test_weights_larger_than_the_memory() -> None:
    (finding,) = lacking(planned("Llama 3.1 70B", 16, context=512))
    assert finding.fixes == ()
    assert finding.cause.endswith("The weights alone are larger: a smaller quantisation is needed.")


def test_nothing_that_can_be_set_helps() -> None:
    whole = planned("8B, plain Q4", 64, context=512)
    weights = sum(item.weights_bytes for item in whole.memory.devices)
    (finding,) = lacking(planned("8B, plain Q4", (weights + (1 << 20)) / GIB, context=512))
    assert finding.fixes == ()
    assert finding.cause.endswith("free some memory or take a smaller quantisation.")


def test_layers_go_back_to_main_memory() -> None:
    plan = planned("Llama 3.1 70B", 64, 24, context=4096)
    fixes = room_fixes(plan)
    (layers,) = [fix for fix in fixes if fix.text.endswith("layers on the accelerator")]
    count = layers.changes["gpu_layers"]
    assert isinstance(count, int)
    for tried, fits in ((count, True), (count + 1, False)):
        after = make_plan(plan.facts, replace(plan.load, gpu_layers=tried), plan.machine)
        assert after.fits is fits


def test_no_layer_stays_on_a_card_that_is_all_but_full() -> None:
    plan = planned("8B, plain Q4", 64, 0.3, context=4096)
    fixes = [fix for fix in room_fixes(plan) if "gpu_layers" in fix.changes]
    assert [(fix.text, fix.changes) for fix in fixes] == [
        ("0 layers on the accelerator", {"gpu_layers": 0})
    ]


def test_experts_go_to_main_memory() -> None:
    plan = planned("Qwen3 30B-A3B", 64, 16, context=4096)
    texts = [fix.text for fix in room_fixes(plan)]
    assert "experts in main memory" in texts
    assert isinstance(room_fixes(plan)[0], RoomFix)


def test_two_memories_that_are_too_small() -> None:
    plan = planned("Llama 3.1 70B", 2, 24, context=32_768, gpu_layers=60)
    first, second = lacking(plan)
    assert first.id == "does_not_fit"
    assert second.id.startswith("does_not_fit/")
    assert second.fixes == ()


def test_a_refused_type_is_not_offered(plan_of: PlanOf) -> None:
    # Heads of 16 values: no block of 32 fits, so quantised caches are refused.
    host = cpu(total_bytes=4 << 20, free_bytes=4 << 20)
    plan = plan_of(machine(host=host), n_ctx=16_384)
    assert plan.fits is False
    assert not any("KV cache" in fix.text for fix in room_fixes(plan))


@pytest.mark.parametrize("known", [True, False])
def test_a_memory_of_unknown_size_is_judged_by_what_is_free(known: bool) -> None:
    plan = planned("8B, plain Q4", 4, context=8192)
    host = replace(plan.machine.cpu, total_bytes=4 * GIB if known else None)
    again = make_plan(plan.facts, plan.load, machine(host=host))
    (finding,) = lacking(again)
    assert ("of others" in finding.cause) is known


def test_a_context_that_can_be_shortened_no_further() -> None:
    least = planned("8B, plain Q4", 64, context=256)
    needed = sum(item.total_bytes for item in least.memory.devices)
    # Room for 256 tokens, fewer than are ever offered.
    near = planned("8B, plain Q4", needed / GIB, context=4096)
    assert near.fits is False
    assert near.max_context is not None
    assert near.max_context < 512
    assert not any(fix.text.startswith("context to") for fix in room_fixes(near))


@pytest.mark.parametrize("short_bytes", [0, 2 << 20])
def test_the_longest_context_fits_where_buffers_shrink_no_further(short_bytes: int) -> None:
    # Without flash attention scores end below what the feed-forward needs: memory stops falling.
    least = planned("Qwen2.5 7B", 64, context=512, flash_attention="off")
    needed = sum(item.total_bytes for item in least.memory.devices) - short_bytes
    plan = planned("Qwen2.5 7B", needed / GIB, context=8192, flash_attention="off")
    assert plan.max_context is not None
    assert plan.max_context == (256 if short_bytes else 512)
    longest = make_plan(plan.facts, replace(plan.load, context=plan.max_context), plan.machine)
    assert longest.fits is True
    over = make_plan(plan.facts, replace(plan.load, context=plan.max_context + 256), plan.machine)
    assert over.fits is False
    offered = [fix.changes for fix in room_fixes(plan) if fix.text.startswith("context to")]
    assert offered == ([] if short_bytes else [{"n_ctx": 512}])


def test_a_cache_that_is_small_already_is_not_offered_smaller() -> None:
    small = planned("8B, plain Q4", 6, context=131_072, type_k="q4_0", type_v="q4_0")
    texts = [fix.text for fix in room_fixes(small)]
    assert texts
    assert not any(text.startswith("KV cache") for text in texts)


def test_the_parts_of_the_rule_add_up() -> None:
    plan = planned("8B, plain Q4", 16, context=131_072)
    (finding,) = lacking(plan)
    (host,) = plan.memory.devices
    rest = format_bytes(host.compute_bytes + host.other_bytes)
    assert f"+ compute and the rest {rest} = {format_bytes(host.total_bytes)} must" in finding.cause

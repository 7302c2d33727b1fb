"""A draft model in the plan: what it takes, what that leaves, and when it is not used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gguf_tools.draft import draft_problem
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.machine import Device, Machine, cpu_only
from gguf_tools.memory import memory_plan
from gguf_tools.plan import make_plan
from gguf_tools.settings import LoadSettings
from inspector.planned import load_settings, plan_record
from tests.helpers.families import FAMILIES
from tests.helpers.shape_gguf import ShapeModel

GIB = 1 << 30


def written(folder: Path, name: str, tokens: list[str], *, layers: int = 2) -> ModelFacts:
    builder = ShapeModel(vocabulary=len(tokens), layers=layers).builder()
    builder.key("tokenizer.ggml.tokens", "[str]", tokens)
    return read_facts(builder.write(folder / f"{name}.gguf"))


@pytest.fixture
def words() -> list[str]:
    return [f"word {index}" for index in range(2048)]


@pytest.fixture
def model(tmp_path: Path, words: list[str]) -> ModelFacts:
    return written(tmp_path, "large", words, layers=16)


@pytest.fixture
def draft(tmp_path: Path, words: list[str]) -> ModelFacts:
    return written(tmp_path, "small", words)


def machine(total_gib: float, card_gib: float | None = None) -> Machine:
    size = round(total_gib * GIB)
    cpu = cpu_only(size, size, 50e9, 1e12).cpu
    if card_gib is None:
        return Machine(name="m", cpu=cpu)
    card = round(card_gib * GIB)
    gpu = Device(
        name="GPU0", kind="gpu", total_bytes=card, free_bytes=card, overhead_bytes=450 << 20
    )
    return Machine(name="m", cpu=cpu, accelerators=(gpu,))


@pytest.mark.parametrize("where", [machine(16), machine(16, 12)])
def test_it_takes_what_it_takes_alone(model: ModelFacts, draft: ModelFacts, where: Machine) -> None:
    load = LoadSettings(context=8192)
    alone = memory_plan(draft, load, where)
    without = memory_plan(model, load, where)
    both = memory_plan(model, replace(load, draft=draft), where)
    for with_it, bare, own in zip(both.devices, without.devices, alone.devices, strict=True):
        expected = own.total_bytes - (own.device.overhead_bytes if own.weights_bytes else 0)
        assert with_it.draft_bytes == expected
        assert with_it.total_bytes == bare.total_bytes + expected
    assert both.draft is not None
    assert both.draft.cache_bytes == alone.kv_bytes
    assert both.draft.total_bytes == sum(item.draft_bytes for item in both.devices)


def test_several_chats_share_one_draft_with_a_context_as_long_as_all(
    model: ModelFacts, draft: ModelFacts
) -> None:
    load = LoadSettings(context=8192, sequences=4, unified=True, draft=draft)
    both = memory_plan(model, load, machine(16))
    assert both.draft is not None
    assert (
        both.draft.cache_bytes
        == memory_plan(draft, LoadSettings(context=8192), machine(16)).kv_bytes
    )


def test_the_longest_context_leaves_room_for_it(model: ModelFacts, draft: ModelFacts) -> None:
    where = machine(6)
    load = LoadSettings(context=8192, draft=draft)
    longest = make_plan(model, load, where).max_context
    assert longest is not None
    assert 8192 < longest < (make_plan(model, LoadSettings(context=8192), where).max_context or 0)
    assert make_plan(model, replace(load, context=longest), where).fits
    assert not make_plan(model, replace(load, context=longest + 1024), where).fits


def test_what_it_takes_is_said_and_what_it_takes_away(model: ModelFacts, draft: ModelFacts) -> None:
    load = LoadSettings(context=8192)
    alone = sum(item.total_bytes for item in memory_plan(model, load, machine(16)).devices)
    plan = make_plan(model, replace(load, draft=draft), machine(16))
    (said,) = [item for item in plan.findings if item.id == "draft"]
    assert said.severity == "note"
    assert "small takes" in said.text
    tight = machine((alone + (8 << 20)) / GIB)
    assert make_plan(model, load, tight).fits
    short = make_plan(model, replace(load, draft=draft), tight)
    assert short.fits is False
    (said,) = [item for item in short.findings if item.id == "draft"]
    assert said.text.endswith("Without it this fits.")
    record = plan_record(short)
    lacks = next(item for item in record.findings if item.id == "does_not_fit")
    assert "draft model" in lacks.cause
    offered = next(fix for fix in lacks.fixes if fix.changes == {"draft": None})
    assert "then it fits" in offered.effect
    assert record.draft.startswith("small: weights ")
    assert record.devices[0].draft_bytes == short.memory.devices[0].draft_bytes


def test_another_vocabulary_is_refused(model: ModelFacts, tmp_path: Path, words: list[str]) -> None:
    other = written(tmp_path, "other", [*words[:1024], *reversed(words[1024:])], layers=2)
    longer = written(tmp_path, "longer", [*words, *map(str, range(200))], layers=2)
    padded = written(tmp_path, "padded", [*words, *map(str, range(64))], layers=2)
    assert "another vocabulary" in draft_problem(model, other)
    assert "another vocabulary" in draft_problem(model, longer)
    assert draft_problem(model, padded) == ""
    plan = make_plan(model, LoadSettings(draft=other), machine(16))
    (said,) = [item for item in plan.findings if item.id == "draft_refused"]
    assert said.severity == "warning"
    assert "goes on without" in said.text
    assert all(item.draft_bytes == 0 for item in plan.memory.devices)


def test_a_memory_that_can_not_be_cut_is_refused(tmp_path: Path) -> None:
    for name, needs_full in (("sliding", True), ("mamba2", False)):
        facts = read_facts(FAMILIES[name].builder().write(tmp_path / f"{name}.gguf"))
        assert "can't be cut back" in draft_problem(facts, facts)
        assert ("can't be cut back" in draft_problem(facts, facts, swa_full=True)) != needs_full


def test_settings_name_it_and_its_guesses_are_checked_at_once(
    model: ModelFacts, draft: ModelFacts
) -> None:
    load = load_settings({"draft": "small.gguf", "draft_tokens": 8}, model, draft)
    assert load.draft is draft
    assert load.outputs == 9
    assert load_settings({"draft": None}, model, draft).draft is None


def test_what_can_not_be_loaded_drafts_for_nobody(tmp_path: Path, words: list[str]) -> None:
    model = written(tmp_path, "model", words)
    nothing = replace(model, shape=None)
    for pair in ((model, nothing), (nothing, model)):
        assert draft_problem(*pair).endswith("is no model that can be loaded for this.")

"""Settings that the engine refuses or ends on: why, what mends it, what is planned instead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.machine import cpu_only
from gguf_tools.plan import make_plan
from gguf_tools.quants import cache_type
from gguf_tools.rates import _shared_readers
from gguf_tools.settings import LoadSettings, refusal
from tests.helpers.families import FAMILIES


@pytest.fixture
def facts_of(tmp_path: Path) -> Any:
    def reading(family: str, **keys: Any) -> ModelFacts:
        known = FAMILIES[family]
        added = {name.replace("__", "."): value for name, value in keys.items()}
        built = replace(known, keys={**known.keys, **added}).builder()
        return read_facts(built.write(tmp_path / f"{family}.gguf"))

    return reading


@pytest.mark.parametrize(
    ("family", "load", "fix", "value", "words"),
    [
        ("dense", LoadSettings(sequences=257), "fewer_sequences", 256, "At most 256 "),
        (
            "latent",
            LoadSettings(type_k="q8_0"),
            "kv_same",
            "same",
            "the same cache type for K and V",
        ),
        (
            "dense",
            LoadSettings(type_v="q8_0", flash_attention="off"),
            "flash_on",
            "on",
            "needs flash attention",
        ),
        (
            "encoder_decoder",
            LoadSettings(sequences=2),
            "one_sequence",
            1,
            "with several ",
        ),
        ("gemma4_experts", LoadSettings(), None, None, ""),
    ],
)
def test_why_and_what_mends_it(
    family: str,
    load: LoadSettings,
    fix: str | None,
    value: object,
    words: str,
    facts_of: Any,
) -> None:
    facts = facts_of(family)
    assert facts.shape is not None
    refused = refusal(facts.shape, load)
    if refused is None:
        assert fix is None
        return
    assert refused.fix == fix
    assert words in refused.text
    plan = make_plan(facts, load, cpu_only())
    assert plan.refusal == refused
    (finding,) = [item for item in plan.findings if item.id == "refused"]
    assert (finding.severity, finding.text) == ("error", refused.text)
    assert finding.fixes[0].value == value
    mended = plan.memory.settings
    # What is planned instead is taken.
    again = replace(
        load,
        sequences=mended.sequences,
        type_k=mended.kv.type_k.name.lower(),
        type_v=mended.kv.type_v.name.lower(),
        flash_attention="on" if mended.flash_attention else "off",
    )
    assert refusal(facts.shape, again) is None


def test_heads_that_blocks_do_not_divide(facts_of: Any) -> None:
    odd = {"attention__key_length": ("u32", 40), "attention__value_length": ("u32", 48)}
    facts = facts_of("dense", **odd)
    assert facts.shape is not None
    for load, words in (
        (LoadSettings(type_k="q8_0"), "this model's K heads have 40"),
        (LoadSettings(type_v="q4_0"), "this model's V heads have 48"),
        # Three key heads of 40 values: rows of 120.
        (LoadSettings(type_k="q8_0", flash_attention="off"), "have 120"),
    ):
        refused = refusal(facts.shape, load)
        assert refused is not None, words
        assert refused.fix == "kv_f16"
        assert words in refused.text
        kv = make_plan(facts, load, cpu_only()).memory.settings.kv
        assert (kv.type_k.name, kv.type_v.name) == ("F16", "F16")


@pytest.mark.parametrize(
    ("architecture", "load", "fix"),
    [
        ("grok", LoadSettings(type_v="q8_0"), "v_f16"),
        ("plm", LoadSettings(), "flash_off"),
        ("afmoe", LoadSettings(), "none"),
    ],
)
def test_architectures_with_limits_of_their_own(
    architecture: str, load: LoadSettings, fix: str, facts_of: Any
) -> None:
    facts = facts_of("dense")
    shape = replace(facts.shape, architecture=architecture)
    refused = refusal(shape, load)
    assert refused is not None
    assert refused.fix == fix
    settings = make_plan(replace(facts, shape=shape), load, cpu_only()).memory.settings
    assert settings.kv.type_v.name == "F16"
    assert settings.flash_attention is (architecture == "afmoe")


def test_a_context_that_nobody_says(facts_of: Any) -> None:
    facts = facts_of("dense", context_length=("u32", 0))
    refused = refusal(facts.shape, LoadSettings(context=0))
    assert refused is not None
    assert refused.fix == "context"
    assert refusal(facts.shape, LoadSettings(context=512)) is None


def test_no_such_cache_type() -> None:
    with pytest.raises(ValueError, match="q9_9"):
        cache_type("q9_9")


def test_shared_caches_of_another_kind(facts_of: Any) -> None:
    facts = facts_of("own_and_shared_kv", attention__shared_kv_layers=("u32", 3))
    refused = refusal(facts.shape, LoadSettings())
    assert refused is None or refused.fix == "none"
    one = replace(facts.shape, kv_from_start=1)
    refused = refusal(one, LoadSettings())
    assert refused is not None
    assert "can't share this model's caches" in refused.text
    # What can't be loaded is planned with each cache read by its own layer alone.
    assert [_shared_readers(one, layer) for layer in range(one.layers)] == [0] * one.layers
    assert refusal(facts_of("own_and_shared_kv").shape, LoadSettings()) is None

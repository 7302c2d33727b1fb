"""Fits, tight, too large: held against the plan that they are a digest of."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.data.library.fit import LEAST_CONTEXT, VariantFit, fit_of_plan, unknown_fit
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.machine import Device, Machine, cpu_only
from gguf_tools.plan import make_plan
from gguf_tools.settings import LoadSettings
from tests.helpers.shape_gguf import ShapeModel

GIB = 1 << 30
LOAD = LoadSettings(context=8192)


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> ModelFacts:
    """An 8B model in Q4_K: 4.2 GiB of weights, a cache of 128 KiB a token."""
    return read_facts(ShapeModel().builder().write(tmp_path_factory.mktemp("m") / "8b.gguf"))


def machine(total_gib: float, free_gib: float | None = None) -> Machine:
    free = total_gib if free_gib is None else free_gib
    return cpu_only(round(total_gib * GIB), round(free * GIB), 50e9, 1e12)


def fit_of(
    facts: ModelFacts,
    load: LoadSettings,
    where: Machine,
    *,
    freed_bytes: dict[str, int] | None = None,
) -> VariantFit:
    return fit_of_plan(make_plan(facts, load, where, freed_bytes=freed_bytes))


def test_a_model_with_room_to_spare(facts: ModelFacts) -> None:
    fit = fit_of(facts, LOAD, machine(24, 20))
    plan = make_plan(facts, LOAD, machine(24, 20))
    (pool,) = plan.pools
    assert fit.verdict == "fits"
    assert (fit.context_tokens, fit.max_context_tokens) == (8192, plan.safe_context)
    assert (fit.needed_bytes, fit.left_bytes) == (pool.used_bytes, pool.left_bytes)
    assert fit.decode_high_per_s == plan.decode.expected_high
    assert fit.prefill_per_s == plan.prefill.expected
    assert fit.share is not None
    share = fit.share
    assert share.others_bytes == 4 * GIB
    assert share.weights_bytes + share.cache_bytes + share.compute_bytes == pool.used_bytes
    assert share.total_bytes == 24 * GIB


def test_above_the_load_line_it_is_tight(facts: ModelFacts) -> None:
    needed = fit_of(facts, LOAD, machine(24)).needed_bytes
    assert needed is not None
    where = machine(needed / GIB / 0.95)
    tight = fit_of(facts, LOAD, where)
    assert tight.verdict == "tight"
    assert tight.left_bytes is not None
    assert tight.left_bytes > 0
    # What is said to fit keeps below the line; memory itself holds more.
    assert tight.max_context_tokens is not None
    assert LEAST_CONTEXT <= tight.max_context_tokens < 8192 <= (tight.held_tokens or 0)
    for context, verdict in ((tight.max_context_tokens, "fits"), (8192, "tight")):
        assert fit_of(facts, LoadSettings(context=context), where).verdict == verdict


def test_with_a_shorter_context_it_is_tight_too(facts: ModelFacts) -> None:
    fit = fit_of(facts, LOAD, machine(24, 5.2))
    assert fit.verdict == "tight"
    assert fit.left_bytes is not None
    assert fit.left_bytes < 0
    assert fit.max_context_tokens is not None
    assert LEAST_CONTEXT <= fit.max_context_tokens < 8192
    assert fit.held_tokens == fit.max_context_tokens  # nothing is below the load line
    # The context that is said to fit does fit, and the next step does not.
    for context, fits in ((fit.max_context_tokens, True), (fit.max_context_tokens + 512, False)):
        assert make_plan(facts, LoadSettings(context=context), machine(24, 5.2)).fits is fits


def test_weights_that_do_not_fit(facts: ModelFacts) -> None:
    fit = fit_of(facts, LOAD, machine(4, 3))
    assert fit.verdict == "too_large"
    assert fit.max_context_tokens == 0
    assert fit.left_bytes is not None
    assert fit.left_bytes < -GIB
    assert fit.note  # the planner's finding says what to do


def test_the_fullest_memory_counts(facts: ModelFacts) -> None:
    card = Device(name="GPU0", kind="gpu", total_bytes=6 * GIB, free_bytes=6 * GIB, backend="CUDA")
    host = machine(64)
    fit = fit_of(facts, LOAD, Machine(name="two", cpu=host.cpu, accelerators=(card,)))
    assert fit.device == "GPU0"
    assert fit.share is not None
    assert fit.share.total_bytes == 6 * GIB


def test_memory_that_the_loaded_model_gives_back(facts: ModelFacts) -> None:
    full = machine(24, 3)
    assert fit_of(facts, LOAD, full).verdict == "too_large"
    assert fit_of(facts, LOAD, full, freed_bytes={"CPU": 10 * GIB}).verdict == "fits"


def test_unknown_memory(facts: ModelFacts) -> None:
    fit = fit_of(facts, LOAD, cpu_only())
    assert fit.verdict == "unknown"
    assert fit.decode_high_per_s is None
    assert unknown_fit("Why.").note == "Why."


def test_a_context_longer_than_the_models_is_cut(tmp_path: Path) -> None:
    small = read_facts(ShapeModel(context=2048).builder().write(tmp_path / "s.gguf"))
    fit = fit_of(small, LoadSettings(context=2048), machine(24))
    assert fit.max_context_tokens == 2048

"""What a plan has to say: exact sentences, costs and fixes, and where each begins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.findings import Finding, Fix
from gguf_tools.machine import Device, Machine, cpu_only
from gguf_tools.plan import make_plan
from gguf_tools.settings import LoadSettings
from gguf_tools.units import format_bytes, format_rate
from tests.helpers.families import FAMILIES
from tests.helpers.shape_gguf import ShapeModel

GIB = 1 << 30
GPU = Device(
    name="GPU0",
    kind="gpu",
    backend="CUDA",
    total_bytes=24 * GIB,
    free_bytes=23 * GIB,
    bandwidth_bytes_per_s=1e12,
    flops_per_s=1e14,
)
HOST = cpu_only(64 * GIB, 60 * GIB, 5e10, 1e12).cpu
ALL_LAYERS = (Fix("Offload all layers", "gpu_layers", -1),)


@pytest.fixture
def eight(tmp_path: Path) -> ModelFacts:
    return read_facts(ShapeModel().builder().write(tmp_path / "8b.gguf"))


def _findings(facts: ModelFacts, gpu: Device | None = GPU, **load: Any) -> tuple[Finding, ...]:
    machine = Machine(name="m", cpu=HOST, accelerators=() if gpu is None else (gpu,))
    return make_plan(facts, LoadSettings(**load), machine).findings


def _sized(gib: float) -> Device:
    return replace(GPU, total_bytes=int(gib * GIB), free_bytes=int(gib * GIB))


def test_a_plan_that_fits_says_nothing(eight: ModelFacts) -> None:
    assert _findings(eight, context=8192) == ()
    assert _findings(eight, None, context=8192) == ()  # nothing to offload to


@pytest.mark.parametrize(
    ("layers", "text"),
    [
        (0, "All 33 layers stay on the CPU although there is GPU0."),
        (10, "23 of 33 layers stay on the CPU."),
        (32, "1 of 33 layers stay on the CPU."),
    ],
)
def test_layers_on_the_processor_are_counted(eight: ModelFacts, layers: int, text: str) -> None:
    machine = Machine(name="m", cpu=HOST, accelerators=(GPU,))
    plan = make_plan(eight, LoadSettings(context=8192, gpu_layers=layers), machine)
    whole = make_plan(eight, LoadSettings(context=8192), machine)
    (found,) = plan.findings
    assert plan.decode.expected_high is not None
    # Three quarters of the card's bandwidth over all that a token reads
    alone = 0.75 * 1e12 / whole.decode.bytes_per_token
    cost = f"{format_rate(plan.decode.expected_high)} instead of about {format_rate(alone)}"
    assert found == Finding("offload", "warning", text, cost, ALL_LAYERS)


def test_what_a_card_gives_is_not_said_where_its_bandwidth_is_unknown(eight: ModelFacts) -> None:
    unknown = replace(GPU, bandwidth_bytes_per_s=None)
    (found,) = _findings(eight, unknown, context=8192, gpu_layers=0)
    assert found.cost == ""


def test_scores_without_flash_attention(eight: ModelFacts) -> None:
    (found,) = _findings(eight, context=8192, flash_attention="off")
    # 4 bytes for each of 512 tokens, 8,192 cells and 32 heads
    assert found == Finding(
        "flash_off",
        "note",
        "Without flash attention the scores of a whole micro-batch are kept.",
        "512 MiB",
        (Fix("Turn flash attention on", "flash_attention", "on"),),
    )


def test_beyond_the_trained_length_from_the_next_step_on(eight: ModelFacts) -> None:
    assert _findings(eight, context=131_072) == ()
    (found,) = _findings(eight, context=131_073)
    assert found == Finding(
        "beyond_trained",
        "warning",
        "131,328 tokens are asked for and the model was trained for 131,072: further positions "
        "are new to it, so replies get worse there.",
        fixes=(Fix("Use 131,072", "context", 131_072),),
    )
    # The engine rounds up to 256: a length that is no multiple is not beyond itself.
    odd = replace(eight, context_length=8000)
    assert _findings(odd, context=8000) == ()


def test_what_is_lacking_and_what_would_help(eight: ModelFacts) -> None:
    machine = Machine(name="m", cpu=HOST, accelerators=(_sized(5),))
    plan = make_plan(eight, LoadSettings(context=8192), machine)
    card = plan.memory.devices[1]
    lacks = format_bytes(card.total_bytes - 5 * GIB)
    longest = plan.fitting_context
    assert longest is not None
    assert longest == plan.safe_context
    assert longest < (plan.max_context or 0) < 8192
    # 1 GiB of cache: 8.5 of 16 bits stay, so that 15 of 32 parts are saved.
    fixes = (
        Fix(f"Use a context of {longest:,}", "context", longest),
        Fix("Keep the cache in q8_0, which saves 480 MiB", "cache_type", "q8_0"),
        Fix("Offload fewer layers", "gpu_layers", 32),
    )
    assert plan.findings == (
        Finding("does_not_fit", "error", f"GPU0 lacks {lacks} for this.", lacks, fixes),
    )
    assert make_plan(eight, LoadSettings(context=longest), machine).findings == ()
    small = make_plan(eight, LoadSettings(context=8192, type_k="q8_0", type_v="q8_0"), machine)
    assert small.findings[0].id == "over_load_line"
    assert "cache_type" not in {fix.setting for fix in small.findings[0].fixes}


def test_above_the_load_line(eight: ModelFacts) -> None:
    (found,) = _findings(eight, _sized(5.5), context=8192)
    assert found.severity == "warning"
    assert found.text == (
        "GPU0 would be filled above 90%: other programs may push parts of the model out."
    )
    assert [fix.setting for fix in found.fixes] == ["context", "cache_type", "gpu_layers"]
    # The context that is offered keeps below the line, and the next step would not.
    shorter = found.fixes[0].value
    assert isinstance(shorter, int)
    assert _findings(eight, _sized(5.5), context=shorter) == ()
    (again,) = _findings(eight, _sized(5.5), context=shorter + 256)
    assert again.id == "over_load_line"
    assert _findings(eight, _sized(6), context=8192) == ()
    # With one layer there, fewer would be none.
    tight = _findings(eight, _sized(0.3), context=8192, gpu_layers=1)
    over = [item for item in tight if item.id in {"over_load_line", "does_not_fit"}]
    assert over
    assert "gpu_layers" not in {fix.setting for item in over for fix in item.fixes}


def test_memory_of_unknown_size(eight: ModelFacts) -> None:
    unknown = replace(GPU, total_bytes=None, free_bytes=None)
    assert _findings(eight, unknown, context=8192) == (
        Finding("memory_unknown", "note", "How much memory of GPU0 is free is unknown."),
    )


def test_a_whole_context_in_sliding_layers_costs_what_the_window_would_save(
    tmp_path: Path,
) -> None:
    facts = read_facts(FAMILIES["sliding"].builder().write(tmp_path / "sliding.gguf"))
    machine = Machine(name="m", cpu=HOST)
    for load in (
        LoadSettings(context=8192),
        LoadSettings(context=8192, ubatch=256),
        LoadSettings(context=8192, sequences=2),
    ):
        window = make_plan(facts, load, machine)
        whole = make_plan(facts, replace(load, swa_full=True), machine)
        saved = whole.memory.kv_bytes - window.memory.kv_bytes
        assert window.findings == ()
        assert [(item.id, item.cost) for item in whole.findings] == [
            ("swa_full", format_bytes(saved))
        ]
        assert whole.findings[0].fixes == (Fix("Keep only the sliding window", "swa_full", False),)
    # A context that the window covers: nothing would be saved.
    short = make_plan(facts, LoadSettings(context=1024, swa_full=True), machine)
    assert short.findings == ()


def test_a_model_fits_to_the_last_byte(eight: ModelFacts) -> None:
    load = LoadSettings(context=8192)
    used = make_plan(eight, load, cpu_only(64 * GIB, 60 * GIB)).memory.devices[0].total_bytes
    for free, fits in ((used, True), (used - 1, False), (used + 1, True)):
        assert make_plan(eight, load, cpu_only(64 * GIB, free)).fits is fits

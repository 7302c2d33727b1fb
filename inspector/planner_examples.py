"""Rows to begin with: well-known models as typed, and the planner's ready-made pages.

The models' figures are those of their published configurations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from gguf_tools.typed import TypedModel
from inspector.planner_setup import (
    MachineSpec,
    ModelSpec,
    PlannerSettings,
    PlannerSetup,
    RowSetup,
    Scenario,
)

__all__ = ["EXAMPLES", "MODELS", "Example", "first_setup", "model_named"]

_GIB: Final = 1 << 30

MODELS: Final = (
    TypedModel(
        name="8B, plain Q4",
        parameters=8_030_261_248,
        layers=32,
        kv_heads=8,
        head_length=128,
        quantization="Q4",
    ),
    TypedModel(
        name="14B, plain Q4",
        parameters=14_770_033_664,
        layers=48,
        kv_heads=8,
        head_length=128,
        vocabulary=152_064,
        heads=40,
        quantization="Q4",
    ),
    TypedModel(
        name="Llama 3.1 8B",
        parameters=8_030_261_248,
        layers=32,
        kv_heads=8,
        head_length=128,
        heads=32,
    ),
    TypedModel(
        name="Llama 3.1 70B",
        parameters=70_553_706_496,
        layers=80,
        kv_heads=8,
        head_length=128,
        heads=64,
    ),
    TypedModel(
        name="Qwen2.5 7B",
        parameters=7_615_616_512,
        layers=28,
        kv_heads=4,
        head_length=128,
        heads=28,
        vocabulary=152_064,
        context_length=32_768,
    ),
    TypedModel(
        name="Qwen3 30B-A3B",
        parameters=30_532_122_624,
        layers=48,
        kv_heads=4,
        head_length=128,
        heads=32,
        vocabulary=151_936,
        context_length=40_960,
        experts=128,
        experts_used=8,
        parameters_active=3_345_000_000,
    ),
)
"""Models that can be chosen without a file."""

_H100: Final = MachineSpec("table", "NVIDIA H100 SXM")
_RTX4090: Final = MachineSpec("table", "NVIDIA GeForce RTX 4090")
_RTX4060: Final = MachineSpec("table", "NVIDIA GeForce RTX 4060", memory_bytes=8 * _GIB)
_CARD16: Final = MachineSpec("table", "NVIDIA GeForce RTX 4060 Ti", memory_bytes=16 * _GIB)
_M4: Final = MachineSpec("table", "Apple M4", "unified", memory_bytes=16 * _GIB)
_M4_MAX: Final = MachineSpec(
    "table", "Apple M4 Max (40-core GPU)", "unified", memory_bytes=64 * _GIB
)
_THIS: Final = MachineSpec()


@dataclass(frozen=True, slots=True)
class Example:
    """A page of rows; ``title`` says what it shows."""

    key: str
    title: str
    setup: PlannerSetup


def model_named(name: str) -> TypedModel:
    """Return a typed model of the list.

    Raises:
        KeyError: there is none of that name.
    """
    for model in MODELS:
        if model.name == name:
            return model
    raise KeyError(name)


def _scenario(name: str, context: int, *, experts_on_cpu: bool = False) -> Scenario:
    settings = PlannerSettings(context=context, experts_on_cpu=experts_on_cpu)
    return Scenario(ModelSpec(typed=model_named(name)), settings)


def _page(common: Scenario, *machines: MachineSpec, chosen: int = 0) -> PlannerSetup:
    rows = tuple(RowSetup(f"r{n}", machine) for n, machine in enumerate(machines))
    return PlannerSetup(common, rows, rows[chosen].key)


def _three_bars() -> PlannerSetup:
    bars = (
        _scenario("8B, plain Q4", 8192),
        _scenario("14B, plain Q4", 8192),
        _scenario("8B, plain Q4", 131_072),
    )
    rows = tuple(RowSetup(f"r{n}", _RTX4060, own) for n, own in enumerate(bars))
    return PlannerSetup(bars[0], rows, rows[2].key)


def _mixture() -> PlannerSetup:
    whole = _scenario("Qwen3 30B-A3B", 32_768)
    kept = _scenario("Qwen3 30B-A3B", 32_768, experts_on_cpu=True)
    rows = (
        RowSetup("r0", _CARD16, whole),
        RowSetup("r1", _CARD16, kept),
        RowSetup("r2", _RTX4090, whole),
    )
    return PlannerSetup(kept, rows, "r1")


EXAMPLES: Final = (
    Example("three_bars", "Three bars: weights or cache", _three_bars()),
    Example(
        "machines",
        "8B on H100, RTX 4090, M4 and M4 Max",
        _page(_scenario("8B, plain Q4", 8192), _H100, _RTX4090, _M4, _M4_MAX, chosen=1),
    ),
    Example(
        "card24",
        "8B at 32K on a 24 GB card",
        _page(_scenario("8B, plain Q4", 32_768), _RTX4090, _RTX4060, chosen=0),
    ),
    Example(
        "h100",
        "70B at Q4 on an H100",
        _page(
            _scenario("Llama 3.1 70B", 32_768),
            _H100,
            msgspec.structs.replace(_RTX4090, cards=2),
            _M4_MAX,
        ),
    ),
    Example("mixture", "30B mixture of experts on a 16 GB card", _mixture()),
)
"""Pages that can be put on screen at once."""


def first_setup(model: ModelSpec | None = None) -> PlannerSetup:
    """Return the page of a first visit: a model on six machines, this one among them."""
    chosen = model or ModelSpec(typed=model_named("Llama 3.1 8B"))
    common = Scenario(chosen, PlannerSettings())
    return _page(common, _RTX4090, _RTX4060, _M4, _M4_MAX, _H100, _THIS, chosen=0)

"""Plans, loads and turns for the inspector: real facts of tiny files, machines made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.machine import Device, Machine
from gguf_tools.plan import Plan, make_plan
from inspector.plan_record import RatePoint, SettingsRecord
from inspector.planned import load_settings
from inspector.records import (
    BufferRecord,
    DeviceSample,
    Identity,
    LoadRecord,
    MemorySample,
    TurnRecord,
    TurnStats,
)
from inspector.session import Session
from inspector.speed import judge
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

GIB = 1 << 30
MIB = 1 << 20

FLAT = tuple(
    RatePoint(depth=depth, bytes_per_token=400_000_000, ceiling=100.0, low=40.0, high=80.0)
    for depth in (0, 2047)
)
"""A hundred tokens a second at most at any depth, 40 to 80 of them expected."""


def cpu(**values: Any) -> Device:
    """Return a processor with 16 GiB, 4 of them taken, read at 40 GB/s."""
    base: dict[str, Any] = {
        "name": "CPU", "kind": "cpu", "backend": "CPU", "total_bytes": 16 * GIB,
        "free_bytes": 12 * GIB, "bandwidth_bytes_per_s": 40e9, "bandwidth_basis": "measured",
        "flops_per_s": 2e11, "pool": "main memory",
    }  # fmt: skip
    return Device(**(base | values))


def card(**values: Any) -> Device:
    """Return a card with 24 GiB, 1 of them taken, read at 1 TB/s."""
    base: dict[str, Any] = {
        "name": "CUDA0", "kind": "gpu", "description": "RTX 4090", "backend": "CUDA",
        "total_bytes": 24 * GIB, "free_bytes": 23 * GIB, "bandwidth_bytes_per_s": 1e12,
        "bandwidth_basis": "table", "flops_per_s": 1.65e14, "flops_basis": "table",
        "overhead_bytes": 400 * MIB,
    }  # fmt: skip
    return Device(**(base | values))


def machine(*accelerators: Device, host: Device | None = None) -> Machine:
    return Machine(name="test machine", cpu=host or cpu(), accelerators=accelerators)


@pytest.fixture
def facts_of(tmp_path: Path) -> Callable[..., ModelFacts]:
    """Facts of a tiny model, written and read as any other."""

    def make(**values: Any) -> ModelFacts:
        return read_facts(write_tiny_model(tmp_path / "tiny.gguf", TinyModel(**values)))

    return make


@pytest.fixture
def plan_of(facts_of: Callable[..., ModelFacts]) -> Callable[..., Plan]:
    """A plan of a tiny model; settings are load settings by key."""

    def make(
        on: Machine | None = None, model: dict[str, Any] | None = None, **settings: Any
    ) -> Plan:
        facts = facts_of(**(model or {}))
        return make_plan(facts, load_settings(settings, facts), on or machine())

    return make


def sample(private_mib: int = 300, mapped_mib: int = 100, **devices: Any) -> MemorySample:
    """Return a sample; keywords are (total, free) in GiB by device."""
    sizes = devices or {"CPU": (16, 12)}
    return MemorySample(
        at_ms=1,
        devices=tuple(
            DeviceSample(
                name=name,
                kind="cpu" if name == "CPU" else "gpu",
                total_bytes=round(total * GIB),
                free_bytes=None if free is None else round(free * GIB),
            )
            for name, (total, free) in sizes.items()
        ),
        private_bytes=private_mib * MIB,
        mapped_bytes=mapped_mib * MIB,
    )


def buffer(device: str, what: Any, size_bytes: int) -> BufferRecord:
    return BufferRecord(device=device, what=what, size_bytes=size_bytes)


def stats(**values: Any) -> TurnStats:
    base: dict[str, Any] = {
        "n_ctx": 2048, "prompt_tokens": 100, "reused_tokens": 40, "evaluated_tokens": 60,
        "reply_tokens": 101, "prefill_s": 0.5, "first_token_s": 0.6, "decode_s": 2.0, "threads": 2,
    }  # fmt: skip
    return TurnStats(**(base | values))


def turn(load: LoadRecord | None = None, **values: Any) -> TurnRecord:
    return TurnRecord(at_ms=1000, stats=stats(**values), model_name="Tiny", load=load)


def loaded(session: Session, **values: Any) -> LoadRecord:
    """Tell a session that its plan was loaded just so, on the processor, and return the record."""
    plan = session.plan
    assert plan is not None
    settings = plan.settings
    host = plan.devices[0]
    base: dict[str, Any] = {
        "at_ms": 1, "identity": Identity(engine="test engine", machine="test machine"),
        "settings": SettingsRecord(
            n_ctx=settings.n_ctx, type_k=settings.type_k, type_v=settings.type_v,
            flash_attention=settings.flash_attention, swa_full=settings.swa_full, threads=2,
        ),
        "plan": plan,
        "buffers": (
            buffer("CPU_Mapped", "weights", host.weights_bytes),
            buffer("CPU", "kv", host.kv_bytes),
            buffer("CPU", "compute", host.compute_bytes),
            buffer("CPU", "output", host.output_bytes),
        ),
        "after": sample(), "layers_total": plan.layers_total, "n_ctx_train": 2048,
    }  # fmt: skip
    record = LoadRecord(**(base | values))
    session.loaded(record)
    return record


@pytest.fixture
def session(plan_of: Callable[..., Plan]) -> Session:
    """Return a session whose loaded plan predicts ``FLAT``."""
    made = Session()
    made.planned(plan_of())
    assert made.plan is not None
    made.plan = msgspec.structs.replace(made.plan, curve=FLAT)
    loaded(made)
    return made


def at_rate(session: Session, per_s: float, **values: Any) -> str:
    """Finish a turn of 101 tokens at a rate and return the kind of verdict."""
    base: dict[str, Any] = {"reply_tokens": 101, "decode_s": 100 / per_s}
    session.conversation([turn(**(base | values))])
    return judge(session).kind

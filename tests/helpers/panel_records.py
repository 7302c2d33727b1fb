"""Records as a computer with a 24 GB card would make them, for replays and pictures.

The plan is this program's own of a published card; the engine's buffers are that plan's, moved by
what real loads differ, and the turns follow its prediction.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from gguf_tools.facts import read_facts
from gguf_tools.hardware import parse_hardware
from gguf_tools.machine import Device, Machine
from gguf_tools.plan import make_plan
from inspector.plan_record import PlanRecord
from inspector.planned import load_settings, plan_record
from inspector.records import (
    BufferRecord,
    DeviceSample,
    Identity,
    LoadRecord,
    MemorySample,
    TurnRecord,
    TurnStats,
)
from resources.loader import read_text
from tests.helpers.shape_gguf import ShapeModel

__all__ = ["card_load", "card_record"]

GIB: Final = 1 << 30
_AT_MS: Final = 1_790_000_000_000
_DEPTHS: Final = ((800, 320), (4_200, 410), (9_900, 520), (16_400, 380), (21_034, 142))


def _machine() -> Machine:
    row = parse_hardware(read_text("hardware.json")).find("RTX 4090", 24 * GIB, cpu=False)
    assert row is not None
    card = row.device("CUDA0", total_bytes=24 * GIB)
    host = Device(
        name="CPU",
        kind="cpu",
        description="Ryzen 9 7950X",
        backend="CPU",
        total_bytes=64 * GIB,
        free_bytes=52 * GIB,
        bandwidth_bytes_per_s=64e9,
        bandwidth_basis="measured",
        flops_per_s=1.5e12,
        pool="main memory",
    )
    return Machine(name="RTX 4090, Ryzen 9 7950X, Linux", cpu=host, accelerators=(card,))


def _plan() -> PlanRecord:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "Shape-32B-Q4_K.gguf"
        ShapeModel(
            layers=64, embedding=5120, heads=40, kv_heads=8, head=128, feed_forward=27648,
            vocabulary=152064, context=32768,
        ).builder().write(path)  # fmt: skip
        facts = read_facts(path)
        plan = make_plan(
            facts, load_settings({"n_ctx": 24576, "gpu_layers": 58}, facts), _machine()
        )
        return plan_record(plan)


def card_load() -> LoadRecord:
    """Return the record of a 32B model with some layers beside a 24 GB card."""
    plan = _plan()
    host, card = plan.devices
    buffers = tuple(
        BufferRecord(device=name, what=what, size_bytes=size)  # type: ignore[arg-type]
        for name, what, size in (
            ("CPU_Mapped", "weights", host.weights_bytes),
            ("CPU", "kv", host.kv_bytes),
            ("CPU", "compute", host.compute_bytes),
            ("CPU", "output", host.output_bytes),
            ("CUDA0", "weights", card.weights_bytes),
            ("CUDA0", "kv", card.kv_bytes),
            ("CUDA0", "compute", round(card.compute_bytes * 1.03)),
        )
        if size
    )
    taken = card.weights_bytes + card.kv_bytes + card.compute_bytes
    before = _sample(card_free=23.1, host_free=52.0)
    after = _sample(card_free=23.1 - taken / GIB - 0.43, host_free=51.2, private=0.7)
    settings = msgspec.structs.replace(plan.settings, threads=16, flash_attention=True)
    return LoadRecord(
        at_ms=_AT_MS,
        identity=Identity(
            engine="llama.cpp b6000 (CUDA)", cpu="Ryzen 9 7950X",
            machine="RTX 4090, Ryzen 9 7950X, Linux", model_name="Shape 32B Q4_K",
            fingerprint="0" * 32,
        ),
        settings=settings,
        plan=plan,
        buffers=buffers,
        before=before,
        after=after,
        load_s=6.4,
        layers_offloaded=plan.layers_offloaded,
        layers_total=plan.layers_total,
        gpu_layers_asked=58,
        n_ctx_train=32768,
    )  # fmt: skip


def _sample(card_free: float, host_free: float, private: float | None = None) -> MemorySample:
    return MemorySample(
        at_ms=_AT_MS,
        devices=(
            DeviceSample(
                name="CPU", kind="cpu", total_bytes=64 * GIB, free_bytes=round(host_free * GIB)
            ),
            DeviceSample(
                name="CUDA0", kind="gpu", total_bytes=24 * GIB, free_bytes=round(card_free * GIB)
            ),
        ),
        private_bytes=None if private is None else round(private * GIB),
        mapped_bytes=None if private is None else round(3.1 * GIB),
    )


def card_record() -> list[TurnRecord]:
    """Return the turns of a conversation under `card_load`."""
    load = card_load()
    plan = load.plan
    assert plan is not None
    turns = []
    before = 0
    for index, (depth, reply) in enumerate(_DEPTHS):
        point = plan.rate_at(depth)
        assert point is not None
        assert point.low is not None
        assert point.high is not None
        seconds = reply / (0.55 * point.low + 0.45 * point.high)
        new = depth - before
        samples = tuple((n, n * seconds / reply) for n in range(1, reply, 40))
        turns.append(
            TurnRecord(
                at_ms=_AT_MS + 90_000 * (index + 1),
                stats=TurnStats(
                    n_ctx=load.settings.n_ctx, prompt_tokens=depth, reused_tokens=before,
                    evaluated_tokens=new, reply_tokens=reply, prefill_s=new / 910,
                    first_token_s=new / 910 + 0.05, decode_s=seconds, threads=16,
                    samples=samples, peak_bytes=round(0.74 * GIB), load_id=load.id,
                ),
                message=f"m{index}",
                model_name="Shape 32B Q4_K",
                stop="end",
                load=load,
            )
        )  # fmt: skip
        before = depth + reply
    return turns

"""A made-up comparison: three variants with figures that are easy to check by hand."""

from __future__ import annotations

from typing import Any

from inspector.compare.records import (
    ComparisonRecord,
    ComparisonSettings,
    MemoryStep,
    Stage,
    TokenDifference,
    VariantRecord,
)
from inspector.compare.statistics import quality_of
from inspector.records import BenchRow, DeviceSample, MemorySample, TurnStats

MIB = 1 << 20
GIB = 1 << 30

DIFFERENCE = TokenDifference(
    position=70,
    before="the wind was ",
    token="fair",
    after=" and | steady",
    kl=1.5,
    reference_p=0.6,
    p=0.1,
    reference_top="fair",
    reference_top_p=0.6,
    top="*foul*",
    top_p=0.4,
)


def variant(label: str, bytes_per_token: int, rate: float, **values: Any) -> VariantRecord:
    """Return a variant that decodes at a rate, in a test and in its answer."""
    base: dict[str, Any] = {
        "path": f"/models/{label}.gguf",
        "name": "Model 8B",
        "label": label,
        "quantization": label,
        "file_bytes": bytes_per_token,
        "weights_bytes": bytes_per_token,
        "bits_per_weight": bytes_per_token / GIB,
        "bytes_per_token": bytes_per_token,
        "status": "done",
        "answer": f"Answer of {label}.",
        "stats": TurnStats(
            n_ctx=8192,
            prompt_tokens=20,
            reused_tokens=0,
            evaluated_tokens=20,
            reply_tokens=41,
            first_token_s=0.25,
            prefill_s=0.2,
            decode_s=40 / rate,
        ),
        "decode": BenchRow(
            test="decode",
            depth=0,
            sequences=1,
            tokens=32,
            samples=(rate * 0.98, rate, rate * 1.02),
            predicted=rate * 0.9,
            predicted_high=rate * 1.3,
            ceiling=rate / 0.8,
            bytes_per_token=bytes_per_token,
        ),
        "prefill": BenchRow(
            test="prefill", depth=0, sequences=1, tokens=256, samples=(300.0, 310.0)
        ),
    }
    return VariantRecord(**(base | values))


def steps(index: int, before: int, most: int, after: int) -> list[MemoryStep]:
    """Return the samples of one engine, its own pages in bytes."""

    def sample(stage: Stage, private: int | None) -> MemoryStep:
        device = DeviceSample(name="CPU", kind="cpu", total_bytes=16 * GIB, free_bytes=9 * GIB)
        return MemoryStep(
            stage=stage,
            variant=index,
            sample=MemorySample(at_ms=index, devices=(device,), private_bytes=private),
        )

    return [
        sample("before", before),
        sample("loaded", most),
        sample("unloaded", after),
        sample("ended", None),
    ]


def comparison(**values: Any) -> ComparisonRecord:
    """Return Q8_0 (reference), Q4_K_M at 1.9 times the speed for half the bytes, Q2_K failed."""
    reference = variant(
        "Q8_0", 8 * GIB, 10.0, quality=quality_of([1.0, 2.0, 3.0], text_bytes=12, chunks=1)
    )
    half = variant(
        "Q4_K_M",
        4 * GIB,
        19.0,
        quality=quality_of(
            [1.1, 2.1, 3.1],
            kl=[0.1, 0.2, 0.3],
            same_top=[True, True, False],
            reference_nll=[1.0, 2.0, 3.0],
            worst=(DIFFERENCE,),
            chunks=1,
        ),
    )
    failed = variant(
        "Q2_K",
        2 * GIB,
        1.0,
        status="failed",
        failure="The engine was killed while writing the reply.",
        stats=None,
        decode=None,
        prefill=None,
        answer="Half an",
        requantized_from="Q8_0",
    )
    base: dict[str, Any] = {
        "at_ms": 1_700_000_000_000,
        "settings": ComparisonSettings(prompt="Why | so?", text_name="a text"),
        "variants": (half, reference, failed),
        "reference": 1,
        "memory": (
            *steps(0, 30 * MIB, 4000 * MIB, 31 * MIB),
            *steps(1, 30 * MIB, 8000 * MIB, 30 * MIB),
        ),
        "engine": "llama.cpp",
        "machine": "a machine",
    }
    return ComparisonRecord(**(base | values))

"""Panels as a session would make them: examples for the gallery and for the widgets' tests."""

from __future__ import annotations

from dataclasses import replace

from inspector.views import (
    AlternativeView,
    BudgetView,
    CurvePoint,
    DepthPoint,
    FindingView,
    FirstTokenPart,
    FirstTokenView,
    FixView,
    GrowthView,
    KinkView,
    LayerDevice,
    LayersView,
    LayerView,
    MetadataRow,
    ModelCardView,
    ModelRow,
    PanelView,
    PredictedPoint,
    RateView,
    SegmentView,
    SpeedView,
    TypeShare,
)

GIB = 1 << 30
MIB = 1 << 20
KIB = 1 << 10


def gib(value: float) -> int:
    """Return bytes of GiB."""
    return round(value * GIB)


SPLIT_LAYERS = LayersView(
    (LayerDevice("RTX 4070"), LayerDevice("CPU", slow=True)),
    tuple(
        LayerView("output" if n == 32 else f"blk.{n}", 0 if n < 26 else 1, 226 * MIB)
        for n in range(33)
    ),
    "engine",
)

SPLIT_BUDGET = BudgetView(
    "RTX 4070",
    12 * GIB,
    (
        SegmentView(
            "weights",
            gib(7.2),
            "engine",
            "26 of 33 layers, 226 MiB each, and the token embedding",
            gib(7.18),
        ),
        SegmentView(
            "kv_used",
            gib(1.7),
            "engine",
            "21,034 tokens × 26 layers × 2 × 8 KV heads × 128 × 2 bytes",
        ),
        SegmentView("kv_reserved", gib(1.0), "engine", "11,734 tokens × 106,496 bytes"),
        SegmentView("compute", gib(0.7), "engine", "ubatch 512 × widest layer", gib(0.67)),
        SegmentView("other_programs", gib(0.6), "read"),
        SegmentView("free", gib(0.8), "read"),
    ),
    planned_bytes=gib(10.45),
    engine_bytes=gib(10.6),
    note="Other programs took 0.21 GiB since loading.",
)

OFFLOAD = FindingView(
    "offload",
    "warning",
    "7 of 33 layers run from system RAM.",
    "Predicted 31 tok/s instead of 76: each token pulls 1.6 GB through a 64 GB/s link.",
    (
        FixView("kv_q8", "KV cache to q8_0", "frees 1.27 GiB, 5 more layers fit, 31 → 52 tok/s."),
        FixView("ctx_16k", "Context to 16K", "frees 1.35 GiB, all layers fit, 31 → 76 tok/s."),
        FixView("q6", "Open Q6_K", "6.14 GiB instead of 7.95, all layers fit, 31 → 98 tok/s."),
    ),
    SPLIT_LAYERS,
)


def line(bytes_per_token: int, last: int = 32768) -> tuple[CurvePoint, ...]:
    """Return a formula without kinks."""
    return (CurvePoint(0, 0), CurvePoint(last, last * bytes_per_token))


SPLIT_GROWTH = GrowthView(
    "f16",
    line(128 * KIB),
    32768,
    bytes_per_token=128 * KIB,
    now=CurvePoint(21034, 21034 * 128 * KIB),
    trained_tokens=131072,
    budget_bytes=gib(3.2),
    budget_tokens=26214,
    alternatives=(
        AlternativeView("q8_0", line(68 * KIB)),
        AlternativeView("q4_0", line(36 * KIB)),
    ),
    fitting_tokens=5180,
    fitting_conversations=0,
    formula="2 × 32 layers × 8 KV heads × 128 × 2 bytes = 128 KiB a token",
)


def predicted(top: float, slope: float, last: int = 32768) -> tuple[PredictedPoint, ...]:
    """Return a prediction that falls as the cache fills."""
    points = []
    for n in range(9):
        depth = last * n // 8
        ceiling = top / (1 + slope * n / 8)
        points.append(PredictedPoint(depth, ceiling * 0.78, ceiling * 0.92, ceiling))
    return tuple(points)


SPLIT_SPEED = SpeedView(
    RateView(
        31.2,
        31,
        35,
        76,
        "all-VRAM ceiling",
        formula="7.2 GB / 504 GB/s + 1.6 GB / 64 GB/s a token",
    ),
    RateView(
        3120,
        3300,
        3700,
        5030,
        "",
        "compute-bound",
        equation="80.5 TFLOP/s ÷ 16.0 GFLOP a token",
    ),
    measured_over_depth=(
        DepthPoint(2100, 36.1),
        DepthPoint(8050, 34.2),
        DepthPoint(14400, 32.8),
        DepthPoint(20870, 31.2),
    ),
    predicted_over_depth=predicted(43, 0.35),
    explanation="41 % of what this card could do: 7 layers wait for system RAM.",
    first_token=FirstTokenView(
        0.24,
        (FirstTokenPart("template", 0.004), FirstTokenPart("prefill", 0.213)),
        new_tokens=37,
        reused_tokens=20870,
    ),
    draft_first_token=FirstTokenView(0.31, (), 412, 21034, "planned"),
)

METADATA = (
    MetadataRow("general.architecture", "string", "llama"),
    MetadataRow("general.name", "string", "Llama 3.1 8B Instruct"),
    MetadataRow("llama.attention.head_count", "uint32", "32"),
    MetadataRow("llama.attention.head_count_kv", "uint32", "8"),
    MetadataRow("llama.context_length", "uint32", "131072"),
    MetadataRow("tokenizer.chat_template", "string", "{% for m in messages %}\n<|im|>{{ m }}"),
)

MODEL = ModelCardView(
    "llama · GGUF v3",
    (
        ModelRow("Layers · heads · KV heads", "32 · 32 · 8 (GQA 4:1)"),
        ModelRow("Bits per weight", "8.50", hint="File size over parameters."),
        ModelRow("Bytes read per token", "8.0 + 2.7 GB", "planned", "Weights and KV cache."),
        ModelRow("Score matrix without flash attention", "2.00 GiB", "planned"),
    ),
    (TypeShare("Q8_0", 226, gib(7.94)), TypeShare("F32", 66, 1 * MIB)),
    METADATA,
)

SPLIT = PanelView(
    "loaded",
    "",
    (SPLIT_BUDGET,),
    (OFFLOAD,),
    SPLIT_LAYERS,
    SPLIT_GROWTH,
    SPLIT_SPEED,
    MODEL,
)

CPU_BUDGET = BudgetView(
    "CPU · system memory",
    gib(7.75),
    (
        SegmentView("weights", 92 * MIB, "engine", "272 tensors of the file", 92 * MIB),
        SegmentView("kv_used", 6 * MIB, "engine", "280 tokens × 23,040 bytes"),
        SegmentView("kv_reserved", 39 * MIB, "engine", "1,768 tokens × 23,040 bytes"),
        SegmentView("compute", 38 * MIB, "engine", "ubatch 512 × 576", 36 * MIB),
        SegmentView("other_programs", gib(1.9), "read"),
        SegmentView("free", gib(5.68), "read"),
    ),
    planned_bytes=173 * MIB,
    engine_bytes=175 * MIB,
    mapped_bytes=92 * MIB,
    peak_bytes=181 * MIB,
)

CPU = PanelView(
    "loaded",
    budgets=(CPU_BUDGET,),
    growth=GrowthView(
        "f16",
        line(22 * KIB + 512, 2048),
        2048,
        22 * KIB + 512,
        used=(CurvePoint(90, 90 * 23040), CurvePoint(180, 180 * 23040)),
        now=CurvePoint(280, 280 * 23040),
        trained_tokens=8192,
        budget_bytes=gib(4.9),
        alternatives=(AlternativeView("q8_0", line(12 * KIB, 2048)),),
        fitting_tokens=1768,
        fitting_conversations=108,
        basis="engine",
    ),
    speed=SpeedView(
        RateView(78.4, 74, 92, 118, live=True),
        RateView(342, None, None, None, "", "compute-bound"),
        (DepthPoint(40, 84.0), DepthPoint(120, 80.0), DepthPoint(280, 78.4)),
        predicted(118, 0.3, 2048),
        first_token=FirstTokenView(
            0.41, (FirstTokenPart("load", 0.0), FirstTokenPart("prefill", 0.4)), 137, 0
        ),
    ),
    model=ModelCardView(
        "llama · GGUF v3",
        (
            ModelRow("Layers · heads · KV heads", "30 · 9 · 3 (GQA 3:1)"),
            ModelRow("Bits per weight", "5.31"),
            ModelRow("Bytes read per token", "86 + 6 MB", "planned"),
        ),
        (TypeShare("Q4_1", 180, 58 * MIB), TypeShare("Q8_0", 31, 33 * MIB)),
        METADATA,
    ),
)

PLANNED = PanelView(
    "planned",
    "Planned for this computer. Nothing is loaded yet.",
    (
        replace(
            SPLIT_BUDGET,
            segments=(
                SegmentView("weights", gib(7.95), "planned", "all 33 layers", None),
                SegmentView("kv_reserved", gib(4.0), "planned", "32,768 tokens × 131,072 bytes"),
                SegmentView("compute", gib(0.7), "planned"),
                SegmentView("other_programs", gib(0.6), "read"),
                SegmentView("free", 0, "read"),
            ),
            planned_bytes=None,
            engine_bytes=None,
            note="",
        ),
    ),
    (
        FindingView(
            "does_not_fit",
            "error",
            "The RTX 4070 lacks 1.25 GiB for this.",
            "Weights 7.95, cache 4.00 and compute 0.70 GiB, with 11.4 GiB free.",
            (
                FixView("ctx", "Context to 16K", "frees 2.00 GiB, then all of it fits."),
                FixView("layers", "26 GPU layers", "7 layers in system RAM, 76 → 31 tok/s."),
            ),
        ),
    ),
    growth=replace(
        SPLIT_GROWTH,
        now=None,
        budget_bytes=gib(2.2),
        budget_tokens=18022,
        fitting_tokens=18022,
        fitting_conversations=None,
    ),
    speed=SpeedView(
        RateView(None, 58, 70, 76),
        RateView(None, 3300, 3700, 5030, "", "compute-bound"),
        predicted_over_depth=predicted(76, 0.4),
    ),
    model=MODEL,
)

FULL = replace(
    SPLIT,
    budgets=(
        replace(
            SPLIT_BUDGET,
            segments=(
                *SPLIT_BUDGET.segments[:1],
                SegmentView("kv_used", gib(2.62), "engine", "31,785 tokens × 88,508 bytes"),
                SegmentView("kv_reserved", gib(0.08), "engine"),
                *SPLIT_BUDGET.segments[3:],
            ),
            note="",
        ),
    ),
    findings=(
        FindingView(
            "context_full",
            "warning",
            "The context is 97 % full.",
            "983 tokens are left; then the oldest turns are left out.",
            (FixView("ctx_48k", "Context to 48K", "needs 2.00 GiB more, 3 more layers in RAM."),),
        ),
    ),
    growth=GrowthView(
        "f16",
        (CurvePoint(0, 0), CurvePoint(1024, gib(0.6)), CurvePoint(32768, gib(2.7))),
        32768,
        71 * KIB,
        now=CurvePoint(31785, gib(2.63)),
        kinks=(KinkView(1024, "26 of 32 layers keep no more than their window of 1,024."),),
        trained_tokens=16384,
        budget_bytes=gib(2.75),
        budget_tokens=None,
        alternatives=(
            AlternativeView(
                "q8_0",
                (CurvePoint(0, 0), CurvePoint(1024, gib(0.32)), CurvePoint(32768, gib(1.43))),
            ),
        ),
        fitting_tokens=983,
        fitting_conversations=0,
    ),
)

LOST = replace(
    CPU,
    state="lost",
    notice="The engine stopped (killed, out of memory) while it read the prompt. "
    "These are its last figures.",
)

OVER = replace(
    PLANNED,
    budgets=(
        *PLANNED.budgets,
        BudgetView(
            "RPC0 · 10.0.0.7",
            None,
            (
                SegmentView("weights", gib(2.1), "engine"),
                SegmentView("compute", gib(0.2), "engine"),
            ),
        ),
    ),
)

SAMPLES = {
    "none": PanelView(),
    "planned": PLANNED,
    "cpu": CPU,
    "split": SPLIT,
    "full": FULL,
    "lost": LOST,
    "over": OVER,
}

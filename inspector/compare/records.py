"""What is kept of a comparison: the settings all variants shared, and what each of them did.

Records are JSON by msgspec, as those of a conversation: raw measurements with the identity of
engine, computer and model, so that a comparison can be opened years later without either.
Figures with an error are `Estimate`: a mean and its standard error.
"""

from __future__ import annotations

import hashlib
from typing import Final, Literal, TypeAlias

import msgspec

from inspector.records import BenchRow, LoadRecord, MemorySample, TurnStats

__all__ = [
    "ComparisonRecord",
    "ComparisonSettings",
    "Estimate",
    "MemoryStep",
    "QualityRecord",
    "Stage",
    "TokenDifference",
    "VariantRecord",
    "VariantStatus",
    "decode_comparison",
    "encode_comparison",
]

VariantStatus: TypeAlias = Literal["waiting", "done", "failed", "cancelled"]
Stage: TypeAlias = Literal[
    "start",  # before anything: no engine runs
    "before",  # an engine runs, nothing is loaded
    "loaded",
    "answered",
    "scored",
    "unloaded",  # the same engine, the model freed
    "ended",  # that engine's process is gone
]
FORMAT: Final = 1


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over tokens and its standard error, both in the unit of the figure."""

    value: float
    error: float


class TokenDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A place in the text where a variant and the reference expect different things.

    ``before`` and ``after`` are the text around ``token``, which really came there: the reference
    gave it ``reference_p``, the variant ``p`` (0 to 1). ``reference_top`` and ``top`` are the
    tokens that each expected most. ``kl`` is in nats; ``position`` counts tokens from the start.
    """

    position: int
    before: str
    token: str
    after: str
    kl: float
    reference_p: float
    p: float
    reference_top: str
    reference_top_p: float
    top: str
    top_p: float


class QualityRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How well a variant foresees a text, and how far it is from the reference.

    ``perplexity`` is of the tokens in the second half of each chunk. ``mean_kl`` in nats,
    ``same_top`` as a share, ``ln_ratio`` the logarithm of the perplexity over the reference's;
    these are None for the reference itself and where vocabularies differ. ``kl_percentiles`` are
    (percent, nats).
    """

    tokens: int
    chunk_tokens: int
    chunks: int
    text_bytes: int
    perplexity: Estimate
    mean_kl: Estimate | None = None
    same_top: Estimate | None = None
    ln_ratio: Estimate | None = None
    kl_percentiles: tuple[tuple[float, float], ...] = ()
    bits_per_byte: float | None = None
    worst: tuple[TokenDifference, ...] = ()
    seconds: float = 0.0


class MemoryStep(msgspec.Struct, frozen=True, kw_only=True):
    """Memory at one moment of a comparison; ``variant`` None is the computer between engines."""

    stage: Stage
    sample: MemorySample
    variant: int | None = None


class ComparisonSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What all variants shared. ``n_ctx`` None leaves the context to the program."""

    prompt: str
    system: str = ""
    temperature: float = 0.0
    seed: int | None = 1
    max_tokens: int = 200
    n_ctx: int | None = None
    type_k: str = "f16"
    type_v: str = "f16"
    gpu_layers: int = -1
    threads: int | None = None
    template: str | None = None
    together: bool = False
    quality: bool = True
    text_name: str = ""
    text_tokens: int = 4096
    chunk_tokens: int = 512
    measure_rates: bool = True


class VariantRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One variant: what its file says, what was planned, what was measured.

    ``bytes_per_token`` are the weights that one decoded token reads. ``planned_bytes`` is the
    plan's memory over all devices, ``engine_bytes`` the sum of the engine's own buffers,
    ``peak_bytes`` the most that the process held (its own pages and the mapped file). ``prefill``
    and ``decode`` are bench rows at the same depth for all variants, None where rates were taken
    from the answers alone (shared bandwidth). ``reached`` is what it was doing when it failed;
    ``disturbed``: this program's own chat wrote meanwhile, so that its rates are low.
    """

    path: str
    name: str
    label: str
    quantization: str | None = None
    requantized_from: str | None = None
    file_bytes: int = 0
    weights_bytes: int = 0
    bits_per_weight: float | None = None
    bytes_per_token: int | None = None
    fingerprint: str = ""
    status: VariantStatus = "waiting"
    failure: str = ""
    advice: tuple[str, ...] = ()
    reached: str = ""
    answer: str = ""
    reasoning: str = ""
    stop: str | None = None
    stats: TurnStats | None = None
    load: LoadRecord | None = None
    planned_bytes: int | None = None
    engine_bytes: int | None = None
    peak_bytes: int | None = None
    prefill: BenchRow | None = None
    decode: BenchRow | None = None
    quality: QualityRecord | None = None
    quality_note: str = ""
    notices: tuple[str, ...] = ()
    disturbed: bool = False


class ComparisonRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A whole comparison. ``reference`` indexes ``variants``; ``busy`` says what else computed."""

    at_ms: int
    settings: ComparisonSettings
    variants: tuple[VariantRecord, ...]
    reference: int = 0
    memory: tuple[MemoryStep, ...] = ()
    engine: str = ""
    machine: str = ""
    busy: str = ""
    cancelled: bool = False
    seconds: float = 0.0
    format: int = FORMAT

    @property
    def id(self) -> str:
        """Return a name that sorts by time and is the same wherever the record is kept."""
        seed = "\n".join([self.settings.prompt, *(item.path for item in self.variants)])
        return (
            f"{self.at_ms:014d}-{hashlib.sha256(seed.encode('utf-8', 'replace')).hexdigest()[:8]}"
        )

    @property
    def title(self) -> str:
        """Return what to call it: the model, or the variants, in one line."""
        names = dict.fromkeys(item.name for item in self.variants)
        labels = ", ".join(item.label for item in self.variants)
        return f"{next(iter(names))}: {labels}" if len(names) == 1 else labels


def encode_comparison(record: ComparisonRecord) -> bytes:
    """Return a comparison as JSON."""
    return msgspec.json.encode(record)


def decode_comparison(data: bytes) -> ComparisonRecord:
    """Return the comparison that JSON holds.

    Raises:
        ValueError: it holds none, or one of a newer program.
    """
    try:
        record = msgspec.json.decode(data, type=ComparisonRecord)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"This is no comparison: {error}") from error
    if record.format > FORMAT:
        raise ValueError("This comparison was made by a newer version of Plimsoll.")
    return record

"""What is to be compared, checked before any engine starts."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from app.compare.again import Again, changed_file, starting_records
from app.engine.protocol import LoadOptions, SamplingOptions
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import Header, HeaderError
from gguf_tools.machine import Machine
from gguf_tools.naming import requantized_from
from gguf_tools.plan import Plan, make_plan
from gguf_tools.units import format_bytes
from inspector.compare.records import ComparisonSettings, VariantRecord
from inspector.planned import load_settings

__all__ = [
    "MOST_VARIANTS",
    "CompareError",
    "CompareRequest",
    "Prepared",
    "Room",
    "default_reference",
    "load_options",
    "plan_of",
    "prepare",
    "room_together",
    "vocabulary_key",
]

MOST_VARIANTS: Final = 6
LEAST_VARIANTS: Final = 2


class CompareError(Exception):
    """A comparison can't be made; the text is one clear sentence. ``bad_file`` names the model."""

    def __init__(self, sentence: str, bad_file: Path | None = None) -> None:
        super().__init__(sentence)
        self.bad_file = bad_file


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRequest:
    """Variants and what they share. ``reference`` indexes ``paths``; None takes
    `default_reference`.

    ``options`` and ``sampling`` hold what ``settings`` doesn't name (threads of a batch, samplers);
    where both name a value, ``settings`` counts. ``text`` is what quality is measured on.
    ``again`` runs a part of an earlier comparison once more.
    """

    paths: tuple[Path, ...]
    settings: ComparisonSettings
    text: str = ""
    reference: int | None = None
    options: LoadOptions = field(default_factory=LoadOptions)
    sampling: SamplingOptions = field(default_factory=SamplingOptions)
    again: Again | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request whose files were read: facts and first records, in the order of the request."""

    request: CompareRequest
    facts: tuple[ModelFacts, ...]
    variants: tuple[VariantRecord, ...]
    reference: int

    @property
    def order(self) -> tuple[int, ...]:
        """Return the order of the runs: the reference first, since others are held against it."""
        rest = (index for index in range(len(self.facts)) if index != self.reference)
        order = (self.reference, *rest)
        again = self.request.again
        if again is None or again.what == "quality":
            return order
        return tuple(index for index in order if index in again.variants)


@dataclass(frozen=True, slots=True)
class Room:
    """Whether all variants fit at once. None is unknown; ``sentence`` says it in words."""

    fits: bool | None
    needed_bytes: int
    free_bytes: int | None
    sentence: str


def default_reference(facts: Sequence[ModelFacts]) -> int:
    """Return the variant that others are held against: the largest that was not made from another.

    A Q8_0 that was requantised from the Q4_1 beside it holds more bytes and no more of the model.
    """
    made = [_is_made_from_one_of(item, facts) for item in facts]
    return max(
        range(len(facts)), key=lambda index: (not made[index], facts[index].weights_bytes, -index)
    )


def _is_made_from_one_of(made: ModelFacts, facts: Sequence[ModelFacts]) -> bool:
    """Tell whether a file's metadata names another of these as what it was requantised from."""
    source = requantized_from(made.header)
    return source is not None and any(
        item is not made
        and item.quantization == source
        and (item.architecture, item.parameters) == (made.architecture, made.parameters)
        for item in facts
    )


def prepare(request: CompareRequest) -> Prepared:
    """Read the files of a request.

    Raises:
        CompareError: there are too few or too many, or one can't be run.
    """
    count = len(request.paths)
    if not LEAST_VARIANTS <= count <= MOST_VARIANTS:
        raise CompareError(
            f"Choose {LEAST_VARIANTS} to {MOST_VARIANTS} variants; {count} can't be compared."
        )
    if not request.settings.prompt.strip() and not request.settings.quality:
        raise CompareError("Write a prompt, or measure the quality on a text.")
    if request.reference is not None and not 0 <= request.reference < count:
        raise CompareError("The reference has to be one of the variants.")
    facts = tuple(_facts(path) for path in request.paths)
    seen: dict[Path, Path] = {}
    for item in facts:
        real = item.path.resolve()
        if real in seen:
            raise CompareError(f"{item.path.name} was chosen twice.")
        seen[real] = item.path
    reference = default_reference(facts) if request.reference is None else request.reference
    variants = _variants(facts)
    if request.again is not None:
        changed = changed_file(request.again, variants)
        if changed:
            raise CompareError(
                f"The file of {changed} is another one than was measured: run all of them again."
            )
        variants = starting_records(request.again, variants)
    return Prepared(request, facts, variants, reference)


def _facts(path: Path) -> ModelFacts:
    try:
        facts = read_facts(path)
    except HeaderError as error:
        raise CompareError(str(error), path) from error
    except OSError as error:
        raise CompareError(f"{path} can't be read: {error.strerror}.", path) from error
    if not facts.loadable:
        why = facts.warnings[0] if facts.warnings else "It can't be loaded."
        raise CompareError(f"{path.name} can't be compared. {why}", path)
    return facts


def _variants(facts: Sequence[ModelFacts]) -> tuple[VariantRecord, ...]:
    names = Counter(item.quantization for item in facts)
    return tuple(
        VariantRecord(
            path=str(item.path),
            name=item.shown_name,
            label=(
                item.quantization
                if item.quantization is not None and names[item.quantization] == 1
                else item.path.stem
            ),
            quantization=item.quantization,
            requantized_from=requantized_from(item.header),
            file_bytes=item.file_bytes,
            weights_bytes=item.weights_bytes,
            bits_per_weight=item.bits_per_weight,
            bytes_per_token=item.bytes_read_per_token,
        )
        for item in facts
    )


def load_options(request: CompareRequest) -> LoadOptions:
    """Return how every variant is loaded."""
    settings = request.settings
    return msgspec.structs.replace(
        request.options,
        n_ctx=settings.n_ctx,
        type_k=settings.type_k,
        type_v=settings.type_v,
        gpu_layers=settings.gpu_layers,
        threads=settings.threads,
        template=settings.template,
        sequences=1,
        outputs=None,
        draft=None,  # drafts would be measured, not the variants
    )


def plan_of(facts: ModelFacts, options: LoadOptions, machine: Machine) -> Plan | None:
    """Return the plan of a load, None where the file says too little."""
    try:
        return make_plan(facts, load_settings(msgspec.to_builtins(options), facts), machine)
    except ValueError:
        return None


def room_together(prepared: Prepared, machine: Machine) -> Room:
    """Return whether all variants fit a machine at once, by their plans."""
    options = load_options(prepared.request)
    plans = [plan_of(facts, options, machine) for facts in prepared.facts]
    pools: dict[str, int] = {}
    free: dict[str, int | None] = {}
    for plan in plans:
        if plan is None:
            return Room(None, 0, None, "Whether they fit together is unknown.")
        for pool in plan.pools:
            pools[pool.name] = pools.get(pool.name, 0) + pool.used_bytes
            free[pool.name] = pool.free_bytes
    needed = sum(pools.values())
    known = [size for size in free.values() if size is not None]
    lacking = [
        name for name, used in pools.items() if (there := free[name]) is not None and used > there
    ]
    total = sum(known) if len(known) == len(free) else None
    if lacking:
        name = lacking[0]
        sentence = (
            f"Together they need {format_bytes(pools[name])} of {name}, and "
            f"{format_bytes(free[name])} are free: run them one after another."
        )
        return Room(False, needed, total, sentence)
    if total is None:
        return Room(None, needed, None, "Whether they fit together is unknown.")
    return Room(True, needed, total, f"Together they need {format_bytes(needed)}; that fits.")


def vocabulary_key(header: Header) -> str:
    """Return what two models with the same tokens have in common."""
    digest = hashlib.sha256((header.text("tokenizer.ggml.model") or "").encode())
    for token in header.texts("tokenizer.ggml.tokens"):
        digest.update(token.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()

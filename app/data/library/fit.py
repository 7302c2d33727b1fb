"""Whether a variant fits this computer, with which context, and how fast it would be.

A digest of `gguf_tools.plan` small enough to be kept for each of hundreds of variants: the plan
itself holds the whole header of the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gguf_tools.machine import Basis
from gguf_tools.plan import Plan, PoolUse
from inspector.measured import fit_words

__all__ = [
    "LEAST_CONTEXT",
    "Share",
    "VariantFit",
    "Verdict",
    "fit_of_plan",
    "unknown_fit",
]

Verdict: TypeAlias = Literal["fits", "tight", "too_large", "unknown"]

LEAST_CONTEXT: Final = 2048
"""A model that fits only with fewer tokens of context than this is of no use for a chat."""


@dataclass(frozen=True, slots=True)
class Share:
    """Bytes of the fullest memory, by what holds them; together with ``free`` it is the whole."""

    weights_bytes: int
    cache_bytes: int
    compute_bytes: int
    others_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantFit:
    """How one variant would load. Rates in tokens per second at an empty cache; None: unknown.

    ``context_tokens`` is what it was planned with, ``max_context_tokens`` the longest that fits
    below the load line, or past it where nothing is below (0: not even the weights fit), and
    ``held_tokens`` the longest that memory holds to its end. ``left_bytes`` is what would be free
    on ``device``, the memory with the least room; negative: so much is missing. ``decode_words``
    say on what the rates rest.
    """

    verdict: Verdict
    context_tokens: int
    max_context_tokens: int | None = None
    held_tokens: int | None = None
    device: str = ""
    needed_bytes: int | None = None
    left_bytes: int | None = None
    share: Share | None = None
    decode_low_per_s: float | None = None
    decode_high_per_s: float | None = None
    decode_ceiling_per_s: float | None = None
    prefill_per_s: float | None = None
    bandwidth_bytes_per_s: float | None = None
    bandwidth_basis: Basis = "assumed"
    bandwidth_note: str = ""
    decode_words: str = ""
    flops_basis: Basis = "assumed"
    note: str = ""


def unknown_fit(note: str) -> VariantFit:
    """Return the fit of a file that can't be planned, with the reason in a sentence."""
    return VariantFit(verdict="unknown", context_tokens=0, note=note)


def fit_of_plan(plan: Plan) -> VariantFit:
    """Return the digest of a plan."""
    pool = _fullest(plan)
    first = next((item for item in plan.findings if item.severity == "error"), None)
    return VariantFit(
        verdict=_verdict(plan),
        context_tokens=plan.memory.settings.context_sequence,
        max_context_tokens=plan.fitting_context,
        held_tokens=plan.max_context,
        device="" if pool is None else pool.name,
        needed_bytes=sum(item.used_bytes for item in plan.pools),
        left_bytes=None if pool is None else pool.left_bytes,
        share=None if pool is None else _share(plan, pool),
        decode_low_per_s=plan.decode.expected_low,
        decode_high_per_s=plan.decode.expected_high,
        decode_ceiling_per_s=plan.decode.ceiling,
        prefill_per_s=plan.prefill.expected,
        bandwidth_bytes_per_s=plan.decode.bandwidth_bytes_per_s,
        bandwidth_basis=plan.decode.bandwidth_basis,
        bandwidth_note=plan.machine.devices[plan.decode.busiest].bandwidth_note,
        decode_words=fit_words(plan.machine.fit),
        flops_basis=plan.prefill.flops_basis,
        note="" if first is None else first.text,
    )


def _verdict(plan: Plan) -> Verdict:
    """Return fits, tight (over the load line, or with a shorter context only) or too large."""
    if plan.refusal is not None or plan.fits is None:
        return "unknown"
    if plan.fits:
        return (
            "tight"
            if any(pool.over_load_line for pool in plan.pools if pool.used_bytes)
            else "fits"
        )
    least = min(LEAST_CONTEXT, plan.memory.settings.context_sequence)
    return "tight" if (plan.max_context or 0) >= least else "too_large"


def _fullest(plan: Plan) -> PoolUse | None:
    """Return the memory with the least room left, of those that the model uses."""
    used = [pool for pool in plan.pools if pool.used_bytes and pool.left_bytes is not None]
    return min(used, key=_room, default=None)


def _room(pool: PoolUse) -> float:
    """Return the free share of a memory, below 0 where it does not suffice."""
    assert pool.left_bytes is not None
    return pool.left_bytes / (pool.total_bytes or pool.free_bytes or 1)


def _share(plan: Plan, pool: PoolUse) -> Share:
    here = [item for item in plan.memory.devices if item.device.memory_pool == pool.name]
    weights = sum(item.weights_bytes for item in here)
    cache = sum(item.kv_bytes + item.state_bytes for item in here)
    return Share(
        weights_bytes=weights,
        cache_bytes=cache,
        compute_bytes=pool.used_bytes - weights - cache,
        others_bytes=pool.others_bytes or 0,
        total_bytes=pool.total_bytes or pool.used_bytes,
    )

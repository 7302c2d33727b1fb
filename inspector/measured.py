"""What was measured of decoding on this machine, and the fit by which predictions follow it.

A rate is a pair of a depth and seconds a token. The likely seconds of `gguf_tools.expected` have
two parts, of the weights and of the cache; the fit scales each, by the least relative errors.
Where all rates lie at much the same depth they can't tell the parts apart, and both are scaled
alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

import msgspec

from gguf_tools.expected import decode_parts
from gguf_tools.machine import MEASURED_BUSY, DecodeFit
from gguf_tools.plan import Plan, kernel_features
from gguf_tools.rates import TokenBytes, token_bytes
from inspector.records import TurnStats

__all__ = [
    "DecodeSample",
    "fit_decode",
    "fit_words",
    "likely_parts",
    "read_rate",
    "samples_of",
    "token_reads",
    "undisturbed",
]

LEAST_SPREAD: Final = 0.08
"""Half width of a prediction from measurements that agree: rates of one machine vary so much."""

MOST_SPREAD: Final = 0.3
_TELLING: Final = 0.2  # difference of the cache's share that tells the parts apart
_ALIKE: Final = 0.1  # difference of the cache's share up to which rates can be compared
_DISTURBED: Final = 0.2  # slower by more than this, something else ran
_LEAST_TOKENS: Final = 16
_ROUNDS: Final = 12
_NOISE: Final = 0.02
_BOUNDS: Final = (0.1, 10.0)
_ALL: Final = 0.999  # of the bytes of a token, in one memory


class DecodeSample(msgspec.Struct, frozen=True, array_like=True):
    """Seconds that a decoded token took with ``depth`` tokens in the cache.

    ``busy``: other programs ran meanwhile, so it may take less.
    """

    depth: int
    seconds: float
    busy: bool = False


def samples_of(stats: TurnStats) -> tuple[DecodeSample, ...]:
    """Return what a turn says about decoding: nothing if it was short or not a plain decode."""
    if stats.reply_tokens < _LEAST_TOKENS or not stats.is_alone:
        return ()
    return tuple(
        DecodeSample(depth, 1.0 / rate)
        for depth, rate in stats.rates_along(_LEAST_TOKENS)
        if rate > 0
    )


def undisturbed(
    plan: Plan, known: Sequence[DecodeSample], fresh: Sequence[DecodeSample]
) -> tuple[tuple[DecodeSample, ...], tuple[DecodeSample, ...]]:
    """Return what counts of rates that were known, and of those of a run that came later.

    Whatever else runs only makes a run slower: of rates at like depths that differ by more than
    `_DISTURBED` the faster ones count, and where they do not, quiet ones before busy ones.
    """
    old, new = _paces(plan, known), _paces(plan, fresh)
    return (
        tuple(item[0] for item in old if not _is_outdone(item, new)),
        tuple(item[0] for item in new if not _is_outdone(item, old)),
    )


def _paces(plan: Plan, samples: Sequence[DecodeSample]) -> list[tuple[DecodeSample, float, float]]:
    """Return samples with the likely seconds over the measured ones, and the cache's share."""
    found = []
    for sample in samples:
        parts = likely_parts(plan, sample.depth)
        if parts is not None and sum(parts) > 0 and sample.seconds > 0:
            found.append((sample, sum(parts) / sample.seconds, parts[1] / sum(parts)))
    return found


def _is_outdone(
    item: tuple[DecodeSample, float, float], others: Sequence[tuple[DecodeSample, float, float]]
) -> bool:
    """Tell whether other runs at like depths show a rate to be disturbed."""
    sample, pace, share = item
    alike = [other for other in others if abs(other[2] - share) <= _ALIKE]
    if alike and pace < (1.0 - _DISTURBED) * median(other[1] for other in alike):
        return True
    quiet = [other[1] for other in alike if not other[0].busy]
    return sample.busy and bool(quiet) and (1.0 - _DISTURBED) * pace <= median(quiet)


def likely_parts(plan: Plan, depth: int) -> tuple[float, float] | None:
    """Return the likely seconds of a step at a depth: without the cache, and for the cache."""
    reads = token_reads(plan, depth)
    return None if reads is None else decode_parts(reads, plan.machine, plan.memory.settings)


def token_reads(plan: Plan, depth: int) -> tuple[TokenBytes, ...] | None:
    """Return what a token at a depth reads on each device, None for a file without a shape."""
    shape, memory = plan.facts.shape, plan.memory
    if shape is None:
        return None
    return token_bytes(
        plan.facts.header,
        shape,
        memory.settings,
        memory.placement,
        memory.caches,
        memory.states,
        devices=len(plan.machine.devices),
        depth=depth,
        experts_on_cpu=plan.load.experts_on_cpu,
        features=kernel_features(plan.load, plan.machine),
    )


def fit_decode(
    plan: Plan, samples: Iterable[DecodeSample], key: str, *, own: bool = True, runs: int = 1
) -> DecodeFit | None:
    """Return what measured rates make of a plan's likely seconds, None if they say nothing.

    Args:
        plan: of the model and the settings that were measured.
        samples: what was measured.
        key: of those settings (`gguf_tools.expected.decode_key`).
        own: the plan is of the very model that was measured.
        runs: replies or benchmarks that the samples are of.
    """
    rows, busy = [], False
    for sample in samples:
        parts = likely_parts(plan, sample.depth)
        if parts is not None and sample.seconds > 0 and sum(parts) > 0:
            busy = busy or sample.busy
            rows.append((sample.depth, parts[0] / sample.seconds, parts[1] / sample.seconds))
    if not rows:
        return None
    fitted = _fitted([row[1:] for row in rows])
    off = [abs(weights * fitted[0] + cache * fitted[1] - 1.0) for _, weights, cache in rows]
    spread = min(max(LEAST_SPREAD, 2.0 * median(off)), MOST_SPREAD)
    return DecodeFit(
        weights=fitted[0],
        cache=fitted[1],
        spread=spread,
        key=key,
        own=own,
        count=len(rows),
        deepest=max(row[0] for row in rows),
        runs=runs,
        busy=busy,
    )


def read_rate(plan: Plan, sample: DecodeSample) -> tuple[int, float] | None:
    """Return the bytes a token read and bytes per second, where the processor read all of them.

    A few bytes of others (a row of a table) are passed over. None where layers lie elsewhere.
    """
    reads = token_reads(plan, sample.depth)
    if reads is None or sample.seconds <= 0:
        return None
    total = sum(item.total for item in reads)
    if total <= 0 or reads[0].total < _ALL * total:
        return None
    return round(total), total / sample.seconds


def fit_words(fit: DecodeFit | None) -> str:
    """Say on what a predicted decode rate rests, to follow "predicted"."""
    if fit is None:
        return "from the memory's bandwidth"
    runs = f"{max(fit.runs, 1)} measured run{'' if fit.runs <= 1 else 's'}"
    busy = f", {MEASURED_BUSY}" if fit.busy else ""
    if fit.own:
        return f"from {runs} of this model{busy}"
    if fit.other_settings:
        return f"from {runs} of this model with other settings{busy}"
    return f"from {runs} of another model{busy}"


def _fitted(rows: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the factors of both parts; ``rows`` are the parts over what was measured.

    Least absolute errors, by least squares with weights that fall with the error: a few rates that
    something disturbed do not move the others' fit.
    """
    alike = 1.0 / median(sum(row) for row in rows)
    shares = [row[1] / sum(row) for row in rows]
    if max(shares) - min(shares) < _TELLING:
        return alike, alike
    trust = [1.0] * len(rows)
    found = None
    for _ in range(_ROUNDS):
        found = _solved(rows, trust)
        if found is None:
            return alike, alike
        off = [abs(row[0] * found[0] + row[1] * found[1] - 1.0) for row in rows]
        trust = [1.0 / max(error, _NOISE) for error in off]
    return found or (alike, alike)


def _solved(
    rows: Sequence[tuple[float, float]], trust: Sequence[float]
) -> tuple[float, float] | None:
    """Return the least squares of ``weights × a + cache × b = 1``, None if they make no sense."""
    ww = wc = cc = w = c = 0.0
    for (own, kept), weight in zip(rows, trust, strict=True):
        ww, wc, cc = ww + weight * own * own, wc + weight * own * kept, cc + weight * kept * kept
        w, c = w + weight * own, c + weight * kept
    determinant = ww * cc - wc * wc
    if determinant <= 1e-9 * ww * cc:
        return None
    a, b = (w * cc - c * wc) / determinant, (c * ww - w * wc) / determinant
    low, high = _BOUNDS
    return (a, b) if low <= a <= high and low <= b <= high else None

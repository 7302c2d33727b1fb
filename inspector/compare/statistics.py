"""Figures with their errors, from what each token told.

A mean's error is its standard error, as llama.cpp's perplexity tool gives it
(tools/perplexity/perplexity.cpp, ``mean_and_uncertainty``): the root of the variance over one less
than the number of tokens. That of a perplexity is the error of its logarithm times the perplexity.
Tokens of a text depend on each other, so the true error is somewhat larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from inspector.compare.records import Estimate, QualityRecord, TokenDifference

__all__ = ["mean_of", "perplexity_of", "quality_of", "share_of"]

_PERCENTILES: Final = (1.0, 10.0, 50.0, 90.0, 95.0, 99.0, 99.9, 100.0)


def mean_of(values: Sequence[float]) -> Estimate:
    """Return the mean and its standard error.

    Raises:
        ValueError: there are no values.
    """
    count = len(values)
    if count == 0:
        raise ValueError("a mean of nothing")
    mean = math.fsum(values) / count
    if count == 1:
        return Estimate(value=mean, error=0.0)
    variance = math.fsum((value - mean) ** 2 for value in values) / count
    return Estimate(value=mean, error=math.sqrt(variance / (count - 1)))


def share_of(hits: Sequence[bool]) -> Estimate:
    """Return the share of true values and its standard error.

    Raises:
        ValueError: there are no values.
    """
    return mean_of([float(hit) for hit in hits])


def perplexity_of(nll: Sequence[float]) -> Estimate:
    """Return e to the mean surprise (in nats), and its error.

    Raises:
        ValueError: there are no values.
    """
    log = mean_of(nll)
    value = math.exp(min(log.value, 700.0))
    return Estimate(value=value, error=value * log.error)


def quality_of(
    nll: Sequence[float],
    *,
    kl: Sequence[float] = (),
    same_top: Sequence[bool] = (),
    reference_nll: Sequence[float] = (),
    chunk_tokens: int = 0,
    chunks: int = 0,
    text_bytes: int = 0,
    worst: tuple[TokenDifference, ...] = (),
    seconds: float = 0.0,
) -> QualityRecord:
    """Return what a variant's tokens say about it.

    Args:
        nll: surprise at each token that counts, in nats.
        kl: divergence from the reference at each, empty for the reference itself.
        same_top: whether the likeliest token is the reference's.
        reference_nll: the reference's surprise at the same tokens.
        chunk_tokens: tokens in a chunk of the text.
        chunks: how many there were.
        text_bytes: bytes of the tokens that count.
        worst: where the variant differs most.
        seconds: how long it took.

    Raises:
        ValueError: there are no tokens.
    """
    ratio = None
    if kl and len(reference_nll) == len(nll):
        ratio = mean_of([own - other for own, other in zip(nll, reference_nll, strict=True)])
    return QualityRecord(
        tokens=len(nll),
        chunk_tokens=chunk_tokens,
        chunks=chunks,
        text_bytes=text_bytes,
        perplexity=perplexity_of(nll),
        mean_kl=mean_of(kl) if kl else None,
        same_top=share_of(same_top) if same_top else None,
        ln_ratio=ratio,
        kl_percentiles=_percentiles(kl),
        bits_per_byte=math.fsum(nll) / math.log(2) / text_bytes if text_bytes else None,
        worst=worst,
        seconds=seconds,
    )


def _percentiles(values: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Return (percent, value), between two values in proportion."""
    if not values:
        return ()
    ordered = sorted(values)
    found = []
    for percent in _PERCENTILES:
        place = percent / 100 * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        part = place - below
        found.append((percent, (1 - part) * ordered[below] + part * ordered[above]))
    assert all(first[1] <= second[1] for first, second in pairwise(found))
    return tuple(found)

from __future__ import annotations

import math

import msgspec
import pytest

from inspector.records import BandwidthRecord, TurnStats
from tests.inspector.conftest import stats


def _stats(**values: float) -> TurnStats:
    base = {
        "n_ctx": 4096, "prompt_tokens": 0, "reused_tokens": 0, "evaluated_tokens": 0,
        "reply_tokens": 0,
    }  # fmt: skip
    return TurnStats(**(base | values))  # type: ignore[arg-type]


def test_a37_prefill_counts_what_was_evaluated_not_what_was_cached() -> None:
    stats = _stats(prompt_tokens=2012, reused_tokens=2000, evaluated_tokens=12, prefill_s=0.1)
    assert stats.prefill_per_s == pytest.approx(120)
    assert stats.reused_share == pytest.approx(2000 / 2012)


def test_a37_decode_leaves_out_the_first_token_and_the_load() -> None:
    stats = _stats(reply_tokens=78, decode_s=7.7, first_token_s=5.0, load_s=30.0)
    assert stats.decode_per_s == pytest.approx(10)


@pytest.mark.parametrize(("tokens", "seconds"), [(0, 0.0), (1, 0.0), (1, 5.0), (2, 0.0)])
def test_a37_rate_of_nothing_is_unknown(tokens: int, seconds: float) -> None:
    stats = _stats(
        reply_tokens=tokens, decode_s=seconds, evaluated_tokens=min(tokens, 1), prefill_s=seconds
    )
    assert stats.decode_per_s is None
    assert stats.prefill_per_s is None
    assert _stats().reused_share is None


def test_rates_are_finite_and_positive() -> None:
    stats = _stats(reply_tokens=2, decode_s=1e-9, evaluated_tokens=2, prefill_s=1e-9)
    for rate in (stats.decode_per_s, stats.prefill_per_s):
        assert rate is not None
        assert math.isfinite(rate)
        assert rate > 0
    assert _stats(prompt_tokens=5, reply_tokens=3).context_used_tokens == 8


def test_a_probe_whose_passes_disagree_is_not_steady() -> None:
    quiet = BandwidthRecord(at_ms=1, threads=1, buffer_bytes=1, samples=(10.0, 10.2, 9.9, 10.1))
    busy = BandwidthRecord(at_ms=1, threads=1, buffer_bytes=1, samples=(3.0, 10.0, 6.0, 9.0))
    assert quiet.steady
    assert not busy.steady
    assert busy.bytes_per_s == 9.0


def test_a_share_of_a_prompt_of_one_token() -> None:
    assert _stats(prompt_tokens=1, reused_tokens=1).reused_share == 1.0
    assert _stats(prompt_tokens=0).reused_share is None


def test_stretches_of_a_reply() -> None:
    stats = _stats(prompt_tokens=100, reply_tokens=33, decode_s=4.0)
    sampled = msgspec.structs.replace(stats, samples=((1, 0.0), (17, 2.0), (25, 3.0), (33, 4.0)))
    # Stretches of just 16 tokens count; the middle of the first is 8 behind its beginning.
    assert sampled.rates_along(16) == ((100 + 1 + 8, 8.0), (100 + 17 + 8, 8.0))
    assert stats.rates_along(16) == ((100 + 16, 8.0),)
    assert _stats(reply_tokens=1).rates_along() == ()


def test_rates_along_a_reply_stand_at_their_depth() -> None:
    found = stats(
        prompt_tokens=100, samples=((1, 0.0), (11, 0.1), (21, 1.0), (61, 2.0))
    ).rates_along()
    assert found == ((111, 20.0), (141, 40.0))
    assert stats(prompt_tokens=100, reply_tokens=101, decode_s=2.0).rates_along() == ((150, 50.0),)
    assert stats(reply_tokens=1, decode_s=0.0).rates_along() == ()


def test_a_prompt_without_a_time_has_no_rate() -> None:
    assert _stats(evaluated_tokens=2, prefill_s=0.0).prefill_per_s is None
    assert _stats(evaluated_tokens=2, prefill_s=0.5).prefill_per_s == 4.0
    assert _stats(evaluated_tokens=1, prefill_s=0.5).prefill_per_s is None


@pytest.mark.parametrize(
    ("replies", "tokens", "seconds", "rate"),
    [(1, 40, 2.0, None), (2, 40, 0.0, None), (2, 40, 2.0, 19.0), (3, 2, 2.0, 0.0)],
)
def test_tokens_of_a_batch_a_second(
    replies: int, tokens: int, seconds: float, rate: float | None
) -> None:
    stats = _stats(replies_at_once=replies, batch_reply_tokens=tokens, batch_decode_s=seconds)
    assert stats.batch_per_s == rate


def test_blocks_that_took_no_time_have_no_rate() -> None:
    found = stats(prompt_tokens=100, samples=((1, 0.0), (41, 0.0), (81, 1.0)))
    # Of 80 tokens in a second, told in one block: half of them lie below its depth.
    assert found.rates_along() == ((141, 80.0),)


def test_a_reply_that_was_not_continued_is_whole() -> None:
    assert _stats(reply_tokens=12).whole_reply_tokens == 12

"""Several replies at once, and a draft's guesses, beside one reply alone."""

from __future__ import annotations

import pytest

from inspector.batching import (
    alone_per_s,
    batch_sentence,
    draft_sentence,
    expected_tokens_per_step,
)
from inspector.records import TurnRecord, TurnStats


def _stats(**values: float) -> TurnStats:
    whole = {"n_ctx": 4096, "prompt_tokens": 40, "reused_tokens": 0, "evaluated_tokens": 40}
    return TurnStats(**(whole | {"reply_tokens": 101, "decode_s": 2.0} | values))  # type: ignore[arg-type]


def test_tokens_per_step_follow_the_share_that_is_right() -> None:
    assert expected_tokens_per_step(0.0, 4) == 1.0
    assert expected_tokens_per_step(1.0, 4) == 5.0
    assert expected_tokens_per_step(0.5, 4) == pytest.approx(1 + 0.5 + 0.25 + 0.125 + 0.0625)


def test_alone_is_the_latest_turn_without_batch_or_draft_that_measures_something() -> None:
    shared = TurnRecord(at_ms=10, stats=_stats(replies_at_once=3))
    turns = [
        TurnRecord(at_ms=at_ms, stats=stats)
        for at_ms, stats in (
            (1, _stats(decode_s=1.0)),
            (7, _stats(decode_s=2.0)),
            (5, _stats(decode_s=4.0)),
            (8, _stats(decode_s=0.1, reply_tokens=15)),
            (8, _stats(decode_s=0.1, threads=4)),
            (9, _stats(decode_s=0.1, replies_at_once=3)),
            (9, _stats(decode_s=0.1, drafted_tokens=50)),
            (11, _stats(decode_s=0.5)),  # later than what is set beside it
        )
    ]
    assert alone_per_s(turns, shared) == pytest.approx(50.0)
    assert alone_per_s([], shared) is None


def test_batch_is_set_beside_one_reply_alone() -> None:
    stats = _stats(decode_s=2.5, replies_at_once=4, batch_reply_tokens=404, batch_decode_s=2.5)
    assert stats.batch_per_s == pytest.approx(160.0)
    text = batch_sentence(stats, 50.0)
    assert text.startswith("4 replies at once: 160.0 tok/s together, 40.0 each on average")
    assert "The latest reply alone wrote 50.0: together they wrote 3.20 times as much" in text
    assert "a token cost 0.31 of what it costs alone" in text
    assert "alone wrote" not in batch_sentence(stats, None)
    assert batch_sentence(_stats(), 50.0) == ""
    other = _stats(replies_at_once=4)  # not the first: the figures of all are with that one
    assert batch_sentence(other, 50.0).startswith("One of 4 replies that were written at once")


def test_each_of_several_and_all_together_are_of_one_time() -> None:
    # The first ended after 13 tokens, at a rate of its own; the others went on.
    stats = _stats(
        reply_tokens=13, decode_s=1.21, replies_at_once=3, batch_reply_tokens=109,
        batch_decode_s=3.0,
    )  # fmt: skip
    assert "35.3 tok/s together, 11.8 each on average" in batch_sentence(stats, None)


def test_draft_is_set_beside_the_rate_without_it() -> None:
    stats = _stats(drafted_tokens=100, accepted_tokens=75)
    # 101 tokens in 26 steps; 75 right guesses and 25 wrong ones of 100.
    text = draft_sentence(stats, 40.0)
    assert "guessed 100 tokens and 75 % of them were right: 3.88 tokens a step" in text
    assert "50.0 tok/s against 40.0 without it, 1.25 times: faster." in text
    assert "slower" in draft_sentence(stats, 80.0)
    assert draft_sentence(_stats(), 40.0) == ""
    # All right: every step of four guesses gives five tokens.
    whole = _stats(reply_tokens=100, drafted_tokens=80, accepted_tokens=80)
    assert "5.00 tokens a step of the large model, measured; 5.00 by the formula" in draft_sentence(
        whole, None
    )


@pytest.mark.parametrize(
    ("alone", "verdict"),
    [
        (25.0, "2.00 times: faster."),
        (50.0, "1.00 times: faster."),
        (100.0, "0.50 times: slower: the draft costs more than it saves here."),
    ],
)
def test_a_draft_is_judged_by_the_rate_without_it(alone: float, verdict: str) -> None:
    stats = _stats(drafted_tokens=100, accepted_tokens=75)
    text = draft_sentence(stats, alone)
    assert text.endswith(f" 50.0 tok/s against {alone:,.1f} without it, {verdict}")

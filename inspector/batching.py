"""What one reading of the weights gave when it served more than one token.

Several replies at once share each reading; a draft's guesses are checked by one. Both are set
beside the same model writing one reply alone, where the conversation has such a turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gguf_tools.units import counted
from inspector.records import TurnRecord, TurnStats

__all__ = [
    "LEAST_TOKENS",
    "alone_per_s",
    "batch_sentence",
    "draft_sentence",
    "expected_tokens_per_step",
]

LEAST_TOKENS: Final = 16
"""Tokens of a reply below which its rate measures nothing."""


def expected_tokens_per_step(accepted_share: float, drafted_tokens: float) -> float:
    """Return the tokens that a step of the large model yields with a draft, on average.

    ``(1 - a^(k+1)) / (1 - a)`` for a share ``a`` of guesses that are right and ``k`` guesses a
    step (Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding",
    equation 1; it takes guesses to be right independently of each other).
    """
    if accepted_share >= 1.0:
        return drafted_tokens + 1.0
    return float((1.0 - accepted_share ** (drafted_tokens + 1)) / (1.0 - accepted_share))


def _predicted(accepted: int, drafted: int, steps: int) -> float:
    """Return tokens a step from the chance that a single guess is right.

    Each step ends at its first wrong guess or with all right, so that ``accepted`` guesses were
    found right and at most one a step wrong.
    """
    guesses = drafted / steps
    wrong = min(steps, drafted - accepted)
    share = accepted / (accepted + wrong) if accepted + wrong else 0.0
    return expected_tokens_per_step(share, guesses)


def alone_per_s(turns: Sequence[TurnRecord], shared: TurnRecord) -> float | None:
    """Return the rate of the latest reply written alone, without a draft, before ``shared``.

    By as many threads. The latest, since a machine that was busy an hour ago says little of now.
    """
    found = [
        turn
        for turn in turns
        if turn.stats.is_alone
        and turn.stats.decode_per_s is not None
        and turn.stats.reply_tokens >= LEAST_TOKENS
        and turn.stats.threads == shared.stats.threads
        and turn.at_ms <= shared.at_ms
    ]
    # Of two of one moment the one that was told last.
    latest = max(reversed(found), key=lambda turn: turn.at_ms, default=None)
    return None if latest is None else latest.stats.decode_per_s


def batch_sentence(stats: TurnStats, alone: float | None) -> str:
    """Say what writing several replies at once cost and gave; empty if it was one."""
    together, count = stats.batch_per_s, stats.replies_at_once
    if not together:
        if count == 1:
            return ""
        # One of the others: the first one's record has the figures of all.
        return (
            f"One of {count} replies that were written at once: every reading of the weights "
            "served all of them."
        )
    # Both by the time of the whole batch: a reply's own rate is another when some end early.
    text = (
        f"{count} replies at once: {together:,.1f} tok/s together, {together / count:,.1f} each on "
        "average, since every reading of the weights served all of them."
    )
    if alone is None:
        return text
    return (
        f"{text} The latest reply alone wrote {alone:,.1f}: together they wrote "
        f"{together / alone:.2f} times as much, a token cost {alone / together:.2f} of what it "
        "costs alone."
    )


def draft_sentence(stats: TurnStats, alone: float | None) -> str:
    """Say what a draft model's guesses were worth; empty without a draft."""
    share = stats.accepted_share
    if share is None:
        return ""
    steps = max(stats.reply_tokens - stats.accepted_tokens, 1)
    per_step = stats.reply_tokens / steps
    text = (
        f"The draft model guessed {counted(stats.drafted_tokens, 'token')} and {share * 100:.0f} % "
        f"of them were right: {per_step:.2f} tokens a step of the large model, measured; "
        f"{_predicted(stats.accepted_tokens, stats.drafted_tokens, steps):.2f} by the formula."
    )
    rate = stats.decode_per_s
    if alone is None or rate is None:
        return text
    gain = rate / alone
    verdict = "faster" if gain >= 1 else "slower: the draft costs more than it saves here"
    return f"{text} {rate:,.1f} tok/s against {alone:,.1f} without it, {gain:.2f} times: {verdict}."

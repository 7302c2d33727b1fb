"""What one reading of the weights gave when it served more than one token.

Several replies at once share each reading; a draft's guesses are checked by one. Both are set
beside the same model writing one reply alone, where the conversation has such a turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from gguf_tools.units import counted
from inspector.records import TurnRecord, TurnStats

__all__ = ["alone_per_s", "batch_sentence", "draft_sentence", "expected_tokens_per_step"]


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


def alone_per_s(turns: Sequence[TurnRecord]) -> float | None:
    """Return the median decode rate of replies that were written alone and without a draft."""
    rates = [
        turn.stats.decode_per_s
        for turn in turns
        if turn.stats.is_alone and turn.stats.decode_per_s is not None
    ]
    return median(rates) if rates else None


def batch_sentence(stats: TurnStats, alone: float | None) -> str:
    """Say what writing several replies at once cost and gave; empty if it was one."""
    together, each = stats.batch_per_s, stats.decode_per_s
    count = stats.replies_at_once
    if together is None or each is None:
        if count == 1:
            return ""
        # One of the others: the first one's record has the figures of all.
        return (
            f"One of {count} replies that were written at once: every reading of the weights "
            "served all of them."
        )
    text = (
        f"{count} replies at once: {together:,.0f} tok/s together, {each:,.1f} each, since every "
        "reading of the weights served all of them."
    )
    if alone is None:
        return text
    return (
        f"{text} One alone wrote {alone:,.1f}: a step cost {alone / each:.2f} times as much and "
        f"gave up to {counted(count, 'token')}, so a token cost {alone / together:.2f} of "
        "what it costs alone."
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

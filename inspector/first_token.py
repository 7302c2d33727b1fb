"""Time to the first token: measured of the turn that ended last, planned of the draft."""

from __future__ import annotations

from gguf_tools.units import counted
from inspector.session import Session
from inspector.views import LOAD_PART, FirstTokenPart, FirstTokenView

__all__ = ["draft_first_token", "first_token"]


def first_token(session: Session) -> FirstTokenView | None:
    """Return that of the last turn, None without one; a turn that runs has none yet."""
    last = session.last
    if last is None or last.stats.first_token_s <= 0:
        return None
    stats = last.stats
    parts = []
    if stats.load_s:
        parts.append(FirstTokenPart(LOAD_PART, stats.load_s))
    what = f"prefill of {counted(stats.evaluated_tokens, 'token')}"
    parts.append(FirstTokenPart(what, stats.prefill_s))
    rest = stats.first_token_s - stats.prefill_s
    if rest > 0:
        parts.append(FirstTokenPart("template and first draw", rest))
    return FirstTokenView(
        total_s=stats.first_token_s + (stats.load_s or 0.0),
        parts=tuple(parts),
        new_tokens=stats.evaluated_tokens,
        reused_tokens=stats.reused_tokens,
        basis="measured",
        earlier=session.live is not None,
    )


def draft_first_token(session: Session) -> FirstTokenView | None:
    """Return that of the draft, None without a draft or a rate to reckon with."""
    seconds = session.first_token_s
    if seconds is None or session.draft_tokens is None:
        return None
    return FirstTokenView(
        total_s=seconds,
        parts=(FirstTokenPart(f"prefill of {counted(session.draft_tokens, 'token')}", seconds),),
        new_tokens=session.draft_tokens,
        reused_tokens=session.draft_reused_tokens,
        basis="planned",
    )

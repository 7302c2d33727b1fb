"""What is said below a reply, and what is offered there."""

from __future__ import annotations

import pytest

from app.data.records import Message
from app.ui.chat_views import message_view
from inspector.records import TurnStats


def _stopped(reason: str, replies: int) -> Message:
    stats = TurnStats(
        n_ctx=512, prompt_tokens=216, reused_tokens=215, evaluated_tokens=1, reply_tokens=99,
        replies_at_once=replies,
    )  # fmt: skip
    return Message(
        id="m", conversation_id="c", parent_id=None, role="assistant", created_ms=0, text="words",
        reasoning="", model_name="Tiny", updated_ms=0, state="complete", stop_reason=reason,
        stats=stats,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("replies", "note"),
    [
        (1, "Stopped: the context is full."),
        (3, "Stopped: the context is full. 3 replies at once shared its 512 tokens."),
    ],
)
def test_a_full_context_says_who_shared_it_and_offers_a_longer_one(replies: int, note: str) -> None:
    view = message_view(_stopped("context_full", replies))
    assert view.note == note
    assert [action.kind for action in view.actions] == ["continue", "raise_context"]


def test_a_token_limit_is_not_mended_by_a_longer_context() -> None:
    view = message_view(_stopped("token_limit", 3))
    assert [action.kind for action in view.actions] == ["continue"]

"""What the engine tells of a turn, told on to the session that the panel shows."""

from __future__ import annotations

from app.engine.protocol import Chunk, Done, EngineMessage, Failed, Progress, ReplyDone, Started
from inspector.records import TurnRecord
from inspector.session import Session

__all__ = ["follow_turn"]


def follow_turn(session: Session, message: EngineMessage, at_ms: int) -> None:
    """Take one message of a turn; others change nothing.

    Args:
        session: of the model that is loaded.
        message: of the turn that is running; ``session`` knows whether its chat is on screen.
        at_ms: the time now, for the record of a turn that ended.
    """
    if isinstance(message, Started):
        session.turn_started(
            prompt_tokens=message.fit.prompt_tokens,
            reused_tokens=message.reused_tokens,
            new_tokens=message.new_tokens,
            reuse_note=message.reuse_note,
        )
    elif isinstance(message, Progress) and message.phase == "prefill":
        session.read(message.done_tokens)
    elif isinstance(message, Chunk) and message.reply == 0:
        session.tokens(message.reply_tokens, message.decode_per_s)
    elif isinstance(message, Chunk):
        session.branch(message.reply, message.reply_tokens)
    elif isinstance(message, ReplyDone):
        session.branch(message.reply, None)  # the first one's tokens stay in the cache
    elif isinstance(message, Failed) or (isinstance(message, Done) and session.turn_is_elsewhere):
        session.turn_ended()
    elif isinstance(message, Done):
        session.turn_finished(
            TurnRecord(
                at_ms=at_ms,
                stats=message.stats,
                conversation=message.conversation,
                stop=message.stop,
                load=session.load,
            )
        )

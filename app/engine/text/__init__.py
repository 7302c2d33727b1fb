"""From the bytes of tokens to what a reader sees: characters, stop strings, reasoning."""

from app.engine.text.reasoning import opened_by, opens_reasoning
from app.engine.text.reply import Delta, ReplyText

__all__ = ["Delta", "ReplyText", "opened_by", "opens_reasoning"]

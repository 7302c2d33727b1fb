"""Speculative decoding: a small model drafts tokens, the large one checks them in one batch.

Decode is bound by the bytes that are read per token; a batch reads them once for all of its tokens.
So a guess that is right comes nearly free, and one that is wrong costs the draft's time alone. The
large model's own sampler draws every token, so the reply is what it would have been without a
draft, up to the rounding of larger batches.

What it gives is measured and said by `inspector.batching`.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.engine.cache import PrefixCache
from app.engine.interface import Aborted, EngineFailure, EngineModel
from app.engine.protocol import SamplingOptions
from gguf_tools.units import format_bytes

__all__ = ["Draft", "mismatch"]

# Vocabularies of one family may differ by padding at the end (llama.cpp's common/speculative.cpp
# allows 128 entries).
_SIZE_SLACK_TOKENS = 128
_COMPARED_TOKENS = 4096
_GREEDY = SamplingOptions(temperature=0.0)


def mismatch(model: EngineModel, draft: EngineModel) -> str | None:
    """Return a sentence why a model can't draft for another, None if it can."""
    name = draft.info.name
    if model.memory != "plain" or draft.memory != "plain":
        which = model.info.name if model.memory != "plain" else name
        return (
            f"{which} keeps a memory that can't be cut back by a few tokens, so no draft model "
            "can be used with it."
        )
    if abs(model.info.n_vocab - draft.info.n_vocab) > _SIZE_SLACK_TOKENS or not _same_pieces(
        model, draft
    ):
        return (
            f"{name} has another vocabulary than {model.info.name}; a draft model must share it. "
            "Choose a smaller model of the same family."
        )
    return None


def _same_pieces(model: EngineModel, draft: EngineModel) -> bool:
    least = min(model.info.n_vocab, draft.info.n_vocab)
    step = max(1, least // _COMPARED_TOKENS)
    return all(
        model.vocab.piece(token) == draft.vocab.piece(token) for token in range(0, least, step)
    )


class Draft:
    """A small model that follows a chat and guesses how it goes on."""

    def __init__(self, model: EngineModel, most_tokens: int) -> None:
        self.model = model
        self.most_tokens = most_tokens
        self._cache = PrefixCache(model)

    @property
    def cost(self) -> str:
        """What it takes, in a sentence: plans and the engine's sums are of the large model."""
        info = self.model.info
        held = sum(buffer.size_bytes for buffer in info.buffers)
        return (
            f"The draft model {info.name} takes {format_bytes(held)} more; the engine's own sums "
            "are of this model alone."
        )

    def read(self, tokens: Sequence[int]) -> None:
        """Bring its cache to these tokens; what it holds already is not evaluated again.

        Raises:
            Aborted: `EngineModel.abort` was set.
            EngineFailure: the engine failed.
        """
        kept = self._cache.prepare(tokens).kept
        step = self.model.info.n_ubatch
        for start in range(kept, len(tokens), step):
            part = tokens[start : start + step]
            self._evaluate(part, start)

    def propose(self, tokens: Sequence[int], most_tokens: int) -> list[int]:
        """Return what it thinks comes after these tokens: its likeliest ones, up to an end.

        Nothing where the draft's window is full or its engine failed: a draft is never needed.
        """
        wanted = min(most_tokens, self.most_tokens, self.model.info.n_ctx - len(tokens))
        if wanted < 1:
            return []
        guesses: list[int] = []
        sampler = self.model.sampler(_GREEDY, ())
        try:
            self.read(tokens)
            while True:
                token = sampler.sample()
                if self.model.vocab.is_end(token):
                    break
                guesses.append(token)
                if len(guesses) >= wanted:
                    break
                self._evaluate((token,), len(tokens) + len(guesses) - 1)
        except (Aborted, EngineFailure):
            self._cache.resync()
        finally:
            sampler.close()
        return guesses

    def _evaluate(self, tokens: Sequence[int], position: int) -> None:
        self.model.decode(tokens, position)
        self._cache.extend(tokens)

    def close(self) -> None:
        """Free the model."""
        self.model.close()

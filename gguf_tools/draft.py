"""A draft model beside a model: whether the two go together, and what it takes.

Speculative decoding loads a second, small model with the same settings and a context as long as
the first one's; so its weights, cache and buffers are memory of their own. Where the two don't go
together the engine goes on without it. The rules are those of llama.cpp's
common/speculative.cpp and of this program's engine: vocabularies are equal but for a little padding
at the end, and both memories can be cut back by a few tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from gguf_tools.header import Header
from gguf_tools.hparams.tables import HYBRID, NO_CACHE, RECURRENT

if TYPE_CHECKING:
    from gguf_tools.facts import ModelFacts

__all__ = ["DraftUse", "draft_problem"]

_SLACK: Final = 128
_COMPARED: Final = 4096
_TOKENS: Final = "tokenizer.ggml.tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftUse:
    """What a draft model takes on each device, in bytes, the CPU first; nothing with a ``problem``.

    ``growth`` are bytes that one more cell of context adds on each device.
    """

    name: str
    by_device: tuple[int, ...] = ()
    growth: tuple[float, ...] = ()
    weights_bytes: int = 0
    cache_bytes: int = 0
    compute_bytes: int = 0
    problem: str = ""

    @property
    def total_bytes(self) -> int:
        """Return everything it takes."""
        return sum(self.by_device)


def draft_problem(model: ModelFacts, draft: ModelFacts, *, swa_full: bool = False) -> str:
    """Return a sentence on why a model can't draft for another, empty if it can.

    Args:
        model: the large one.
        draft: the small one.
        swa_full: caches of sliding layers keep the whole context.
    """
    for facts in (model, draft):
        if facts.shape is None or not facts.loadable or not facts.complete:
            return f"{facts.shown_name} is no model that can be loaded for this."
    for facts in (model, draft):
        if not _can_be_cut(facts, swa_full=swa_full):
            return (
                f"{facts.shown_name} keeps a memory that can't be cut back by a few tokens, so no "
                "draft model can be used with it."
            )
    same_size = abs((model.vocab_size or 0) - (draft.vocab_size or 0)) <= _SLACK
    if not same_size or not _same_words(model.header, draft.header):
        return (
            f"{draft.shown_name} has another vocabulary than {model.shown_name}; a draft model "
            "must share it. Choose a smaller model of the same family."
        )
    return ""


def _can_be_cut(facts: ModelFacts, *, swa_full: bool) -> bool:
    shape = facts.shape
    assert shape is not None
    if shape.architecture in NO_CACHE | RECURRENT | HYBRID or any(shape.recurrent):
        return False
    return shape.swa_kind == "none" or swa_full


@lru_cache(maxsize=2)  # holds both headers
def _same_words(model: Header, draft: Header) -> bool:
    """Compare tokens spread over both vocabularies; vocabularies are long, so it is kept."""
    first, second = model.texts(_TOKENS), draft.texts(_TOKENS)
    least = min(len(first), len(second))
    step = max(1, least // _COMPARED)
    return first[:least:step] == second[:least:step]

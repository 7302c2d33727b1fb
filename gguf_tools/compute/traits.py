"""What distinguishes the graphs of plain transformers, by architecture.

Read off the ``graph`` constructors in src/models/*.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from gguf_tools.compute.attention import AttentionTraits
from gguf_tools.compute.feedforward import ExpertTraits

__all__ = ["TRAITS", "Traits", "traits_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The differences that leave results of different size or life behind.

    ``parallel``: attention and feed-forward read the same norm ("shared") or each its own ("own").
    ``logit_steps`` and ``soft_cap`` count operations in place.
    """

    layer_norm: bool = False
    pre_norm: bool = True
    post_norm: bool = False
    final_norm: bool = True
    embedding_norm: bool = False
    position_table: bool = False
    scaled_embedding: bool = False
    parallel: Literal["shared", "own"] | None = None
    parallel_order: Literal["attention_first", "ffn_first"] = "attention_first"
    scaled_q: bool = False
    soft_cap: int = 0
    logit_steps: int = 0
    activation_steps: int = 1
    attention: AttentionTraits = field(default_factory=AttentionTraits)
    experts: ExpertTraits = field(default_factory=ExpertTraits)


_NO_ROPE: Final = AttentionTraits(rope=False)

TRAITS: Final[dict[str, Traits]] = {
    "bloom": Traits(layer_norm=True, embedding_norm=True, attention=_NO_ROPE),
    "command-r": Traits(
        layer_norm=True,
        parallel="shared",
        parallel_order="ffn_first",
        attention=AttentionTraits(layer_norm=True),
    ),
    "cohere2": Traits(layer_norm=True, parallel="shared", parallel_order="ffn_first"),
    "falcon": Traits(layer_norm=True, parallel="shared"),
    "gemma": Traits(scaled_embedding=True, scaled_q=True),
    "gemma2": Traits(scaled_embedding=True, scaled_q=True, soft_cap=3),
    "gemma3": Traits(scaled_embedding=True, scaled_q=True),
    "gpt2": Traits(layer_norm=True, position_table=True, attention=_NO_ROPE),
    "mpt": Traits(layer_norm=True, attention=_NO_ROPE),
    "phi2": Traits(layer_norm=True, parallel="shared", scaled_q=True),
    "starcoder2": Traits(layer_norm=True),
    "stablelm": Traits(layer_norm=True),
}


def traits_of(architecture: str) -> Traits:
    """Return the traits of an architecture; the plain case for one without an entry."""
    return TRAITS.get(architecture, Traits())

"""What distinguishes the graphs of transformers, by architecture.

Read off the ``graph`` constructors in src/models/*.cpp. An architecture without an entry is
built as the plain case, which is right for many of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

__all__ = ["TRAITS", "AttentionTraits", "ExpertTraits", "Gating", "Traits", "traits_of"]

Gating: TypeAlias = Literal["softmax", "sigmoid", "weights", "sqrt_softplus"]
Rope: TypeAlias = Literal[
    "always",
    "never",
    "sliding",
    "lead_or_sliding",
    "three_of_four",
    "not_every_fourth",
    "seven_billion",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionTraits:
    """What distinguishes an architecture's attention, as far as results are kept apart.

    ``rope`` says on which layers Q and K are turned. ``norm_after_rope`` norms them last,
    ``layer_norm`` norms without writing in place. ``scaled_without_rope`` scales Q by position on
    layers that don't turn it.
    """

    rope: Rope = "always"
    norm_after_rope: bool = False
    plain_norm_after_rope: bool = False
    layer_norm: bool = False
    scaled_without_rope: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertTraits:
    """How experts are chosen and weighted; None leaves it to the file's keys."""

    gating: Gating | None = None
    normed: bool | None = True
    activation_steps: int = 1  # of experts without a gate
    before: bool = False  # weights go to the input, not to the output (llama4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The differences that leave results of different size or life behind.

    ``parallel``: attention and feed-forward read the same norm ("shared") or each its own ("own").
    ``pick`` says where the rows that are wanted are picked: in the last layer, before the last
    norm, after it or not at all. ``logit_steps``, ``soft_cap`` and ``activation_steps`` count
    operations in place. ``norm_first``: the first norm is computed before states are read.
    ``single_block``: a layer either mixes tokens or feeds forward. ``residual_normed``: what is
    added is the normed input.
    """

    layer_norm: bool = False
    pre_norm: bool = True
    post_norm: bool = False
    embedding_norm: bool = False
    position_table: bool = False
    scaled_embedding: bool = False
    parallel: Literal["shared", "own"] | None = None
    parallel_order: Literal["attention_first", "ffn_first", "ffn_attention"] = "attention_first"
    residual_first: Literal["no", "attention", "ffn", "both"] = "no"
    pick: Literal["last_layer", "before_norm", "after_norm", "never"] = "last_layer"
    scaled_q: bool = False
    soft_cap: int = 0
    logit_steps: int = 0
    activation_steps: int = 1
    early_router: bool = False
    norm_first: bool = False
    single_block: bool = False
    residual_normed: bool = False
    attention: AttentionTraits = field(default_factory=AttentionTraits)
    experts: ExpertTraits = field(default_factory=ExpertTraits)


_NO_ROPE: Final = AttentionTraits(rope="never")
_BY_KEY: Final = ExpertTraits(normed=None)
_UNNORMED: Final = ExpertTraits(gating="softmax", normed=False)
_LAYER_NORM: Final = Traits(layer_norm=True)
_NEMOTRON_H: Final = Traits(
    single_block=True,
    pick="after_norm",
    activation_steps=2,
    attention=_NO_ROPE,
    experts=ExpertTraits(gating="sigmoid", normed=None, activation_steps=2),
)

TRAITS: Final[dict[str, Traits]] = {
    "afmoe": Traits(
        scaled_embedding=True,
        post_norm=True,
        attention=AttentionTraits(rope="three_of_four"),
        experts=_BY_KEY,
    ),
    "apertus": Traits(activation_steps=4),
    "arctic": Traits(experts=ExpertTraits(gating="softmax")),
    "arcee": Traits(activation_steps=2),
    "baichuan": Traits(attention=AttentionTraits(rope="seven_billion")),
    "bailingmoe": Traits(experts=ExpertTraits(gating="softmax", normed=None)),
    "bailingmoe2": Traits(experts=_BY_KEY),
    "bailingmoe3": Traits(pick="after_norm", experts=_BY_KEY),
    "bloom": Traits(layer_norm=True, embedding_norm=True, attention=_NO_ROPE),
    "chameleon": Traits(attention=AttentionTraits(layer_norm=True)),
    "codeshell": _LAYER_NORM,
    "cogvlm": Traits(pick="never"),
    "cohere2": Traits(
        layer_norm=True,
        parallel="shared",
        parallel_order="ffn_first",
        attention=AttentionTraits(rope="sliding"),
    ),
    "cohere2moe": Traits(
        parallel="shared",
        parallel_order="ffn_first",
        pick="after_norm",
        attention=AttentionTraits(rope="lead_or_sliding"),
        experts=_BY_KEY,
    ),
    "command-r": Traits(
        layer_norm=True,
        parallel="shared",
        parallel_order="ffn_first",
        attention=AttentionTraits(layer_norm=True),
    ),
    "dbrx": _LAYER_NORM,
    "deepseek": Traits(experts=_UNNORMED),
    "deepseek2": Traits(experts=_BY_KEY),
    "deepseek32": Traits(experts=_BY_KEY),
    "glm-dsa": Traits(experts=_BY_KEY),
    "dots3note": Traits(experts=_BY_KEY),
    "hy_v4": Traits(experts=_BY_KEY),
    "minimax-m3": Traits(experts=ExpertTraits(normed=False)),
    "deepseek2-ocr": Traits(experts=_BY_KEY),
    "dots1": Traits(experts=_BY_KEY),
    "exaone-moe": Traits(attention=AttentionTraits(rope="sliding"), experts=_BY_KEY),
    "exaone4": Traits(pre_norm=False, post_norm=True, attention=AttentionTraits(rope="sliding")),
    "falcon": Traits(layer_norm=True, parallel="shared", parallel_order="ffn_attention"),
    "gemma": Traits(scaled_embedding=True, scaled_q=True),
    "gemma-embedding": Traits(scaled_embedding=True, scaled_q=True),
    "gemma2": Traits(scaled_embedding=True, scaled_q=True, soft_cap=3),
    "gemma3": Traits(scaled_embedding=True, scaled_q=True),
    "gemma3n": Traits(logit_steps=3),
    "gemma4": Traits(pick="after_norm", logit_steps=3),
    "glm4moe": Traits(experts=_BY_KEY),
    "gpt-oss": Traits(pick="before_norm", experts=ExpertTraits(gating="weights", normed=False)),
    "gpt2": Traits(layer_norm=True, position_table=True, attention=_NO_ROPE),
    "gptneox": Traits(layer_norm=True, parallel="own", parallel_order="ffn_first"),
    "granite": Traits(scaled_embedding=True),
    "granite_swa": Traits(scaled_embedding=True),
    "granitehybrid": Traits(attention=AttentionTraits(rope="always")),
    "grok": Traits(soft_cap=3, logit_steps=4),
    "hunyuan-dense": Traits(attention=AttentionTraits(norm_after_rope=True)),
    "hunyuan-moe": Traits(attention=AttentionTraits(norm_after_rope=True)),
    "hunyuan_vl": Traits(attention=AttentionTraits(norm_after_rope=True)),
    "hy_v3": Traits(pick="after_norm", experts=_BY_KEY),
    "jais": Traits(layer_norm=True, attention=_NO_ROPE),
    "jais2": Traits(layer_norm=True, activation_steps=2),
    "jamba": Traits(residual_first="both", attention=_NO_ROPE, experts=_UNNORMED),
    "kimi-k3": Traits(attention=_NO_ROPE, experts=_BY_KEY),
    "kimi-linear": Traits(norm_first=True, attention=_NO_ROPE, experts=_BY_KEY),
    "laguna": Traits(experts=_BY_KEY),
    "lfm2": Traits(residual_first="both"),
    "lfm2moe": Traits(residual_first="both", experts=ExpertTraits(normed=True)),
    "llama4": Traits(
        attention=AttentionTraits(
            rope="three_of_four", plain_norm_after_rope=True, scaled_without_rope=True
        ),
        experts=ExpertTraits(gating="sigmoid", normed=False, before=True),
    ),
    "maincoder": Traits(attention=AttentionTraits(norm_after_rope=True)),
    "maple": Traits(attention=AttentionTraits(rope="sliding")),
    "mimo2": Traits(experts=ExpertTraits(gating="sigmoid")),
    "minicpm": Traits(scaled_embedding=True),
    "minicpm3": Traits(scaled_embedding=True),
    "minimax-01": Traits(residual_normed=True),
    "minimax-m2": Traits(experts=ExpertTraits(normed=True)),
    "mpt": Traits(
        layer_norm=True,
        position_table=True,
        attention=AttentionTraits(rope="never", layer_norm=True),
    ),
    "muse-glimmer": Traits(
        embedding_norm=True, post_norm=True, attention=AttentionTraits(rope="sliding")
    ),
    "nemotron_h": _NEMOTRON_H,
    "nemotron_h_moe": _NEMOTRON_H,
    "nemotron": Traits(layer_norm=True, activation_steps=2),
    "nomic-bert-moe": Traits(experts=_UNNORMED),
    "olmo": _LAYER_NORM,
    "olmo2": Traits(pre_norm=False, post_norm=True),
    "olmoe": Traits(experts=_UNNORMED),
    "orion": _LAYER_NORM,
    "phi2": Traits(layer_norm=True, parallel="shared", scaled_q=True),
    "phi3": Traits(scaled_q=True, residual_first="ffn"),
    "phimoe": Traits(scaled_q=True, residual_first="ffn"),
    "openelm": Traits(residual_first="attention"),
    "plamo2": Traits(post_norm=True),
    "plamo": Traits(parallel="shared", parallel_order="ffn_attention"),
    "qwen2moe": Traits(experts=_UNNORMED),
    "qwen35": Traits(norm_first=True, pick="after_norm"),
    "qwen35moe": Traits(norm_first=True, pick="after_norm"),
    "qwen3next": Traits(norm_first=True, pick="after_norm"),
    "refact": Traits(attention=_NO_ROPE),
    "rwkv6": _LAYER_NORM,
    "rwkv7": _LAYER_NORM,
    "smallthinker": Traits(
        early_router=True,
        attention=AttentionTraits(rope="not_every_fourth"),
        experts=ExpertTraits(normed=True),
    ),
    "smollm3": Traits(attention=AttentionTraits(rope="three_of_four")),
    "stablelm": Traits(layer_norm=True, attention=AttentionTraits(layer_norm=True)),
    "starcoder": Traits(layer_norm=True, position_table=True, attention=_NO_ROPE),
    "starcoder2": _LAYER_NORM,
    "step35": Traits(pick="before_norm", experts=_BY_KEY),
    "talkie": Traits(embedding_norm=True, attention=AttentionTraits(norm_after_rope=True)),
}


def traits_of(architecture: str) -> Traits:
    """Return the traits of an architecture; the plain case for one without an entry."""
    return TRAITS.get(architecture, _PLAIN)


_PLAIN: Final = Traits()

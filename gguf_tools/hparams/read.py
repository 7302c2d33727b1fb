"""Reads hyperparameters from a header.

Follows ``llama_model_base::load_hparams`` (src/llama-model.cpp) for what all architectures share.
What the file leaves out and the engine fills in by rule is listed in ``assumed``; what can't be
used is named in ``problems``, and then there are no hyperparameters rather than invented ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from gguf_tools.header import Header
from gguf_tools.hparams.keys import Keys, UnusableKeyError
from gguf_tools.hparams.model import MAX_LAYERS, Hyperparameters
from gguf_tools.hparams.particular import PARTICULAR, recurrent_layers, state_shape
from gguf_tools.hparams.sliding import sliding_layers
from gguf_tools.hparams.tables import (
    ARCHITECTURES,
    IMAGE_POSITIONS,
    MAY_HAVE_IMAGE_POSITIONS,
    MLA,
    NON_CAUSAL,
    RECURRENT,
)

__all__ = ["HparamsReading", "read_hyperparameters"]

_UNCLEAR_WINDOW: Final = (
    "The file has a sliding window, but how this architecture uses it is unknown: the cache is "
    "counted in full, as an upper bound."
)


@dataclass(frozen=True, slots=True)
class HparamsReading:
    """What came of reading: hyperparameters, or the reasons why there are none."""

    hyperparameters: Hyperparameters | None
    assumed: tuple[str, ...]
    problems: tuple[str, ...]


def read_hyperparameters(header: Header) -> HparamsReading:
    """Return a model's hyperparameters; never raises for what a file says."""
    keys = Keys(header, header.text("general.architecture") or "")
    try:
        shape = _read(keys)
    except UnusableKeyError as error:
        return HparamsReading(None, tuple(keys.assumed), (str(error),))
    unclear = not shape.known and bool(keys.integer("attention.sliding_window", 0))
    problems = (_UNCLEAR_WINDOW,) if unclear else ()
    return HparamsReading(shape, tuple(dict.fromkeys(keys.assumed)), problems)


def _read(keys: Keys) -> Hyperparameters:
    shape = _shared(keys)
    shape = state_shape(keys, shape)
    shape = replace(shape, recurrent=recurrent_layers(keys, shape))
    shape = _attention(keys, shape)
    shape = sliding_layers(keys, shape)
    particular = PARTICULAR.get(shape.architecture)
    return particular(keys, shape) if particular is not None else shape


def _shared(keys: Keys) -> Hyperparameters:
    arch = keys.architecture
    if not arch:
        raise UnusableKeyError("The file doesn't name its architecture.")
    layers = keys.integer("block_count")
    if not 0 < layers <= MAX_LAYERS:
        raise UnusableKeyError(f"{keys.full('block_count')} is {layers}, not 1 to {MAX_LAYERS}.")
    none = (0,) * layers
    embedding = keys.integer("embedding_length")
    if not keys.has("attention.head_count") and arch not in RECURRENT:
        raise UnusableKeyError(f"The file doesn't say {keys.full('attention.head_count')}.")
    heads = keys.per_layer("attention.head_count", layers, none)
    if not keys.has("attention.head_count_kv") and any(heads):
        keys.assumed.append("kv_heads")
    head = embedding // heads[0] if heads[0] else 0
    # plamo2 reads the lengths anew, because its first layer may have no heads (models/plamo2.cpp)
    by_head = heads[0] > 0 or arch == "plamo2"
    for name in ("key_length", "value_length"):
        if by_head and not keys.has(f"attention.{name}"):
            keys.assumed.append(name)
    key_length = keys.integer("attention.key_length", head) if by_head else 0
    value_length = keys.integer("attention.value_length", head) if by_head else 0
    return Hyperparameters(
        architecture=arch,
        known=arch in ARCHITECTURES,
        context_length=keys.integer("context_length", 0),
        embedding_length=embedding,
        layers_all=layers,
        layers_nextn=min(keys.integer("nextn_predict_layers", 0), layers),
        heads=heads,
        kv_heads=keys.per_layer("attention.head_count_kv", layers, heads),
        feed_forward=keys.per_layer("feed_forward_length", layers, none),
        key_length=key_length,
        value_length=value_length,
        key_length_swa=keys.integer("attention.key_length_swa", key_length),
        value_length_swa=keys.integer("attention.value_length_swa", value_length),
        experts=keys.integer("expert_count", 0),
        experts_used=keys.per_layer("expert_used_count", layers, none),
        expert_feed_forward=keys.per_layer("expert_feed_forward_length", layers, none),
        shared_experts=keys.integer("expert_shared_count", 0),
        shared_feed_forward=keys.integer("expert_shared_feed_forward_length", 0),
        experts_normed=keys.boolean("expert_weights_norm", default=False),
        experts_scale=keys.header.number(keys.full("expert_weights_scale")) or 0.0,
        experts_gating=keys.integer("expert_gating_func", 0),
        expert_groups=keys.integer("expert_group_count", 0),
        expert_groups_used=keys.integer("expert_group_used_count", 0),
        dense_lead=keys.integer("leading_dense_block_count", 0),
        expert_step=keys.integer("interleave_moe_layer_step", 1),
        output_length=keys.integer("embedding_length_out", 0),
        rope_dimensions=keys.integer("rope.dimension_count", key_length),
        position_rows=_position_rows(keys),
        causal=arch not in NON_CAUSAL and keys.boolean("attention.causal", default=True),
        sliding=(False,) * layers,
        recurrent=(False,) * layers,
    )


def _position_rows(keys: Keys) -> int:
    """Return the positions of a token (``n_pos_per_embd``, by ``llama_model_rope_type``)."""
    if keys.architecture in IMAGE_POSITIONS:
        return 4
    sections = keys.listed("rope.dimension_sections") or []
    sectioned = len(sections) > 1 and sections[0] > 0 and sections[1] > 0
    return 4 if sectioned and keys.architecture in MAY_HAVE_IMAGE_POSITIONS else 1


def _attention(keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    mla = shape.architecture in MLA
    return replace(
        shape,
        mla_key_length=keys.integer("attention.key_length_mla", 0) if mla else 0,
        mla_value_length=keys.integer("attention.value_length_mla", 0) if mla else 0,
        kv_lora_rank=keys.integer("attention.kv_lora_rank", 0),
        q_lora_rank=keys.integer("attention.q_lora_rank", 0),
        indexer_key_length=keys.integer("attention.indexer.key_length", 0),
        indexer_heads=keys.integer("attention.indexer.head_count", 0),
        indexer_top_k=keys.integer("attention.indexer.top_k", 0),
        indexer_block=keys.integer("attention.indexer.block_size", 0),
    )

"""The shape of a model as data, as the engine holds it in ``llama_hparams``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

__all__ = ["MAX_LAYERS", "Hyperparameters", "SwaKind"]

MAX_LAYERS: Final = 512  # LLAMA_MAX_LAYERS

SwaKind: TypeAlias = Literal["none", "standard", "chunked", "symmetric"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hyperparameters:
    """Shape of a model as the engine holds it (``llama_hparams``), lengths in elements.

    Compared by identity, so that it can key caches cheaply.

    Per-layer tuples have ``layers_all`` entries. ``layers_nextn`` of them, the last, predict
    further tokens and stay unused in a normal context.
    """

    architecture: str
    known: bool
    context_length: int
    embedding_length: int
    layers_all: int
    layers_nextn: int
    heads: tuple[int, ...]
    kv_heads: tuple[int, ...]
    feed_forward: tuple[int, ...]
    key_length: int
    value_length: int
    key_length_swa: int
    value_length_swa: int
    mla_key_length: int = 0
    mla_value_length: int = 0
    kv_lora_rank: int = 0
    kv_lora_rank_swa: int = 0
    q_lora_rank: int = 0
    swa_kind: SwaKind = "none"
    window: int = 0
    sliding: tuple[bool, ...] = ()
    recurrent: tuple[bool, ...] = ()
    experts: int = 0
    experts_used: tuple[int, ...] = ()
    expert_feed_forward: tuple[int, ...] = ()
    shared_experts: int = 0
    shared_feed_forward: int = 0
    experts_normed: bool = False
    experts_scale: float = 0.0
    experts_gating: int = 0
    expert_groups: int = 0
    expert_groups_used: int = 0
    dense_lead: int = 0
    expert_step: int = 1  # of so many layers one runs its experts
    causal: bool = True
    kv_from_start: int = -1
    router_layer: int = -1
    loops: int = 1
    output_length: int = 0
    indexer_key_length: int = 0
    indexer_heads: int = 0
    indexer_top_k: int = 0
    indexer_pool: int = 0
    indexer_block: int = 0
    indexer_full: tuple[bool, ...] = ()
    compress_ratios: tuple[int, ...] = ()
    residual_streams: int = 0  # hyper-connections: this many streams beside each other
    residual_block: int = 0  # so many layers run between inputs that are kept for later ones
    rope_dimensions: int = 0
    position_rows: int = 1  # positions a token has: several where images have a place too
    conv_kernel: int = 0
    inner_size: int = 0
    state_size: int = 0
    time_step_rank: int = 0
    group_count: int = 0
    wkv_head_size: int = 0
    token_shifts: int = 2
    shortconv_cache: int = 0
    kda_head_length: int = 0
    linear_head_length: int = 0
    ple_layers: frozenset[int] = field(default_factory=frozenset)
    ple_state: int = 0
    deepstack: tuple[int, ...] = ()
    per_layer_embedding: int = 0

    @property
    def layers(self) -> int:
        """Return the layers that a normal context runs (``n_layer()``)."""
        return self.layers_all - self.layers_nextn

    @property
    def mla(self) -> bool:
        """Tell whether attention is compressed to one latent row a token (``is_mla()``)."""
        return self.mla_key_length != 0 and self.mla_value_length != 0

    def head_k(self, layer: int) -> int:
        """Return the length of a key head of a layer (``n_embd_head_k``)."""
        return self.key_length_swa if self.sliding[layer] else self.key_length

    def head_v(self, layer: int) -> int:
        """Return the length of a value head of a layer (``n_embd_head_v``)."""
        return self.value_length_swa if self.sliding[layer] else self.value_length

    def k_width(self, layer: int) -> int:
        """Return elements of K per token of a layer (``n_embd_k_gqa``)."""
        return self.head_k(layer) * self.kv_heads[layer]

    def v_width(self, layer: int) -> int:
        """Return elements of V per token of a layer (``n_embd_v_gqa``)."""
        return self.head_v(layer) * self.kv_heads[layer]

    @property
    def conv_state(self) -> int:
        """Return elements of convolution state of a recurrent layer (``n_embd_r``)."""
        if self.wkv_head_size:
            return self.token_shifts * self.embedding_length
        if self.shortconv_cache:
            return self.embedding_length * (self.shortconv_cache - 1)
        if self.kda_head_length:
            kernel = self.conv_kernel - 1 if self.conv_kernel > 0 else 3
            return 3 * kernel * self.heads[0] * self.kda_head_length
        width = self.inner_size + 2 * self.group_count * self.state_size
        return max(self.conv_kernel - 1, 0) * width

    @property
    def recurrent_state(self) -> int:
        """Return elements of recurrent state of a recurrent layer (``n_embd_s``)."""
        if self.wkv_head_size:
            return self.embedding_length * self.wkv_head_size
        if self.kda_head_length:
            return self.kda_head_length**2 * self.heads[0]
        if self.linear_head_length:
            return self.linear_head_length**2 * self.heads[0]
        return self.state_size * self.inner_size

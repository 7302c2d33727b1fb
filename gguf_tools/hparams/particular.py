"""What only some architectures have: recurrent state, shared caches, indexers, loops.

Each function follows ``load_arch_hparams`` in the file of src/models/ that bears the name of the
architecture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from gguf_tools.hparams.keys import Keys, UnusableKeyError
from gguf_tools.hparams.model import MAX_LAYERS, Hyperparameters
from gguf_tools.hparams.tables import HYBRID, INTERVAL_DEFAULTS, RECURRENT, STATE_WITH_GROUPS

__all__ = ["PARTICULAR", "recurrent_layers", "state_shape"]

_RWKV: Final = frozenset({"rwkv6", "rwkv7", "arwkv7", "rwkv6qwen2"})
_KDA: Final = frozenset({"kimi-linear", "kimi-k3", "bailingmoe3", "glm5-next"})


def state_shape(keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    """Return the shape with the sizes of its recurrent state.

    Raises:
        UnusableKeyError: a size is missing that the engine demands.
    """
    arch = shape.architecture
    if arch in STATE_WITH_GROUPS or arch in {"mamba", "jamba"}:
        return replace(
            shape,
            conv_kernel=keys.integer("ssm.conv_kernel"),
            inner_size=keys.integer("ssm.inner_size"),
            state_size=keys.integer("ssm.state_size"),
            time_step_rank=keys.integer("ssm.time_step_rank", 0),
            group_count=keys.integer("ssm.group_count") if arch in STATE_WITH_GROUPS else 0,
        )
    if arch in _RWKV:
        return replace(
            shape,
            wkv_head_size=keys.integer("wkv.head_size"),
            token_shifts=keys.integer("token_shift_count", 2),
        )
    if arch in {"lfm2", "lfm2moe"}:
        return replace(shape, shortconv_cache=keys.integer("shortconv.l_cache"))
    if arch in _KDA:
        return replace(
            shape,
            conv_kernel=keys.integer("ssm.conv_kernel"),
            kda_head_length=keys.integer("kda.head_dim"),
        )
    if arch == "minimax-01":
        return replace(shape, linear_head_length=shape.key_length)
    return shape


def recurrent_layers(keys: Keys, shape: Hyperparameters) -> tuple[bool, ...]:
    """Return for each layer whether it keeps a recurrent state.

    Raises:
        UnusableKeyError: the list or the interval in the file can't be used.
    """
    arch = shape.architecture
    layers = range(shape.layers_all)
    if arch in RECURRENT or arch == "falcon-h1":
        return (True,) * shape.layers_all
    if arch in {"nemotron_h", "nemotron_h_moe"}:
        return tuple(
            layer < shape.layers and shape.kv_heads[layer] == 0 and shape.feed_forward[layer] == 0
            for layer in layers
        )
    if arch in INTERVAL_DEFAULTS:
        listed = keys.per_layer("attention.recurrent_layers", shape.layers_all, ())
        if listed:
            return tuple(bool(item) for item in listed)
        name = "full_attention_interval"
        interval = keys.integer(name, INTERVAL_DEFAULTS[arch])
        if interval == 0:
            raise UnusableKeyError(f"{keys.full(name)} is 0.")
        if not keys.has(name):
            keys.assumed.append(name)
        return tuple(layer < shape.layers and (layer + 1) % interval != 0 for layer in layers)
    if arch == "glm5-next":
        return tuple(count == 0 for count in shape.kv_heads)
    if arch in HYBRID and arch != "deepseek4":
        return tuple(layer < shape.layers and shape.kv_heads[layer] == 0 for layer in layers)
    return (False,) * shape.layers_all


def _gemma3n(_keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    return replace(shape, kv_from_start=20)


def _gemma4(keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    return replace(
        shape,
        kv_from_start=shape.layers_all - keys.integer("attention.shared_kv_layers", 0),
        per_layer_embedding=keys.integer("embedding_length_per_layer_input", 0),
    )


def _lfm2(keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    window = keys.integer("attention.sliding_window", 0)
    if window == 0:
        return shape
    sliding = tuple(
        layer < shape.layers and not shape.recurrent[layer] for layer in range(shape.layers_all)
    )
    return replace(shape, window=window, swa_kind="standard", sliding=sliding)


def _nanbeige(keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    loops = keys.integer("num_loops", 1)
    layers = shape.layers
    if loops < 1 or layers * loops > MAX_LAYERS:
        raise UnusableKeyError(f"{keys.full('num_loops')} is {loops}.")
    if loops == 1:
        return shape
    none = (0,) * (layers * loops)
    return replace(
        shape,
        loops=loops,
        layers_all=layers * loops,
        layers_nextn=0,
        heads=shape.heads[:layers] * loops,
        kv_heads=shape.kv_heads[:layers] * loops,
        feed_forward=shape.feed_forward[:layers] * loops,
        sliding=shape.sliding[:layers] * loops,
        recurrent=shape.recurrent[:layers] * loops,
        experts_used=none,
        expert_feed_forward=none,
    )


def _graniteswitch(_keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    layers = shape.layers
    return replace(
        shape,
        router_layer=layers,
        layers_all=layers + 1,
        layers_nextn=1,
        heads=(*shape.heads[:layers], 1),
        kv_heads=(*shape.kv_heads[:layers], 1),
        feed_forward=(*shape.feed_forward[:layers], 0),
        sliding=(*shape.sliding[:layers], False),
        recurrent=(*shape.recurrent[:layers], False),
        experts_used=(*shape.experts_used[:layers], 0),
        expert_feed_forward=(*shape.expert_feed_forward[:layers], 0),
    )


def _indexers(keys: Keys, shape: Hyperparameters, default: tuple[bool, ...]) -> tuple[bool, ...]:
    listed = keys.per_layer("attention.indexer.types", shape.layers, ())
    row = tuple(bool(item) for item in listed) if listed else default
    return (*row, *(False,) * shape.layers_all)[: shape.layers_all]


def _glm_dsa(keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    # Files of the first releases list no types, and all their layers index.
    if shape.context_length < 1_048_576:
        default = (True,) * shape.layers
    else:
        default = (True, True, *((True, False, False, False) * 19))[: shape.layers]
    return replace(shape, indexer_full=_indexers(keys, shape, default))


def _deepseek32(_keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    return replace(shape, indexer_full=(True,) * shape.layers_all)


def _hy_v4(keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    full = _indexers(keys, shape, ()) if shape.indexer_top_k else ()
    streams = keys.integer("hyper_connection.count", 0)
    return replace(shape, indexer_full=full, residual_streams=streams)


def _dots3note(keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    listed = keys.listed("attention.indexer.types")
    if listed is None:
        raise UnusableKeyError(f"The file doesn't say {keys.full('attention.indexer.types')}.")
    row = (*(bool(item) for item in listed), *(False,) * shape.layers_all)
    return replace(
        shape,
        indexer_full=row[: shape.layers_all],
        kv_lora_rank_swa=keys.integer("attention.kv_lora_rank_swa", 0),
    )


def _glm5_next(keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    return replace(
        shape,
        value_length=shape.kv_lora_rank,
        indexer_pool=keys.integer("attention.indexer.kpool"),
        indexer_full=_indexers(keys, shape, (True,) * shape.layers),
        residual_streams=keys.integer("hyper_connection.count", 0),
    )


def _kimi_k3(keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    return replace(
        shape,
        value_length=shape.kv_lora_rank,
        residual_block=keys.integer("attn_res.block_size", 0),
    )


def _deepseek4(keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    name = "attention.compress_ratios"
    ratios = keys.listed(name) or []
    if len(ratios) < shape.layers_all:
        raise UnusableKeyError(f"{keys.full(name)} lists too few layers.")
    probe = f"blk.{shape.layers}.nextn.eh_proj.weight"
    return replace(
        shape,
        layers_nextn=shape.layers_nextn if probe in keys.header.tensors else 0,
        compress_ratios=tuple(ratios[: shape.layers_all]),
        residual_streams=keys.integer("hyper_connection.count", 0),
    )


def _qwen4exp(keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    streams = keys.integer("hyper_connection.count", 0)
    layers = keys.listed("ple.layers") or []
    state = 0
    if layers:
        kernel = keys.integer("ple.conv_kernel")
        ngram = keys.integer("ple.ngram_size")
        state = (kernel - 1) * ngram * streams * shape.embedding_length
    return replace(shape, residual_streams=streams, ple_layers=frozenset(layers), ple_state=state)


def _deepstack(keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    return replace(shape, deepstack=tuple(range(keys.integer("n_deepstack_layers", 0))))


def _deepstack_mapping(keys: Keys, shape: Hyperparameters) -> Hyperparameters:
    mapping = keys.listed("deepstack_mapping") or []
    return replace(shape, deepstack=tuple(layer for layer, part in enumerate(mapping) if part >= 0))


PARTICULAR: Final[dict[str, Callable[[Keys, Hyperparameters], Hyperparameters]]] = {
    "deepseek32": _deepseek32,
    "deepseek4": _deepseek4,
    "dots3note": _dots3note,
    "gemma3n": _gemma3n,
    "gemma4": _gemma4,
    "glm-dsa": _glm_dsa,
    "glm5-next": _glm5_next,
    "granite": _deepstack_mapping,
    "granite_swa": _deepstack_mapping,
    "graniteswitch": _graniteswitch,
    "hy_v4": _hy_v4,
    "kimi-k3": _kimi_k3,
    "lfm2": _lfm2,
    "nanbeige": _nanbeige,
    "qwen3vl": _deepstack,
    "qwen3vlmoe": _deepstack,
    "qwen4exp": _qwen4exp,
}

"""Hyperparameters that architectures of their own read in their own way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gguf_tools.header import open_header
from gguf_tools.hparams import Hyperparameters
from gguf_tools.hparams.read import HparamsReading, read_hyperparameters
from gguf_tools.kv import KvSettings, kv_caches
from gguf_tools.state import state_layers
from tests.helpers.families.family import base_keys
from tests.helpers.gguf_bytes import GgufBuilder

_CELLS = 1024


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Read keys of an architecture; those of its own are given as (kind, value) by name."""

    def reading(architecture: str, keys: dict[str, tuple[str, Any]], **base: int) -> HparamsReading:
        sizes = {"layers": 4, "heads": 8, "kv_heads": 2, "head": 64, "width": 512} | base
        builder = GgufBuilder().text("general.architecture", architecture)
        for name, (kind, value) in (base_keys(**sizes) | keys).items():
            builder.key(f"{architecture}.{name}", kind, value)
        builder.tensor("token_embd.weight", (sizes["width"], 100), "F16")
        return read_hyperparameters(open_header(builder.write(tmp_path / "m.gguf")))

    return reading


def _shape(reading: HparamsReading) -> Hyperparameters:
    assert reading.hyperparameters is not None, reading.problems
    return reading.hyperparameters


def _caches(shape: Hyperparameters) -> dict[str, int]:
    return {
        cache.name: cache.size_bytes() for cache in kv_caches(shape, KvSettings(context=_CELLS))
    }


# --- numbers and lists


def test_a_list_of_equal_numbers_is_a_number(read: Any) -> None:
    shape = _shape(read("llama", {"embedding_length": ("[u32]", [512, 512])}))
    assert shape.embedding_length == 512


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"embedding_length": ("[u32]", [512, 256])}, "lists different values"),
        ({"block_count": ("u32", 0)}, "block_count is 0, not 1 to "),
        ({"block_count": ("u32", 1 << 20)}, "block_count is 1048576, not 1 to "),
        ({"embedding_length": ("i32", -1)}, "doesn't say llama.embedding_length"),
        ({"attention.head_count": ("[i32]", [8, 8])}, "lists 2 layers, and the model has 4"),
        ({"attention.head_count": ("[f32]", [8.0])}, "lists different values"),
    ],
)
def test_what_the_engine_refuses_too(
    read: Any, keys: dict[str, tuple[str, Any]], problem: str
) -> None:
    reading = read("llama", keys)
    assert reading.hyperparameters is None
    assert problem in reading.problems[0]


def test_one_number_in_a_list_stands_for_all_layers(read: Any) -> None:
    shape = _shape(read("llama", {"attention.head_count_kv": ("[i32]", [4])}))
    assert shape.kv_heads == (4, 4, 4, 4)
    below = _shape(read("llama", {"attention.head_count_kv": ("[i32]", [2, -1, 0, 2])}))
    assert below.kv_heads == (2, 0, 0, 2)


def test_a_list_too_long_to_be_one_of_layers_is_not_read(read: Any) -> None:
    reading = read("llama", {"attention.head_count": ("[u8]", [8] * 70_000)})
    assert reading.hyperparameters is None


def test_an_unnamed_architecture(tmp_path: Path) -> None:
    path = GgufBuilder().u32("llama.block_count", 1).write(tmp_path / "m.gguf")
    assert "doesn't name its architecture" in read_hyperparameters(open_header(path)).problems[0]


# --- windows


def test_an_unknown_architecture_with_a_window_is_counted_in_full(read: Any) -> None:
    reading = read("newest", {"attention.sliding_window": ("u32", 128)})
    assert not _shape(reading).known
    assert "upper bound" in reading.problems[0]


@pytest.mark.parametrize(
    ("architecture", "keys", "problem"),
    [
        ("cohere2", {}, "doesn't say cohere2.attention.sliding_window"),
        (
            "mimo2",
            {"attention.sliding_window": ("u32", 128)},
            "doesn't say mimo2.attention.sliding_window_pattern",
        ),
        (
            "mimo2",
            {
                "attention.sliding_window": ("u32", 128),
                "attention.sliding_window_pattern": ("[bool]", [True] * 600),
            },
            "lists 600 layers",
        ),
    ],
)
def test_windows_that_can_not_be_used(
    read: Any, architecture: str, keys: dict[str, tuple[str, Any]], problem: str
) -> None:
    reading = read(architecture, keys)
    assert reading.hyperparameters is None
    assert problem in reading.problems[0]


def test_windows_where_the_file_leaves_them_open(read: Any) -> None:
    gemma = read("gemma2", {})
    assert _shape(gemma).window == 4096
    assert _shape(gemma).sliding == (True, False, True, False)
    assert {"sliding_window", "sliding_window_pattern"} <= set(gemma.assumed)
    every = {
        "attention.sliding_window": ("u32", 128),
        "attention.sliding_window_pattern": ("u32", 0),
    }
    assert _shape(read("gemma2", every)).sliding == (True,) * 4
    assert _shape(read("smallthinker", every)).window == 4096  # whatever the file says
    assert _shape(read("exaone4", every)).swa_kind == "none"  # only models of 64 layers slide
    listed = every | {"attention.sliding_window_pattern": ("[bool]", [True, True, False])}
    assert _shape(read("mimo2", listed)).sliding == (True, True, False, False)


# --- layers with a state


def test_intervals_of_full_attention(read: Any) -> None:
    state = {
        "ssm.conv_kernel": ("u32", 4),
        "ssm.inner_size": ("u32", 256),
        "ssm.state_size": ("u32", 64),
        "ssm.time_step_rank": ("u32", 4),
        "ssm.group_count": ("u32", 2),
    }
    assumed = read("qwen3next", state)
    assert _shape(assumed).recurrent == (True, True, True, False)
    assert "full_attention_interval" in assumed.assumed
    said = read("qwen3next", state | {"full_attention_interval": ("u32", 2)})
    assert _shape(said).recurrent == (True, False, True, False)
    listed = read(
        "qwen3next", state | {"attention.recurrent_layers": ("[bool]", [True, False] * 2)}
    )
    assert _shape(listed).recurrent == (True, False, True, False)
    none = read("qwen3next", state | {"full_attention_interval": ("u32", 0)})
    assert "full_attention_interval is 0" in none.problems[0]


def test_loops_run_the_same_layers_again(read: Any) -> None:
    assert _shape(read("nanbeige", {})).loops == 1
    twice = _shape(read("nanbeige", {"num_loops": ("u32", 2)}))
    assert (twice.loops, twice.layers_all) == (2, 8)
    assert _caches(twice)["main"] == 8 * _CELLS * 2 * (2 * 64) * 2
    for loops in (0, 1 << 20):
        reading = read("nanbeige", {"num_loops": ("u32", loops)})
        assert f"num_loops is {loops}" in reading.problems[0]


def test_a_router_is_a_layer_with_one_head(read: Any) -> None:
    shape = _shape(read("graniteswitch", {}))
    assert (shape.layers, shape.layers_all, shape.router_layer) == (4, 5, 4)
    assert shape.kv_heads == (2, 2, 2, 2, 1)
    # Two heads of 64 values, K and V, in four layers, and one head in the router's.
    assert _caches(shape)["main"] == (4 * 2 + 1) * _CELLS * 2 * 64 * 2


def test_parts_of_a_wide_input(read: Any) -> None:
    assert _shape(read("qwen3vl", {"n_deepstack_layers": ("u32", 3)})).deepstack == (0, 1, 2)
    mapped = {"deepstack_mapping": ("[i32]", [-1, 0, -1, 1])}
    assert _shape(read("granite", mapped)).deepstack == (1, 3)
    assert _shape(read("granite", {})).deepstack == ()


# --- sparse attention

_LATENT = {
    "attention.key_length_mla": ("u32", 96),
    "attention.value_length_mla": ("u32", 64),
    "attention.kv_lora_rank": ("u32", 128),
    "attention.indexer.key_length": ("u32", 32),
    "attention.indexer.head_count": ("u32", 4),
    "attention.indexer.top_k": ("u32", 16),
}
_INDEX_ROW = 32 * 2  # one key head of 32 values, f16


def test_layers_that_index(read: Any) -> None:
    first = _shape(read("glm-dsa", _LATENT))  # short contexts: files that list nothing
    assert first.indexer_full == (True,) * 4
    long = _shape(read("glm-dsa", _LATENT, context=1 << 20, layers=8))
    assert long.indexer_full == (True, True, True, False, False, False, True, False)
    assert _caches(long)["indexer"] == 4 * _CELLS * _INDEX_ROW
    listed = _LATENT | {"attention.indexer.types": ("[u32]", [0, 1, 1, 0])}
    assert _shape(read("glm-dsa", listed)).indexer_full == (False, True, True, False)
    windows = {
        "attention.sliding_window": ("u32", 128),
        "attention.sliding_window_pattern": ("[bool]", [True, False] * 2),
    }
    missing = read("dots3note", _LATENT | windows)
    assert "doesn't say dots3note.attention.indexer.types" in missing.problems[0]


def test_indexes_of_every_layer(read: Any) -> None:
    shape = _shape(read("deepseek32", _LATENT))
    assert _caches(shape)["indexer"] == 4 * _CELLS * _INDEX_ROW


def test_pooled_indexes_keep_three_keys(read: Any) -> None:
    glm = _LATENT | {
        "attention.head_count_kv": ("[i32]", [1, 0, 1, 0]),
        "attention.indexer.kpool": ("u32", 4),
        "hyper_connection.count": ("u32", 4),
        "kda.head_dim": ("u32", 64),
        "ssm.conv_kernel": ("u32", 4),
    }
    shape = _shape(read("glm5-next", glm))
    assert shape.recurrent == (False, True, False, True)
    assert (shape.value_length, shape.residual_streams) == (128, 4)
    assert _caches(shape)["indexer"] == 2 * _CELLS * 3 * _INDEX_ROW
    unpooled = _shape(read("glm5-next", glm | {"attention.indexer.kpool": ("u32", 0)}))
    assert _caches(unpooled)["indexer"] == 2 * _CELLS * _INDEX_ROW


def test_a_value_of_latent_attention_is_as_long_as_its_rank(read: Any) -> None:
    kimi = _LATENT | {"ssm.conv_kernel": ("u32", 4), "kda.head_dim": ("u32", 64)}
    assert _shape(read("kimi-k3", kimi)).value_length == 128


def test_compressed_caches_need_a_ratio_for_each_layer(read: Any) -> None:
    few = {
        "attention.sliding_window": ("u32", 128),
        "attention.compress_ratios": ("[u32]", [4, 128]),
    }
    reading = read("deepseek4", few)
    assert "compress_ratios lists too few layers" in reading.problems[0]


def test_a_state_of_n_grams(read: Any) -> None:
    keys = {
        "full_attention_interval": ("u32", 4),
        "ssm.conv_kernel": ("u32", 4),
        "ssm.inner_size": ("u32", 256),
        "ssm.state_size": ("u32", 64),
        "ssm.time_step_rank": ("u32", 4),
        "ssm.group_count": ("u32", 2),
        "hyper_connection.count": ("u32", 4),
        "attention.indexer.key_length": ("u32", 32),
    }
    plain = _shape(read("qwen4exp", keys))
    assert (plain.ple_layers, plain.ple_state) == (frozenset(), 0)
    grams = {
        "ple.layers": ("[u32]", [1, 2]),
        "ple.conv_kernel": ("u32", 4),
        "ple.ngram_size": ("u32", 3),
    }
    shape = _shape(read("qwen4exp", keys | grams))
    assert shape.ple_layers == {1, 2}
    assert shape.ple_state == (4 - 1) * 3 * 4 * 512
    more = {
        layer.layer: layer.size_bytes() - other.size_bytes()
        for layer, other in zip(state_layers(shape, 2), state_layers(plain, 2), strict=True)
    }
    assert more == {0: 0, 1: 2 * 4 * shape.ple_state, 2: 2 * 4 * shape.ple_state}
    assert _caches(shape)["indexer"] == 1 * _CELLS * _INDEX_ROW  # the one layer of full attention


def test_layers_that_index_by_their_number_of_best(read: Any) -> None:
    listed = _LATENT | {"attention.indexer.types": ("[u32]", [1, 0, 0, 1])}
    shape = _shape(read("hy_v4", listed))
    assert _caches(shape)["indexer"] == 2 * _CELLS * _INDEX_ROW
    none = _shape(read("hy_v4", listed | {"attention.indexer.top_k": ("u32", 0)}))
    assert "indexer" not in _caches(none)
    assert none.indexer_block == 0


def test_positions_of_tokens_beside_images(read: Any) -> None:
    sections = {"rope.dimension_sections": ("[i32]", [8, 8, 0, 0])}
    assert _shape(read("glm4", sections)).position_rows == 4
    assert _shape(read("qwen2vl", {})).position_rows == 4
    assert _shape(read("glm4", {})).position_rows == 1
    one = {"rope.dimension_sections": ("[i32]", [8, 0, 0, 0])}
    assert _shape(read("glm4", one)).position_rows == 1
    assert _shape(read("llama", sections)).position_rows == 1

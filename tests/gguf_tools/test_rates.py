"""Operations and bytes of a token, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.machine import cpu_only
from gguf_tools.memory import memory_plan
from gguf_tools.prefill import attention_flops
from gguf_tools.quants import TensorType
from gguf_tools.rates import layer_reads, token_bytes
from gguf_tools.roles import block_of, expert_share, read_fraction
from gguf_tools.settings import LoadSettings
from tests.helpers.families import FAMILIES
from tests.helpers.gguf_bytes import type_named


def _facts(family: str, folder: Path) -> ModelFacts:
    return read_facts(FAMILIES[family].builder().write(folder / f"{family}.gguf"))


def _pairs(tokens: int, window: int = 0) -> int:
    """Return how many (query, seen token) pairs there are in a prompt."""
    return sum(min(index + 1, window) if window else index + 1 for index in range(tokens))


def test_attention_over_a_prompt(tmp_path: Path) -> None:
    shape = _facts("dense", tmp_path).shape
    assert shape is not None
    # Five layers of nine heads: a product with K and one with V, two operations a value.
    assert attention_flops(shape, 300) == pytest.approx(5 * 9 * 2 * (32 + 32) * _pairs(300))


def test_latent_attention_works_on_the_compressed_values(tmp_path: Path) -> None:
    shape = _facts("latent", tmp_path).shape
    assert shape is not None
    assert attention_flops(shape, 100) == pytest.approx(5 * 5 * 2 * (224 + 192) * _pairs(100))


@pytest.mark.parametrize(
    ("kind", "bits"), [("F16", 16.0), ("Q4_0", 4.5), ("Q8_0", 8.5), ("Q4_K", 4.5), ("Q6_K", 6.5625)]
)
def test_bits_of_types(kind: str, bits: float) -> None:
    found: TensorType = type_named(kind)
    assert found.bits_per_element == bits
    assert found.quantized is (kind != "F16")
    assert found.row_bytes(512) == 512 * bits / 8


def test_one_expert_of_several(tmp_path: Path) -> None:
    facts = _facts("chunks_off", tmp_path)  # one of seven is used
    shape = facts.shape
    assert shape is not None
    tensor = facts.header.tensors["blk.1.ffn_up_exps.weight"]
    assert read_fraction(tensor, shape) == pytest.approx(1 / 7)
    assert read_fraction(tensor, shape, 2) == pytest.approx(1 - (6 / 7) ** 2)
    assert read_fraction(facts.header.tensors["blk.1.ffn_up_shexp.weight"], shape) == 1.0


@pytest.mark.parametrize(
    ("name", "block"),
    [("blk.12.attn_q.weight", 12), ("dec.blk.3.ffn_up.weight", 3), ("output.weight", None)],
)
def test_layers_in_names(name: str, block: int | None) -> None:
    assert block_of(name) == block


def test_layers_without_a_cache_read_that_of_another(tmp_path: Path) -> None:
    # Five layers have caches; of the last four, two slide and read the fourth's, two the fifth's.
    facts = _facts("own_and_shared_kv", tmp_path)
    shape = facts.shape
    assert shape is not None
    load = LoadSettings(context=256)
    memory = memory_plan(facts, load, cpu_only())
    (read,) = token_bytes(
        facts.header,
        shape,
        memory.settings,
        memory.placement,
        memory.caches,
        memory.states,
        devices=1,
        depth=255,
    )
    row = {
        item.layer: item.k_row_bytes + item.v_row_bytes
        for cache in memory.caches
        for item in cache.layers
    }
    assert sorted(row) == [0, 1, 2, 3, 4]
    assert read.kv == 256 * (row[0] + row[1] + row[2] + 3 * row[3] + 3 * row[4])


def test_what_is_no_expert_is_read_whole(tmp_path: Path) -> None:
    facts = _facts("experts", tmp_path)
    assert facts.shape is not None
    every = replace(facts.shape, experts_used=(11,) * 5)
    tensor = facts.header.tensors["blk.0.ffn_up_exps.weight"]
    assert read_fraction(tensor, facts.shape) == pytest.approx(5 / 11)
    assert read_fraction(tensor, every) == 1.0
    assert read_fraction(facts.header.tensors["output_norm.weight"], facts.shape) == 1.0


def test_all_experts_are_read_where_none_are_chosen_between(tmp_path: Path) -> None:
    shape = _facts("experts", tmp_path).shape
    assert shape is not None
    assert expert_share(shape, 0, 1) == pytest.approx(5 / 11)
    assert expert_share(shape, 0, 2) == pytest.approx(1 - (6 / 11) ** 2)
    assert expert_share(replace(shape, experts_used=(11,) * 5), 0, 1) == 1.0
    assert expert_share(replace(shape, experts_used=()), 0, 1) == 1.0
    dense = _facts("dense", tmp_path).shape
    assert dense is not None
    assert expert_share(dense, 0, 1) == 1.0


def test_a_layer_the_file_does_not_announce_is_not_read(tmp_path: Path) -> None:
    facts = _facts("dense", tmp_path)
    assert facts.shape is not None
    builder = FAMILIES["dense"].builder()
    builder.tensor("blk.5.attn_norm.weight", (288,), "F32")  # five are announced: 0 to 4
    more = read_facts(builder.write(tmp_path / "more.gguf"))
    assert more.shape is not None
    assert layer_reads(more.header, more.shape) == layer_reads(facts.header, facts.shape)

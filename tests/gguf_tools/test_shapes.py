"""Every hyperparameter of some models: what the file says, and nothing where it says nothing."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from gguf_tools.facts import read_facts
from gguf_tools.header import open_header
from gguf_tools.hparams import Hyperparameters
from gguf_tools.hparams.read import read_hyperparameters
from tests.helpers.families import FAMILIES
from tests.helpers.gguf_bytes import GgufBuilder


def _plain(
    architecture: str, layers: int, width: int, heads: int, kv_heads: int, head: int, wide: int
) -> Hyperparameters:
    """Return a transformer of equal layers that sees 65,536 tokens."""
    return Hyperparameters(
        architecture=architecture,
        known=True,
        context_length=65_536,
        embedding_length=width,
        layers_all=layers,
        layers_nextn=0,
        heads=(heads,) * layers,
        kv_heads=(kv_heads,) * layers,
        feed_forward=(wide,) * layers,
        key_length=head,
        value_length=head,
        key_length_swa=head,
        value_length_swa=head,
        sliding=(False,) * layers,
        recurrent=(False,) * layers,
        experts_used=(0,) * layers,
        expert_feed_forward=(0,) * layers,
        rope_dimensions=head,
    )


SHAPES = {
    "dense": _plain("qwen2", 5, 288, 9, 3, 32, 608),
    "experts": replace(
        _plain("qwen3moe", 5, 288, 6, 3, 64, 608),
        experts=11,
        experts_used=(5,) * 5,
        expert_feed_forward=(96,) * 5,
    ),
    "sliding": replace(
        _plain("gemma3", 8, 224, 7, 7, 64, 416),
        swa_kind="standard",
        window=700,
        sliding=(True,) * 5 + (False,) + (True,) * 2,
    ),
    "latent": replace(
        _plain("deepseek2", 5, 288, 5, 1, 224, 608),
        value_length=192,
        value_length_swa=192,
        mla_key_length=96,
        mla_value_length=64,
        kv_lora_rank=192,
        q_lora_rank=160,
        experts=7,
        experts_used=(3,) * 5,
        expert_feed_forward=(96,) * 5,
        shared_experts=1,
        dense_lead=2,
        rope_dimensions=32,
    ),
    "mamba": replace(
        _plain("mamba", 5, 224, 0, 3, 0, 0),
        recurrent=(True,) * 5,
        rope_dimensions=48,
        conv_kernel=5,
        inner_size=448,
        state_size=24,
        time_step_rank=14,
    ),
}


@pytest.mark.parametrize("family", SHAPES)
def test_nothing_is_made_up(family: str, tmp_path: Path) -> None:
    facts = read_facts(FAMILIES[family].builder().write(tmp_path / "m.gguf"))
    assert facts.shape is not None
    assert asdict(facts.shape) == asdict(SHAPES[family])


def test_every_key_is_read_into_its_own_place(tmp_path: Path) -> None:
    builder = GgufBuilder().text("general.architecture", "llama")
    for number, name in enumerate(
        (
            "context_length",
            "embedding_length",
            "attention.head_count",
            "attention.head_count_kv",
            "feed_forward_length",
            "attention.key_length",
            "attention.value_length",
            "expert_count",
            "expert_used_count",
            "expert_feed_forward_length",
            "expert_shared_count",
            "expert_shared_feed_forward_length",
            "expert_gating_func",
            "expert_group_count",
            "expert_group_used_count",
            "leading_dense_block_count",
            "interleave_moe_layer_step",
            "embedding_length_out",
            "rope.dimension_count",
            "attention.q_lora_rank",
            "attention.kv_lora_rank",
            "attention.indexer.key_length",
            "attention.indexer.head_count",
            "attention.indexer.top_k",
            "attention.indexer.block_size",
        ),
        start=101,
    ):
        builder.u32(f"llama.{name}", number)
    builder.u32("llama.block_count", 2)
    builder.key("llama.expert_weights_norm", "bool", value=True)
    builder.key("llama.expert_weights_scale", "f32", 2.5)
    builder.key("llama.attention.causal", "bool", value=False)
    builder.tensor("token_embd.weight", (102, 100), "F16")
    read = read_hyperparameters(open_header(builder.write(tmp_path / "m.gguf")))
    assert read.hyperparameters is not None
    wanted = Hyperparameters(
        architecture="llama",
        known=True,
        context_length=101,
        embedding_length=102,
        layers_all=2,
        layers_nextn=0,
        heads=(103, 103),
        kv_heads=(104, 104),
        feed_forward=(105, 105),
        key_length=106,
        value_length=107,
        key_length_swa=106,
        value_length_swa=107,
        experts=108,
        experts_used=(109, 109),
        expert_feed_forward=(110, 110),
        shared_experts=111,
        shared_feed_forward=112,
        experts_gating=113,
        expert_groups=114,
        expert_groups_used=115,
        dense_lead=116,
        expert_step=117,
        output_length=118,
        rope_dimensions=119,
        q_lora_rank=120,
        kv_lora_rank=121,
        indexer_key_length=122,
        indexer_heads=123,
        indexer_top_k=124,
        indexer_block=125,
        experts_normed=True,
        experts_scale=2.5,
        causal=False,
        sliding=(False, False),
        recurrent=(False, False),
    )
    assert asdict(read.hyperparameters) == asdict(wanted)

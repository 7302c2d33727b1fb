"""Tiny models that llama.cpp really loads and runs: seeded weights, a whole vocabulary, a template.

``write_tiny_model(path)`` is the plain case. A `TinyModel` says what differs: the architecture
(llama, gemma3 with a sliding window, mamba, lfm2 as a hybrid), the vocabulary, the sizes.

A model is either random (any seed gives the same babble each time) or scripted: with
``script=("Hello", " world", "<|im_end|>")`` each of these tokens is followed by the next, the
first one follows every token that isn't in the script, and the last one repeats.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tests.helpers.gguf_bytes import GgufBuilder
from tests.helpers.tiny_gguf_vocab import (
    CHATML,
    Vocabulary,
    VocabularyStyle,
    make_vocabulary,
    padded,
)

__all__ = ["CHATML", "TinyModel", "tiny_builder", "write_tiny_model"]

Architecture: TypeAlias = Literal["llama", "gemma3", "mamba", "lfm2"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyModel:
    """What a tiny model is like. ``template`` None leaves the key out."""

    architecture: Architecture = "llama"
    vocabulary: VocabularyStyle = "bpe"
    extra_tokens: tuple[str, ...] = ()
    vocabulary_size: int = 0  # padded to this many with words that no text is cut into
    template: str | None = CHATML
    name: str = "Tiny Test"
    layers: int = 2
    embedding: int = 64
    heads: int = 4
    kv_heads: int = 2
    head_length: int = 16
    feed_forward: int = 96
    context: int = 2048
    window: int = 128
    tied: bool = False
    script: tuple[str, ...] = ()
    end_token: str | None = None
    seed: int = 1


def write_tiny_model(path: Path, model: TinyModel | None = None) -> Path:
    """Write a loadable model and return its path."""
    return tiny_builder(model).write(path)


def tiny_builder(model: TinyModel | None = None) -> GgufBuilder:
    """Return a model as a builder, for tests that break it before they write it."""
    model = model or TinyModel()
    vocabulary = make_vocabulary(model.vocabulary, (*model.extra_tokens, *model.script))
    vocabulary = padded(vocabulary, model.vocabulary_size)
    builder = GgufBuilder()
    _metadata(builder, model, vocabulary)
    _Weights(builder, model, vocabulary).add()
    return builder


def _metadata(builder: GgufBuilder, model: TinyModel, vocabulary: Vocabulary) -> None:
    arch = model.architecture
    builder.text("general.architecture", arch)
    builder.text("general.name", model.name)
    builder.u32("general.file_type", 0)
    builder.u32(f"{arch}.block_count", model.layers)
    builder.u32(f"{arch}.context_length", model.context)
    builder.u32(f"{arch}.embedding_length", model.embedding)
    builder.u32(f"{arch}.feed_forward_length", model.feed_forward)
    builder.key(f"{arch}.attention.layer_norm_rms_epsilon", "f32", 1e-5)
    if arch == "mamba":
        builder.u32(f"{arch}.ssm.conv_kernel", 4).u32(f"{arch}.ssm.inner_size", 2 * model.embedding)
        builder.u32(f"{arch}.ssm.state_size", 16).u32(f"{arch}.ssm.time_step_rank", 4)
        builder.u32(f"{arch}.attention.head_count", 0)
    else:
        builder.u32(f"{arch}.attention.head_count", model.heads)
        kv_heads = [_kv_heads(model, layer) for layer in range(model.layers)]
        if len(set(kv_heads)) == 1:
            builder.u32(f"{arch}.attention.head_count_kv", kv_heads[0])
        else:
            builder.key(f"{arch}.attention.head_count_kv", "[i32]", kv_heads)
        builder.u32(f"{arch}.attention.key_length", model.head_length)
        builder.u32(f"{arch}.attention.value_length", model.head_length)
        builder.u32(f"{arch}.rope.dimension_count", model.head_length)
    if arch == "gemma3":
        builder.u32(f"{arch}.attention.sliding_window", model.window)
    if arch == "lfm2":
        builder.u32(f"{arch}.shortconv.l_cache", 3)
    if model.template is not None:
        builder.text("tokenizer.chat_template", model.template)
    vocabulary.add_to(builder, model.end_token)


def _kv_heads(model: TinyModel, layer: int) -> int:
    """Every second layer of the hybrid is a convolution without heads."""
    return 0 if model.architecture == "lfm2" and layer % 2 == 0 else model.kv_heads


class _Weights:
    """Adds the tensors in llama.cpp's order of need; F32 throughout, so that results are exact."""

    def __init__(self, builder: GgufBuilder, model: TinyModel, vocabulary: Vocabulary) -> None:
        self._builder = builder
        self._model = model
        self._vocabulary = vocabulary
        self._random = np.random.default_rng(model.seed)

    def add(self) -> None:
        model = self._model
        count = len(self._vocabulary.tokens)
        table = self._random.standard_normal((count, model.embedding), dtype=np.float32)
        output = self._scripted_output(table) if model.script else None
        self._tensor("token_embd.weight", table)
        norm = "token_embd_norm.weight" if model.architecture == "lfm2" else "output_norm.weight"
        self._ones(norm, model.embedding)
        if output is not None:
            self._tensor("output.weight", output)
        elif not model.tied:
            self._matrix("output.weight", model.embedding, count)
        for layer in range(model.layers):
            if model.architecture == "mamba":
                self._mamba(f"blk.{layer}.")
            elif _kv_heads(model, layer) == 0:
                self._convolution(f"blk.{layer}.")
                self._feed_forward(f"blk.{layer}.")
            else:
                self._attention(f"blk.{layer}.")
                self._feed_forward(f"blk.{layer}.")

    def _scripted_output(self, table: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return an output matrix that makes each token of the script follow the one before.

        Layers add nothing in a scripted model, so the last state is the token's normed embedding.
        Its first element tells tokens of the script from others, which lead to the first token;
        the other elements are random, and a row equal to them scores highest there. Logits differ
        by about a hundred, so sampling at any usual temperature gives the same.
        """
        ids = [self._vocabulary.index(text) for text in self._model.script]
        table[:, 0] = 3.0
        table[ids, 0] = -3.0
        normed = table / np.sqrt((table**2).mean(axis=1, keepdims=True))
        output = np.zeros_like(table)
        output[ids[0], 0] = 100.0
        for before, after in zip(ids, [*ids[1:], ids[-1]], strict=True):
            output[after, 1:] += 4.0 * normed[before, 1:]
        return output

    # --- parts of layers

    def _attention(self, prefix: str) -> None:
        model = self._model
        width = model.heads * model.head_length
        kv_width = model.kv_heads * model.head_length
        self._ones(prefix + "attn_norm.weight", model.embedding)
        self._matrix(prefix + "attn_q.weight", model.embedding, width)
        self._matrix(prefix + "attn_k.weight", model.embedding, kv_width)
        self._matrix(prefix + "attn_v.weight", model.embedding, kv_width)
        self._matrix(prefix + "attn_output.weight", width, model.embedding, into_residual=True)
        if model.architecture in {"gemma3", "lfm2"}:
            self._ones(prefix + "attn_q_norm.weight", model.head_length)
            self._ones(prefix + "attn_k_norm.weight", model.head_length)
        if model.architecture == "gemma3":
            self._ones(prefix + "post_attention_norm.weight", model.embedding)

    def _feed_forward(self, prefix: str) -> None:
        model = self._model
        self._ones(prefix + "ffn_norm.weight", model.embedding)
        self._matrix(prefix + "ffn_gate.weight", model.embedding, model.feed_forward)
        self._matrix(prefix + "ffn_up.weight", model.embedding, model.feed_forward)
        self._matrix(
            prefix + "ffn_down.weight", model.feed_forward, model.embedding, into_residual=True
        )
        if model.architecture == "gemma3":
            self._ones(prefix + "post_ffw_norm.weight", model.embedding)

    def _convolution(self, prefix: str) -> None:
        size = self._model.embedding
        self._ones(prefix + "attn_norm.weight", size)
        self._matrix(prefix + "shortconv.conv.weight", 3, size)
        self._matrix(prefix + "shortconv.in_proj.weight", size, 3 * size)
        self._matrix(prefix + "shortconv.out_proj.weight", size, size, into_residual=True)

    def _mamba(self, prefix: str) -> None:
        size = self._model.embedding
        inner, state, rank = 2 * size, 16, 4
        self._ones(prefix + "attn_norm.weight", size)
        self._matrix(prefix + "ssm_in.weight", size, 2 * inner)
        self._matrix(prefix + "ssm_conv1d.weight", 4, inner)
        self._vector(prefix + "ssm_conv1d.bias", np.zeros(inner))
        self._matrix(prefix + "ssm_x.weight", inner, rank + 2 * state)
        self._matrix(prefix + "ssm_dt.weight", rank, inner)
        self._vector(prefix + "ssm_dt.bias", np.full(inner, -2.0))
        decay = -np.tile(np.arange(1, state + 1), (inner, 1))
        self._tensor(prefix + "ssm_a", decay.astype(np.float32))
        self._vector(prefix + "ssm_d", np.ones(inner))
        self._matrix(prefix + "ssm_out.weight", inner, size, into_residual=True)

    # --- tensors

    def _tensor(self, name: str, values: npt.NDArray[np.float32]) -> None:
        self._builder.tensor(name, values.shape[::-1], "F32", values)

    def _ones(self, name: str, size: int) -> None:
        self._vector(name, np.ones(size))

    def _vector(self, name: str, values: npt.NDArray[np.floating]) -> None:
        self._tensor(name, values.astype(np.float32))

    def _matrix(self, name: str, inputs: int, outputs: int, *, into_residual: bool = False) -> None:
        if into_residual and self._model.script:
            values = np.zeros((outputs, inputs), dtype=np.float32)
        else:
            values = self._random.standard_normal((outputs, inputs), dtype=np.float32)
            values /= np.float32(np.sqrt(inputs))
        self._tensor(name, values)

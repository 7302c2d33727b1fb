"""Models of any shape, without weights, for the planner and the engine's dry run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.helpers.gguf_bytes import GgufBuilder

__all__ = ["ShapeModel"]


@dataclass(slots=True, kw_only=True)
class ShapeModel:
    """A transformer as its file describes it; defaults are those of an 8B model.

    ``head`` None leaves ``key_length`` and ``value_length`` out.
    """

    architecture: str = "llama"
    layers: int = 32
    embedding: int = 4096
    heads: int | Sequence[int] = 32
    kv_heads: int | Sequence[int] | None = 8
    head: int | None = None
    feed_forward: int = 14336
    vocabulary: int = 128256
    context: int = 131072
    kind: str = "Q4_K"
    tied: bool = False
    window: int | None = None

    def builder(self) -> GgufBuilder:
        """Return the file's builder."""
        out = GgufBuilder()
        arch = self.architecture
        out.text("general.architecture", arch).text("general.name", "Shape")
        out.u32("general.file_type", 15)
        out.u32(f"{arch}.block_count", self.layers).u32(f"{arch}.context_length", self.context)
        out.u32(f"{arch}.embedding_length", self.embedding)
        out.u32(f"{arch}.feed_forward_length", self.feed_forward)
        self._count(out, "attention.head_count", self.heads)
        if self.kv_heads is not None:
            self._count(out, "attention.head_count_kv", self.kv_heads)
        out.key(f"{arch}.attention.layer_norm_rms_epsilon", "f32", 1e-5)
        if self.head is not None:
            out.u32(f"{arch}.attention.key_length", self.head)
            out.u32(f"{arch}.attention.value_length", self.head)
        if self.window is not None:
            out.u32(f"{arch}.attention.sliding_window", self.window)
        out.text("tokenizer.ggml.model", "no_vocab").u32(f"{arch}.vocab_size", self.vocabulary)
        self._tensors(out)
        return out

    def _count(self, out: GgufBuilder, key: str, value: int | Sequence[int]) -> None:
        name = f"{self.architecture}.{key}"
        if isinstance(value, int):
            out.u32(name, value)
        else:
            out.key(name, "[i32]", list(value))

    def _tensors(self, out: GgufBuilder) -> None:
        width, wide = self.embedding, self.feed_forward
        out.tensor("token_embd.weight", (width, self.vocabulary), self.kind)
        out.tensor("output_norm.weight", (width,))
        if not self.tied:
            out.tensor("output.weight", (width, self.vocabulary), self.kind)
        for layer in range(self.layers):
            heads = self.heads if isinstance(self.heads, int) else self.heads[layer]
            kv = self.kv_heads if self.kv_heads is not None else heads
            kv = kv if isinstance(kv, int) else kv[layer]
            head = self.head or width // max(heads, 1)
            block = f"blk.{layer}."
            out.tensor(block + "attn_norm.weight", (width,))
            out.tensor(block + "attn_q.weight", (width, heads * head), self.kind)
            out.tensor(block + "attn_k.weight", (width, kv * head), self.kind)
            out.tensor(block + "attn_v.weight", (width, kv * head), self.kind)
            out.tensor(block + "attn_output.weight", (heads * head, width), self.kind)
            out.tensor(block + "ffn_norm.weight", (width,))
            out.tensor(block + "ffn_gate.weight", (width, wide), self.kind)
            out.tensor(block + "ffn_up.weight", (width, wide), self.kind)
            out.tensor(block + "ffn_down.weight", (wide, width), self.kind)

"""What a model file says, in one frozen object: the first thing shown, before anything is loaded.

Nothing is invented. What the file doesn't say is None, unless the engine fills it in by a fixed
rule; those fields are named in ``assumed``. ``warnings`` are whole sentences for people.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from gguf_tools import naming, roles
from gguf_tools.header import Header, open_header
from gguf_tools.hparams import HparamsReading, Hyperparameters, read_hyperparameters
from gguf_tools.hparams.tables import DIFFUSION, EMBEDDING, NEEDS_OTHER_MODEL
from gguf_tools.kv import KvSettings, kv_caches
from gguf_tools.units import format_bytes

__all__ = ["Kind", "ModelFacts", "TypeShare", "facts_of", "read_facts"]

Kind: TypeAlias = Literal[
    "model",
    "embedding",
    "reranker",
    "diffusion",
    "audio",
    "draft",
    "projector",
    "adapter",
    "vocabulary",
    "imatrix",
    "unknown",
]

_AUDIO: Final = frozenset({"wavtokenizer-dec", "pockettts", "qwen3tts"})
_HINTS: Final[dict[Kind, str]] = {
    "projector": "This is a vision projector (mmproj): load the language model it belongs to.",
    "adapter": "This is a LoRA adapter: load the model it was made for.",
    "vocabulary": "This file holds a vocabulary only: there are no weights to load.",
    "imatrix": "This is an importance matrix for quantising, not a model.",
    "embedding": "This model makes embeddings; it doesn't write text.",
    "reranker": "This model ranks texts; it doesn't write any.",
    "draft": "This model drafts tokens for a larger one and doesn't run alone.",
    "audio": "This model makes sound; it can't be used as a chat model.",
    "diffusion": "This model writes by diffusion, which this program can't run.",
}
_RANK_POOLING: Final = 4  # LLAMA_POOLING_TYPE_RANK


@dataclass(frozen=True, slots=True)
class TypeShare:
    """How much of a file has one tensor type."""

    tensors: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What a file says. Sizes in bytes, lengths in elements, None for unknown.

    ``kv_bytes_per_token`` is what one more token of context adds with an f16 cache (layers whose
    cache ends at a sliding window add nothing); ``bytes_read_per_token`` are the weights that one
    decoded token reads.
    """

    header: Header
    shape: Hyperparameters | None
    kind: Kind
    path: Path
    files: tuple[Path, ...]
    file_bytes: int
    needed_bytes: int
    architecture: str | None
    architecture_known: bool
    name: str
    size_label: str | None
    quantization: str | None
    bits_per_weight: float | None
    parameters: int
    parameters_active: int | None
    layers: int | None
    embedding_length: int | None
    heads: int | None
    kv_heads: tuple[int, ...] | None
    key_length: int | None
    value_length: int | None
    context_length: int | None
    vocab_size: int | None
    sliding_window: int | None
    sliding_layers: int
    experts: int | None
    experts_used: int | None
    tied_output: bool
    weights_bytes: int
    bytes_read_per_token: int | None
    kv_bytes_per_token: int | None
    chat_template: bool
    tensor_types: Mapping[str, TypeShare]
    assumed: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def shown_name(self) -> str:
        """The name to show (`naming.shown_name`); ``name`` is what the metadata says."""
        return naming.shown_name(self.path.name, self.name)

    @property
    def complete(self) -> bool:
        """Tell whether all the tensor data is there."""
        return self.file_bytes >= self.needed_bytes and not self.header.incomplete_files

    @property
    def loadable(self) -> bool:
        """Tell whether the engine can be asked to load the file as a chat model."""
        return (
            self.kind == "model" and self.complete and self.architecture_known
        ) and self.shape is not None


def read_facts(path: str | os.PathLike[str]) -> ModelFacts:
    """Return what the model at ``path`` (any shard of it) says.

    Raises:
        HeaderError: there is no usable header.
    """
    return facts_of(open_header(path))


def facts_of(header: Header) -> ModelFacts:
    """Return what an open header says; never raises for what it says."""
    reading = read_hyperparameters(header)
    shape = reading.hyperparameters
    architecture = header.text("general.architecture") or None
    kind = _kind(header, architecture, shape)
    shares = _shares(header)
    weights_bytes = sum(share.bytes for share in shares.values())
    parameters = sum(tensor.elements for tensor in header.tensors.values())
    type_bytes = {name: share.bytes for name, share in shares.items()}
    key = f"{architecture}."
    return ModelFacts(
        header=header,
        shape=shape,
        kind=kind,
        path=header.path,
        files=header.files,
        file_bytes=header.file_bytes,
        needed_bytes=header.needed_bytes,
        architecture=architecture,
        architecture_known=(shape is not None and shape.known) or architecture == "clip",
        name=naming.model_name(header),
        size_label=naming.size_label(header),
        quantization=naming.quantization(header, type_bytes),
        bits_per_weight=weights_bytes * 8 / parameters if parameters else None,
        parameters=parameters,
        parameters_active=_active_parameters(header, shape),
        layers=shape.layers if shape else header.integer(key + "block_count"),
        embedding_length=(
            shape.embedding_length if shape else header.integer(key + "embedding_length")
        ),
        heads=max(shape.heads) if shape else None,
        kv_heads=shape.kv_heads[: shape.layers] if shape else None,
        key_length=shape.key_length if shape and shape.key_length else None,
        value_length=shape.value_length if shape and shape.value_length else None,
        context_length=header.integer(key + "context_length"),
        vocab_size=vocabulary_size(header),
        sliding_window=shape.window if shape and shape.window else None,
        sliding_layers=sum(shape.sliding[: shape.layers]) if shape else 0,
        experts=shape.experts if shape and shape.experts else None,
        experts_used=max(shape.experts_used) if shape and shape.experts else None,
        tied_output=roles.tied_output(header),
        weights_bytes=weights_bytes,
        bytes_read_per_token=_bytes_read(header, shape),
        kv_bytes_per_token=_kv_bytes_per_token(shape),
        chat_template=bool(header.text("tokenizer.chat_template")),
        tensor_types=shares,
        assumed=reading.assumed,
        warnings=_warnings(header, reading, kind, architecture),
    )


def vocabulary_size(header: Header) -> int | None:
    """Return the number of tokens: the list's length, else what the metadata or table says."""
    listed = header.array_length("tokenizer.ggml.tokens")
    if listed is not None:
        return listed
    said = header.integer(f"{header.text('general.architecture')}.vocab_size")
    if said is not None:
        return said
    table = header.tensors.get("token_embd.weight")
    return table.extent(1) if table is not None else None


def _kind(header: Header, architecture: str | None, shape: Hyperparameters | None) -> Kind:
    file_type = header.text("general.type") or ""
    if architecture == "clip" or file_type in {"mmproj", "clip-vision"}:
        return "projector"
    if file_type == "adapter" or "adapter.type" in header:
        return "adapter"
    if file_type == "imatrix" or "imatrix.datasets" in header:
        return "imatrix"
    if not header.tensors:
        has_vocabulary = header.array_length("tokenizer.ggml.tokens") is not None
        return "vocabulary" if has_vocabulary else "unknown"
    if architecture in DIFFUSION:
        return "diffusion"
    if architecture in NEEDS_OTHER_MODEL:
        return "draft"
    if architecture in _AUDIO:
        return "audio"
    pooling = header.integer(f"{architecture}.pooling_type")
    if pooling == _RANK_POOLING:
        return "reranker"
    if architecture in EMBEDDING or (pooling or 0) > 0:
        return "embedding"
    if shape is None:
        return "unknown"
    return "model" if shape.known else "unknown"


def _shares(header: Header) -> dict[str, TypeShare]:
    counts: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for tensor in header.tensors.values():
        name = tensor.type.name
        counts[name] = counts.get(name, 0) + 1
        sizes[name] = sizes.get(name, 0) + tensor.size_bytes
    ordered = sorted(counts, key=lambda name: -sizes[name])
    return {name: TypeShare(counts[name], sizes[name]) for name in ordered}


def _active_parameters(header: Header, shape: Hyperparameters | None) -> int | None:
    if shape is None:
        return None
    total = 0.0
    for tensor in header.tensors.values():
        if not roles.is_skipped(tensor.name, shape):
            total += tensor.elements * roles.read_fraction(tensor, shape)
    return round(total)


def _bytes_read(header: Header, shape: Hyperparameters | None) -> int | None:
    if shape is None or not header.tensors:
        return None
    total = 0.0
    for tensor in header.tensors.values():
        if not roles.unread_per_token(tensor, shape):
            size = tensor.size_bytes * roles.read_fraction(tensor, shape)
            total += size * shape.loops if roles.block_of(tensor.name) is not None else size
    if roles.tied_output(header):
        total += header.tensors["token_embd.weight"].size_bytes
    return round(total)


def _kv_bytes_per_token(shape: Hyperparameters | None) -> int | None:
    if shape is None:
        return None
    return sum(cache.bytes_per_token for cache in kv_caches(shape, KvSettings()) if cache.grows)


def _warnings(
    header: Header, reading: HparamsReading, kind: Kind, architecture: str | None
) -> tuple[str, ...]:
    lines: list[str] = []
    for path, there, needed in header.incomplete_files:
        lines.append(
            f"The file is incomplete: {_share(there, needed)} ({there:,} of {needed:,} bytes of "
            f"{path.name}). Finish the download."
        )
    if naming.is_partial_name(header.path):
        lines.append(f"{header.path.name} bears the name of an unfinished download.")
    if kind in _HINTS:
        lines.append(_HINTS[kind])
    if kind in {"model", "unknown", "embedding", "diffusion"}:
        lines.extend(reading.problems)
    source = naming.requantized_from(header)
    if source is not None:
        lines.append(f"Requantised from {source}: worse than the same type made from 16 bits.")
    shape = reading.hyperparameters
    if kind == "unknown" and architecture and (shape is None or not shape.known):
        lines.append(f"The architecture {architecture} is unknown to the engine of this program.")
    if shape is not None:
        lines.extend(_shape_warnings(header, shape, reading.assumed))
    if kind == "model" and not header.text("tokenizer.chat_template"):
        lines.append("The file has no chat template: a built-in one will be used.")
    return tuple(lines)


def _share(there: int, needed: int) -> str:
    """Return sizes as "38.1 of 93.8 MiB", with both units where they differ."""
    have, need = format_bytes(there), format_bytes(needed)
    number, _, unit = have.partition(" ")
    return f"{number} of {need}" if need.endswith(f" {unit}") else f"{have} of {need}"


def _shape_warnings(header: Header, shape: Hyperparameters, assumed: tuple[str, ...]) -> list[str]:
    lines = []
    if shape.architecture == "deepseek2" and not shape.mla and shape.kv_lora_rank:
        full = sum(shape.k_width(layer) + shape.v_width(layer) for layer in range(shape.layers))
        latent = (shape.kv_lora_rank + shape.rope_dimensions) * shape.layers
        times = full // latent if latent else 0
        lines.append(
            "This is an old conversion without the keys for compressed attention: its cache takes "
            f"{times} times what a newly converted file's would."
        )
    if "kv_heads" in assumed:
        lines.append("The file doesn't say the number of KV heads: taken to equal the heads.")
    if "sliding_window_pattern" in assumed:
        lines.append(
            "Which layers slide isn't in the file: taken from what the engine knows of "
            f"{shape.architecture}."
        )
    if shape.layers_nextn and shape.router_layer < 0:
        lines.append(
            f"{shape.layers_nextn} of the layers only predict further tokens and are not loaded."
        )
    if not header.integer(f"{shape.architecture}.context_length"):
        lines.append("The file doesn't say for which context length the model was trained.")
    return lines

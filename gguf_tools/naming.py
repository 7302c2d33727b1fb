"""What a model is called: base model, size, quantisation and shard, from its metadata and name.

File names follow no rule that holds everywhere, so the metadata goes first and the name fills
gaps. Variants of one model (the same base in several quantisations) share a `group_key`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gguf_tools.quants import file_type_name
from gguf_tools.shard_names import parse_shard_name

if TYPE_CHECKING:
    from gguf_tools.header import Header

__all__ = [
    "REQUANTIZED_KEY",
    "FileName",
    "group_key",
    "is_any_name",
    "is_partial_name",
    "model_name",
    "own_name",
    "parse_file_name",
    "quantization",
    "requantized_from",
    "shown_name",
    "size_label",
]

REQUANTIZED_KEY: Final = "plimsoll.requantized_from"
"""Metadata key of a variant that was made from weights that were quantised already."""

_QUANT: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:UD[-_])?"
    r"(?:I?Q[1-8](?:_[0-9](?:_[48]_[48])?|_K(?:_(?:XXL|XL|L|M|S|XS))?|_(?:XXS|XS|S|M|NL|XL))?"
    r"|TQ[12]_0|BF16|FP?16|FP?32|MXFP4(?:_MOE)?|NVFP4)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_SIZE: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:\d+x)?\d+(?:\.\d+)?[KMBT](?:-A\d+(?:\.\d+)?[KMB])?(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_PART: Final = re.compile(
    r"\.(?:part\d+(?:of\d+)?|crdownload|part|partial|incomplete|download|tmp)$"
)
_SEPARATORS: Final = re.compile(r"[-_. ]+")
# Names that converters and stores give to any model: they tell none from another.
_ANY_MODEL: Final = frozenset(
    {"model", "models", "ggml-model", "ggml", "gguf", "unsloth", "pytorch-model", "consolidated"}
    | {"main", "output", "out", "converted", "merged", "unknown", "weights", "file", ""}
)
_HASH: Final = re.compile(r"(sha256[-:])?[0-9a-f]{12,}|\d*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FileName:
    """The parts of a file name; ``base`` is what is left of it.

    ``partial`` marks names that downloaders give to files that are not finished.
    """

    base: str
    quantization: str | None
    size_label: str | None
    shard: tuple[int, int] | None
    partial: bool


def parse_file_name(name: str) -> FileName:
    """Return the parts of a model's file name."""
    partial = _PART.search(name)
    stem = name[: partial.start()] if partial else name
    shard = parse_shard_name(stem)
    stem = shard[0] if shard else re.sub(r"\.gguf$", "", stem, flags=re.IGNORECASE)
    quants = list(_QUANT.finditer(stem))
    label = None
    if quants:
        last = quants[-1]
        label = last[0].upper().replace("UD_", "UD-")
        stem = stem[: last.start()] + stem[last.end() :]
    size = _SIZE.search(stem)
    base = stem.strip("-_. ") or name
    return FileName(
        base=base,
        quantization=label,
        size_label=size[0].upper().replace("X", "x") if size else None,
        shard=shard[1:] if shard else None,
        partial=partial is not None,
    )


def group_key(name: str) -> str:
    """Return what variants of one model in one folder have in common."""
    return _SEPARATORS.sub("-", parse_file_name(name).base).casefold()


def model_name(header: Header) -> str:
    """Return what the metadata calls a model, else its file's name without quantisation."""
    return own_name(header.text, header.path.name) or parse_file_name(header.path.name).base


def own_name(text: Callable[[str], str | None], file_name: str) -> str:
    """Return what the metadata calls a model, empty if it says nothing of use.

    Args:
        text: gives a key's text.
        file_name: of the model, for its size where the metadata has only a base name.
    """
    name = (text("general.name") or "").strip()
    if name and name.casefold() not in {"model", "models", "gguf", "unknown", "."}:
        return name
    base = (text("general.basename") or "").strip()
    label = (text("general.size_label") or "").strip() or parse_file_name(file_name).size_label
    return f"{base} {label}" if base and label and label.casefold() not in base.casefold() else base


def shown_name(file_name: str, own_name: str = "") -> str:
    """Return the name under which every part of the program shows a model.

    A model is known by its file's name without the quantisation: that is what people chose it by,
    while the metadata's name is often that of a training run. The metadata's name stands in where
    a file's name says nothing: blobs named by their hash, "model.gguf", "ggml-model-q4_0.gguf".

    Args:
        file_name: of the model's first file, without its folder.
        own_name: the name in the metadata, or what another program calls the model.
    """
    own_name = own_name.strip()
    if own_name and file_name.removesuffix(".gguf") == own_name:
        return own_name
    base = parse_file_name(file_name).base
    if own_name and (is_any_name(base) or base.casefold().endswith(".gguf")):
        return own_name
    # llama.cpp's cache puts owner and repository before the name of a file.
    last = base.rpartition("_")[2]
    if own_name and last != base and group_key(last) == group_key(own_name):
        return last
    return base or file_name


def is_any_name(base: str) -> bool:
    """Tell whether a file's name without its ending could be that of any model."""
    plain = _SEPARATORS.sub("-", base).strip("-").casefold()
    return plain in _ANY_MODEL or _HASH.fullmatch(base) is not None


def size_label(header: Header) -> str | None:
    """Return a label such as 8B or 30B-A3B, None if neither file nor name has one."""
    label = (header.text("general.size_label") or "").strip()
    return label or parse_file_name(header.path.name).size_label


def quantization(header: Header, type_bytes: Mapping[str, int]) -> str | None:
    """Return the name of a file's mix of types.

    ``general.file_type`` decides, unless the file name has a finer name for a mix of the same
    family (a maker's dynamic variants all claim plain types). Without either, the type that most
    of the bytes have. None for a file without tensors.

    Args:
        header: the model's header.
        type_bytes: bytes by type name, over all tensors.
    """
    named = parse_file_name(header.path.name).quantization
    file_type = header.integer("general.file_type")
    known = file_type_name(file_type) if file_type is not None else None
    main = max(type_bytes, key=lambda name: type_bytes[name]) if type_bytes else None
    if known is not None and type_bytes and not _plausible(known, type_bytes):
        known = None
    if known is None:
        return main if named is None or main is None or not _same_family(named, main) else named
    # "Q4" of a name with a space in it says less than the file does.
    finer = named is not None and not known.startswith(named) and _same_family(named, known)
    return named if finer else known


def requantized_from(header: Header) -> str | None:
    """Return which quantised type a variant was made from, None if it doesn't say."""
    return header.text(REQUANTIZED_KEY) or None


def _family(label: str) -> str:
    match = re.match(r"(?:UD-)?I?T?Q(\d)", label)
    return match[1] if match else label.removeprefix("UD-").replace("FP", "F")


def _same_family(first: str, second: str) -> bool:
    return _family(first) == _family(second)


def _plausible(label: str, type_bytes: Mapping[str, int]) -> bool:
    """Tell whether a claimed file type can be true: an all-F32 claim over quantised tensors can't.

    Converters leave ``file_type`` at 0 or 1 when they copy metadata from the unquantised model.
    """
    if label not in {"F32", "F16", "BF16"}:
        return True
    whole = {"F32", "F16", "BF16"}
    plain = sum(size for name, size in type_bytes.items() if name in whole)
    return plain * 2 >= sum(type_bytes.values())


def is_partial_name(path: Path) -> bool:
    """Tell whether a file bears a downloader's name for unfinished files."""
    return parse_file_name(path.name).partial

"""What a model is called: base model, size, quantisation and shard, from its metadata and name.

File names follow no rule that holds everywhere, so the metadata goes first and the name fills
gaps. Variants of one model (the same base in several quantisations) share a `group_key`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gguf_tools.header import Header, parse_shard_name
from gguf_tools.quants import file_type_name

__all__ = [
    "REQUANTIZED_KEY",
    "FileName",
    "group_key",
    "is_partial_name",
    "model_name",
    "parse_file_name",
    "quantization",
    "requantized_from",
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
    """Return the name to show: the file's own, else its file name without quantisation."""
    name = (header.text("general.name") or "").strip()
    if name and name.casefold() not in {"model", "models", "gguf", "unknown", "."}:
        return name
    base = (header.text("general.basename") or "").strip()
    if base:
        label = size_label(header)
        return f"{base} {label}" if label and label.casefold() not in base.casefold() else base
    return parse_file_name(header.path.name).base


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
    if named is not None and named != known and _same_family(named, known):
        return named
    return known


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

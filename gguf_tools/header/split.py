"""Joins the files of a split model, from whichever of them the user chose.

Follows src/llama-model-loader.cpp (the constructor) and ``llama_split_path`` in src/llama.cpp:
the engine opens the first shard and finds the others by name, ``NAME-00002-of-00003.gguf``, in
the same folder. So siblings are looked for beside the path the user sees, not where a symlink
leads: in a hub's cache the targets are named by hashes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NoReturn

from gguf_tools.header.errors import HeaderError, HeaderErrorKind
from gguf_tools.header.model import Header
from gguf_tools.header.parser import read_raw_header
from gguf_tools.header.raw import RawHeader
from gguf_tools.shard_names import parse_shard_name, shard_name

__all__ = ["open_header"]

_MAX_SHARDS: Final = 99_999


def open_header(path: str | os.PathLike[str]) -> Header:
    """Return the header of the model that ``path`` is, or is a shard of.

    Raises:
        HeaderError: the only exception; its ``kind`` says what is wrong with the file.
    """
    shown = Path(path)
    if "\0" in str(shown):
        raise HeaderError("missing", "A file name can't hold a zero character.", shown)
    chosen = read_raw_header(shown)
    count = _number(chosen, "split.count") or 1
    if count <= 1:
        return Header(shown, (chosen,))
    if count > _MAX_SHARDS:
        _fail("damaged", shown, f"claims to be one of {count} files")
    return _join(shown, chosen, count)


def _join(shown: Path, chosen: RawHeader, count: int) -> Header:
    number = (_number(chosen, "split.no") or 0) + 1
    named = parse_shard_name(shown.name)
    if named is None or named[1:] != (number, count):
        if chosen.glued:
            _fail(
                "split_joined",
                shown,
                f"holds {count} shards glued together, which llama.cpp can't load: keep them as "
                "separate files, or merge them with llama-gguf-split",
            )
        wanted = shard_name(named[0] if named else shown.stem, number, count)
        _fail(
            "split_name",
            shown,
            f"is part {number} of {count} but its name doesn't say so: call it {wanted}",
        )
    paths = [shown.with_name(shard_name(named[0], index + 1, count)) for index in range(count)]
    missing = [item.name for item in paths if item != shown and not item.exists()]
    if missing:
        listed = ", ".join(missing[:4]) + (", …" if len(missing) > 4 else "")
        _fail("split_missing", shown, f"is one of {count} parts, and there is no {listed}")
    shards = tuple(chosen if item == shown else read_raw_header(item) for item in paths)
    _check(shards, count)
    return Header(paths[0], shards)


def _check(shards: tuple[RawHeader, ...], count: int) -> None:
    names: set[str] = set()
    for index, shard in enumerate(shards):
        if _number(shard, "split.no") != index or _number(shard, "split.count") != count:
            _fail(
                "split_mixed", shard.path, f"is not part {index + 1} of {count}, as its name says"
            )
        for tensor in shard.tensors:
            if tensor.name in names:
                _fail("split_mixed", shard.path, f"repeats the tensor {tensor.name}")
            names.add(tensor.name)
    total = _number(shards[0], "split.tensors.count")
    if total is not None and total != len(names):
        _fail(
            "split_mixed",
            shards[0].path,
            f"promises {total} tensors, and its {count} parts hold {len(names)}",
        )


def _number(header: RawHeader, key: str) -> int | None:
    value = header.values.get(key)
    if value is None or value.count is not None or value.raw is None or value.type in {6, 8, 12}:
        return None
    return int.from_bytes(value.raw, "little", signed=value.type in {1, 3, 5, 11})


def _fail(kind: HeaderErrorKind, path: Path, what: str) -> NoReturn:
    raise HeaderError(kind, f"{path} {what}.", path)

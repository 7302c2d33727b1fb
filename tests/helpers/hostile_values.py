"""Hostile contents: bytes and JSON that nobody meant, made from a seed."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

__all__ = ["mutated", "nasty_bytes", "put_in_place_of", "spoiled"]

_LEAVES: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63, 2**64, -(2**63), 10**400, 0.5, -0.0, 1e308, float("inf"),
    float("nan"), "", "\0", "\ud800", "x" * 100_000, "\u202e\u2066", "../../etc/passwd", [], {},
    [[]], [None] * 1000, {"": {}}, {"type": "load"},
)  # fmt: skip


def spoiled(data: bytes, chance: random.Random) -> bytes:
    """Return bytes with flipped bits, or cut, or with parts that were overwritten or moved."""
    out = bytearray(data)
    way = chance.randrange(5)
    if way == 0:
        for _ in range(chance.choice([1, 8, 100])):
            if out:
                out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)
    elif way == 1:
        del out[chance.randrange(len(out) + 1) :]
    elif way == 2:
        at = chance.randrange(len(out) + 1)
        out[at : at + 8] = chance.choice([b"\xff" * 8, bytes(8), b"\xff" * 7 + b"\x7f"])
    elif way == 3:
        at, size = chance.randrange(len(out) + 1), chance.randrange(200)
        out[at : at + size] = chance.randbytes(size)
    else:
        at, size = chance.randrange(len(out) + 1), chance.randrange(200)
        piece = bytes(out[at : at + size])
        to = chance.randrange(len(out) + 1)
        out[to : to + chance.choice([0, size])] = piece
    return bytes(out)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each (container, key) of a JSON value."""
    if isinstance(value, dict):
        for key in list(value):
            yield value, key
            yield from _places(value[key])
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield value, index
            yield from _places(item)


def mutated(value: Any, chance: random.Random) -> Any:
    """Return a JSON value of which some parts are of another type, absurd, missing or twice."""
    copy = json.loads(json.dumps(value))
    for _ in range(chance.choice([1, 1, 2, 5])):
        places = list(_places(copy))
        if not places:
            break
        container, key = chance.choice(places)
        way = chance.randrange(6)
        if way == 0 and isinstance(container, dict):
            container.pop(key, None)
        elif way == 1 and isinstance(container, dict):
            container[chance.choice(["", "id", "x" * 1000, key + "2"])] = container[key]
        elif way == 2 and isinstance(container, list):
            container.insert(0, container[key])
        else:
            container[key] = deepcopy(chance.choice(_LEAVES))
    return copy


def nasty_bytes(chance: random.Random, like: Any = None) -> bytes:
    """Return the content of a file or a line; most often nearly the JSON value ``like``."""
    if like is not None and chance.random() < 0.6:
        return json.dumps(mutated(like, chance)).encode("utf-8", "surrogatepass")
    if like is not None and chance.random() < 0.3:
        return spoiled(json.dumps(like).encode(), chance)
    return chance.choice(
        [
            b"",
            b"\0" * 4096,
            b"\xef\xbb\xbf{}",
            b"null",
            b"[]",
            b"1e999",
            b"9" * 5000,
            b"[" * 200_000,
            b'{"a":' * 100_000,
            b'{"app":' + b"[" * 100_000,
            b'"' + b"x" * 1_000_000,
            b'{"a":"\\ud800"}',
            b"{" + b'"k":1,' * 100_000 + b'"k":2}',
            chance.randbytes(chance.randrange(1, 5000)),
        ]
    )


def put_in_place_of(path: Path, chance: random.Random) -> str:
    """Put something that is no plain file where one is expected; return what, in words."""
    what = chance.choice(
        ["folder", "pipe", "loop of links", "link to nowhere", "endless device", "full device"]
    )
    if what == "folder":
        path.mkdir()
        (path / "inside").write_bytes(b"x")
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "loop of links":
        path.symlink_to(path.name)
    elif what == "link to nowhere":
        path.symlink_to(path.parent / "no" / "such" / "file")
    elif what == "endless device":
        path.symlink_to("/dev/zero")
    else:
        path.symlink_to("/dev/full")
    return what

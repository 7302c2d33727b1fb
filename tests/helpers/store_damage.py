"""Ways in which a disk, a power cut or a stray program damages a file."""

from __future__ import annotations

import random
from pathlib import Path

__all__ = ["damage"]

_PAGE = 4096


def damage(path: Path, chance: random.Random) -> str:
    """Damage a file in a random way; return what was done in words."""
    data = bytearray(path.read_bytes())
    way = chance.choice(["bytes", "pages", "cut", "first page", "empty", "text", "log"])
    if way == "bytes":
        for _ in range(chance.choice([3, 40, 400])):
            data[chance.randrange(len(data))] = chance.randrange(256)
    elif way == "pages":
        for _ in range(chance.randint(1, 4)):
            start = chance.randrange(len(data)) // _PAGE * _PAGE
            data[start : start + _PAGE] = bytes(len(data[start : start + _PAGE]))
    elif way == "cut":
        del data[chance.randrange(len(data)) :]
    elif way == "first page":
        data[:_PAGE] = chance.randbytes(_PAGE)
    elif way == "empty":
        data.clear()
    elif way == "text":
        data[:] = b"<html>You have to log in to this network</html>"
    else:
        log = Path(f"{path}-wal")
        if log.exists():
            torn = bytearray(log.read_bytes())
            for _ in range(20):
                if torn:
                    torn[chance.randrange(len(torn))] ^= 1 << chance.randrange(8)
            log.write_bytes(torn)
        return "bits of the log"
    path.write_bytes(data)
    return f"damage: {way}"

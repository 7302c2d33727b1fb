"""Repositories for a local hub: models of real shapes whose weights are holes in sparse files."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.helpers.gguf_bytes import GgufBuilder, pack_string
from tests.helpers.hub_server import HubServer
from tests.helpers.library_files import MODELS, Shape
from tests.helpers.shape_gguf import ShapeModel

__all__ = ["add_model", "fill_hub"]

# Name, type of the matrices, general.file_type.
_QUANTS = (
    ("Q2_K", "Q2_K", 10),
    ("Q3_K_M", "Q3_K", 12),
    ("IQ4_XS", "IQ4_XS", 30),
    ("Q4_0", "Q4_0", 2),
    ("Q4_K_M", "Q4_K", 15),
    ("Q5_K_M", "Q5_K", 17),
    ("Q6_K", "Q6_K", 18),
    ("Q8_0", "Q8_0", 7),
    ("BF16", "BF16", 32),
)
_WORDS = 60_000


def fill_hub(server: HubServer, folder: Path) -> None:
    """Add eight repositories as a search finds them, one of them gated, one split."""
    for number, (maker, name, licence, told) in enumerate(
        (
            ("bartowski", "Qwen3-4B", "apache-2.0", (1_243_112, 412)),
            ("unsloth", "Qwen3-8B", "apache-2.0", (912_400, 388)),
            ("lmstudio-community", "Qwen3-14B", "apache-2.0", (301_223, 96)),
            ("unsloth", "Qwen3-32B", "apache-2.0", (188_320, 131)),
            ("ggml-org", "Qwen3-0.6B", "apache-2.0", (92_811, 41)),
            ("mradermacher", "Qwen3-1.7B", "apache-2.0", (8_412, 12)),
            ("bartowski", "Qwen2.5-72B-Instruct", "other", (41_005, 77)),
            ("google", "gemma-3-4b-it", "gemma", (610_044, 803)),
        )
    ):
        shape = next(item for item in MODELS if item.full_name == name)
        add_model(
            server,
            folder,
            f"{maker}/{name}-GGUF",
            shape,
            gated=maker == "google",
            info={
                "downloads": told[0],
                "likes": told[1],
                "tags": ["gguf", f"license:{licence}"],
                "lastModified": f"2026-0{1 + number % 9}-{10 + number}T08:00:00.000Z",
            },
        )


def add_model(
    server: HubServer,
    folder: Path,
    repository: str,
    shape: Shape,
    quants: Iterable[str] = (),
    **options: Any,
) -> None:
    """Add a repository with variants of a model; a large one is split as makers do."""
    files: list[tuple[str, Path]] = []
    parameters = 0
    wanted = set(quants)
    for name, kind, file_type in _QUANTS:
        if wanted and name not in wanted:
            continue
        built = _builder(shape, kind, file_type)
        parameters = sum(_elements(tensor.shape) for tensor in built.tensors)
        place = folder / repository.replace("/", "--")
        stem = f"{shape.full_name}-{name}"
        if sum(tensor.size_bytes for tensor in built.tensors) > 45 << 30:
            half = len(built.tensors) // 2
            paths = built.write_split(place, stem, [half, len(built.tensors) - half])
            files += [(f"{stem}/{path.name}", path) for path in paths]
        else:
            path = built.write(place / f"{stem}.gguf")
            files.append((path.name, path))
    sums = {path: hashlib.sha256(f"{repository}/{path}".encode()).hexdigest() for path, _ in files}
    info = options.setdefault("info", {})
    info.setdefault(
        "gguf",
        {"total": parameters, "architecture": shape.arch, "context_length": shape.context},
    )
    server.add(repository, files, sums=sums, **options)


def _elements(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def _builder(shape: Shape, kind: str, file_type: int) -> GgufBuilder:
    model = ShapeModel(
        architecture=shape.arch,
        layers=shape.layers,
        embedding=shape.width,
        heads=shape.heads,
        kv_heads=shape.kv,
        head=shape.head,
        feed_forward=shape.wide,
        vocabulary=shape.vocabulary,
        context=shape.context,
        kind=kind,
        tied=shape.tied,
        window=shape.window,
    )
    out = model.builder().drop("general.name", "general.file_type")
    out.text("general.name", shape.full_name.replace("-", " "))
    out.text("general.size_label", shape.size.upper())
    out.u32("general.file_type", file_type)
    out.keys.append(("tokenizer.ggml.tokens", _words()))
    out.text("tokenizer.chat_template", "{{ messages[0].content }}")
    return out


@lru_cache(maxsize=1)
def _words() -> bytes:
    """Return a vocabulary as it stands in a file, of about a megabyte."""
    body = b"".join(pack_string(f"token-{number}") for number in range(_WORDS))
    return struct.pack("<IIQ", 9, 8, _WORDS) + body

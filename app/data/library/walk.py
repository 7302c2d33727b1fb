"""Which files of a place are models, before any of them is read.

Files are named as the user sees them: a hub cache keeps links whose targets have no telling
names, and the files of a split model find each other by name only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.data.library.places import Place
from gguf_tools.naming import is_partial_name
from gguf_tools.shard_names import parse_shard_name

__all__ = ["Candidate", "candidates"]

_MAX_DEPTH = 12
_MAX_FOLDERS = 20_000
_MAX_MANIFEST_BYTES = 1024 * 1024
_OLLAMA_LAYER = "application/vnd.ollama.image."
_OLLAMA_PARTS = ("model", "projector", "adapter")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Files that should be a model: one, or all parts of a split one, in order.

    ``name`` is what another program calls it; ``belongs_to`` is the model that this file is a
    projector or an adapter of, where that program says so.
    """

    path: Path
    files: tuple[Path, ...]
    name: str = ""
    belongs_to: Path | None = None


def candidates(place: Place, cancelled: Callable[[], bool]) -> Iterator[Candidate]:
    """Yield what lies in a place; one that isn't there, or can't be read, is empty."""
    if place.layout == "file":
        yield Candidate(place.path, (place.path,))
    elif place.layout == "added":
        yield _with_its_parts(place.path)
    elif place.layout == "ollama":
        yield from _ollama(place.path, cancelled)
    else:
        for folder in _folders(place.path, cancelled):
            yield from _grouped(folder)


def _folders(root: Path, cancelled: Callable[[], bool]) -> Iterator[Path]:
    """Yield a folder and those below it; a link that leads back up is followed once."""
    seen: set[tuple[int, int]] = set()
    waiting = [(root, 0)]
    while waiting and len(seen) < _MAX_FOLDERS and not cancelled():
        folder, depth = waiting.pop()
        try:
            status = folder.stat()
            key = (status.st_dev, status.st_ino)
            if key in seen:
                continue
            with os.scandir(folder) as found:
                below = sorted((entry.name for entry in found if _is_folder(entry)), reverse=True)
        except (OSError, ValueError):
            continue
        seen.add(key)
        yield folder
        if depth < _MAX_DEPTH:
            waiting.extend((folder / name, depth + 1) for name in below)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _grouped(folder: Path) -> Iterator[Candidate]:
    """Yield the models of one folder, split ones once."""
    splits: dict[tuple[str, int], dict[int, Path]] = {}
    try:
        with os.scandir(folder) as found:
            names = sorted(entry.name for entry in found if _is_model_file(entry))
    except OSError:
        return
    for name in names:
        shard = parse_shard_name(name)
        path = folder / name
        if shard is None or shard[2] == 1:
            yield Candidate(path, (path,))
        else:
            prefix, number, count = shard
            splits.setdefault((prefix, count), {})[number] = path
    for parts in splits.values():
        files = tuple(parts[number] for number in sorted(parts))
        yield Candidate(files[0], files)


def _with_its_parts(path: Path) -> Candidate:
    """Return a file that the user added, with the other parts of a split model beside it."""
    shard = parse_shard_name(path.name)
    if shard is None or shard[2] == 1:
        return Candidate(path, (path,))
    for found in _grouped(path.parent):
        if path in found.files:
            return found
    return Candidate(path, (path,))


def _is_model_file(entry: os.DirEntry[str]) -> bool:
    lower = entry.name.lower()
    # Before the type is asked for, which may cost a call a file on some systems.
    if not lower.endswith(".gguf") and not (".gguf" in lower and is_partial_name(Path(lower))):
        return False
    try:
        return entry.is_file() or (entry.is_symlink() and not entry.is_dir())
    except OSError:
        return True  # it is there and can't be looked at: that is worth a sentence


def _ollama(root: Path, cancelled: Callable[[], bool]) -> Iterator[Candidate]:
    """Yield Ollama's models: a manifest's path is the name, its model layer names the file."""
    manifests = root / "manifests"
    for folder in _folders(manifests, cancelled):
        try:
            names = sorted(path.name for path in folder.iterdir() if path.is_file())
        except OSError:
            continue
        for name in names:
            digests = _digests(folder / name)
            if "model" not in digests:
                continue
            shown = _ollama_name(folder.relative_to(manifests), name)
            blobs = {part: _blob(root, digest) for part, digest in digests.items()}
            yield Candidate(blobs["model"], (blobs["model"],), shown)
            for part in ("projector", "adapter"):
                if part in blobs:
                    yield Candidate(blobs[part], (blobs[part],), shown, blobs["model"])


def _blob(root: Path, digest: str) -> Path:
    return root / "blobs" / digest.replace(":", "-")


def _digests(manifest: Path) -> dict[str, str]:
    """Return the digests of a manifest's files that are GGUF, by what they are."""
    try:
        if manifest.stat().st_size > _MAX_MANIFEST_BYTES:
            return {}
        data: Any = json.loads(manifest.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    layers = data.get("layers") if isinstance(data, dict) else None
    found: dict[str, str] = {}
    for layer in layers if isinstance(layers, list) else []:
        if not isinstance(layer, dict):
            continue
        part = str(layer.get("mediaType")).removeprefix(_OLLAMA_LAYER)
        digest = layer.get("digest")
        # A digest becomes part of a path: nothing but letters, figures and its colon.
        sound = isinstance(digest, str) and digest.replace(":", "").isalnum()
        if part in _OLLAMA_PARTS and sound:
            found.setdefault(part, str(digest))
    return found


def _ollama_name(folder: Path, tag: str) -> str:
    """Return the name as Ollama shows it: without its own registry and library."""
    host, *rest = folder.parts or ("",)
    if host != "registry.ollama.ai":
        rest = [host, *rest]
    elif rest and rest[0] == "library":
        rest = rest[1:]
    return f"{'/'.join(rest)}:{tag}"

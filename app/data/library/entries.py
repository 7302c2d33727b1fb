"""One line of the library: a model, or a file that isn't one and the sentence that says why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.data.library.identity import identity_of, identity_of_name, named_bases
from gguf_tools.facts import Kind, ModelFacts, read_facts
from gguf_tools.header import HeaderError
from gguf_tools.naming import is_partial_name, parse_file_name, shown_name

__all__ = ["ModelEntry", "files_stamp", "read_entry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """What the library knows of a model without loading it.

    ``path`` is the path as found (links are not resolved), of the first file of a split model;
    ``files`` are all of them and ``size_bytes`` is their sum; ``stamp`` changes when one of them
    does. ``base_name`` is what the file's name says of the model, ``title`` what its metadata
    says, ``group`` what variants of one model share. ``embedding_length`` is the width that a
    model has and that a projector projects to. An adapter or projector says in ``bases`` what it
    was made for; ``belongs_to`` is that model where the program that keeps both says so.
    ``problem`` is a sentence on why it can't be used for chat, None if it can; ``broken`` means
    that the file itself is at fault. ``source`` is the place where it was found.
    """

    path: Path
    files: tuple[Path, ...]
    name: str
    base_name: str
    title: str
    group: str
    quantization: str | None
    size_label: str | None
    size_bytes: int
    stamp: str
    architecture: str | None
    context_length: int | None
    parameters: int | None
    bits_per_weight: float | None
    embedding_length: int | None
    bytes_per_token: int | None
    kind: Kind
    bases: tuple[str, ...]
    belongs_to: Path | None
    problem: str | None
    broken: bool
    source: str

    @property
    def shown_name(self) -> str:
        """The name to show, the same wherever the model is named (`naming.shown_name`)."""
        return shown_name(self.path.name, self.title)

    @property
    def usable(self) -> bool:
        """Whether it may be offered for chat."""
        return self.problem is None


def files_stamp(files: Sequence[Path]) -> str:
    """Return a text that differs when a file's size or time does, or when one is missing."""
    stamps = []
    for file in files:
        try:
            status = file.stat()
        except (OSError, ValueError):
            stamps.append("missing")
            continue
        stamps.append(f"{file.name}:{status.st_size}:{status.st_mtime_ns}")
    return "|".join(stamps)


def read_entry(
    path: Path,
    files: tuple[Path, ...],
    source: str,
    name: str = "",
    *,
    belongs_to: Path | None = None,
) -> ModelEntry:
    """Return the entry of a model by reading its header; never raises for the file's content.

    ``name`` is what another program calls it, where its file has no name of its own.
    """
    stamp = files_stamp(files)
    try:
        facts = read_facts(path)
    except HeaderError as error:
        return _unreadable(path, files, source, name, str(error), stamp)
    shown = parse_file_name(path.name)
    identity = identity_of(facts, name)
    return ModelEntry(
        path=path,
        files=facts.files,
        name=name or facts.name,
        base_name=name.partition(":")[0] or shown.base,
        title=identity.title,
        group=identity.group,
        quantization=facts.quantization or shown.quantization,
        size_label=facts.size_label,
        size_bytes=facts.file_bytes,
        stamp=stamp,
        architecture=facts.architecture,
        context_length=facts.context_length,
        parameters=facts.parameters or None,
        bits_per_weight=facts.bits_per_weight,
        embedding_length=_width(facts),
        bytes_per_token=facts.bytes_read_per_token,
        kind=facts.kind,
        bases=named_bases(facts),
        belongs_to=belongs_to,
        problem=_problem(facts),
        broken=_is_broken(facts),
        source=source,
    )


def _problem(facts: ModelFacts) -> str | None:
    if facts.loadable and not is_partial_name(facts.path):
        return None
    return facts.warnings[0] if facts.warnings else "This file can't be used for chat."


def _is_broken(facts: ModelFacts) -> bool:
    """Tell whether the file is unfinished or unintelligible, rather than of another kind."""
    if not facts.complete or is_partial_name(facts.path) or facts.kind == "unknown":
        return True
    return facts.kind == "model" and not facts.loadable


def _width(facts: ModelFacts) -> int | None:
    """Return the width of a model's rows, or of the rows that a projector makes for a model."""
    if facts.kind != "projector":
        return facts.embedding_length
    for key in ("clip.vision.projection_dim", "clip.audio.projection_dim"):
        width = facts.header.integer(key)
        if width:
            return width
    return None


def _unreadable(
    path: Path, files: tuple[Path, ...], source: str, name: str, problem: str, stamp: str
) -> ModelEntry:
    shown = parse_file_name(path.name)
    identity = identity_of_name(name or path.name)
    size_bytes = 0
    for file in files:
        try:
            size_bytes += file.stat().st_size
        except OSError:
            continue
    return ModelEntry(
        path=path,
        files=files,
        name=name or path.name,
        base_name=name.partition(":")[0] or shown.base,
        title=identity.title,
        group=identity.group,
        quantization=shown.quantization,
        size_label=shown.size_label,
        size_bytes=size_bytes,
        stamp=stamp,
        architecture=None,
        context_length=None,
        parameters=None,
        bits_per_weight=None,
        embedding_length=None,
        bytes_per_token=None,
        kind="unknown",
        bases=(),
        belongs_to=None,
        problem=problem,
        broken=True,
        source=source,
    )

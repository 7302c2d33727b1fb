"""One line of the library: a model, or a file that isn't one and the sentence that says why."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gguf_tools.facts import Kind, ModelFacts, read_facts
from gguf_tools.header import HeaderError
from gguf_tools.naming import is_partial_name, parse_file_name

__all__ = ["ModelEntry", "read_entry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """What the library knows of a model without loading it.

    ``path`` is the path as found (links are not resolved), of the first file of a split model;
    ``files`` are all of them and ``size_bytes`` is their sum. ``base_name`` is what variants of
    one model share. ``problem`` is a sentence on why it can't be used for chat, None if it can.
    ``source`` is the place where it was found.
    """

    path: Path
    files: tuple[Path, ...]
    name: str
    base_name: str
    quantization: str | None
    size_label: str | None
    size_bytes: int
    architecture: str | None
    context_length: int | None
    parameters: int | None
    bits_per_weight: float | None
    kind: Kind
    problem: str | None
    source: str

    @property
    def usable(self) -> bool:
        """Whether it may be offered for chat."""
        return self.problem is None


def read_entry(path: Path, files: tuple[Path, ...], source: str, name: str = "") -> ModelEntry:
    """Return the entry of a model by reading its header; never raises for the file's content.

    ``name`` is what another program calls it, where its file has no name of its own.
    """
    try:
        facts = read_facts(path)
    except HeaderError as error:
        return _unreadable(path, files, source, name, str(error))
    shown = parse_file_name(path.name)
    return ModelEntry(
        path=path,
        files=facts.files,
        name=name or facts.name,
        base_name=name.partition(":")[0] or shown.base,
        quantization=facts.quantization or shown.quantization,
        size_label=facts.size_label,
        size_bytes=facts.file_bytes,
        architecture=facts.architecture,
        context_length=facts.context_length,
        parameters=facts.parameters or None,
        bits_per_weight=facts.bits_per_weight,
        kind=facts.kind,
        problem=_problem(facts),
        source=source,
    )


def _problem(facts: ModelFacts) -> str | None:
    if facts.loadable and not is_partial_name(facts.path):
        return None
    return facts.warnings[0] if facts.warnings else "This file can't be used for chat."


def _unreadable(
    path: Path, files: tuple[Path, ...], source: str, name: str, problem: str
) -> ModelEntry:
    shown = parse_file_name(path.name)
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
        quantization=shown.quantization,
        size_label=shown.size_label,
        size_bytes=size_bytes,
        architecture=None,
        context_length=None,
        parameters=None,
        bits_per_weight=None,
        kind="unknown",
        problem=problem,
        source=source,
    )

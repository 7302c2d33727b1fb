"""The models that a picker offers, each by its one name; files that can't be used come last.

Used by the header's picker, the first run and the planner, so that they agree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from app.data.library.entries import ModelEntry
from app.ui.shell import views

__all__ = ["clause_of", "picker_entries"]

# Projectors and adapters are part of models, not models to choose.
_OFFERED: Final = frozenset({"model", "unknown", "diffusion"})
_LONGEST: Final = 64  # characters of a clause in a list; the tooltip has the whole sentence


def picker_entries(
    entries: Iterable[ModelEntry],
    hidden: Collection[Path] = frozenset(),
    loaded: str | None = None,
) -> tuple[views.ModelEntry, ...]:
    """Return what can be chosen by name, the largest variant first; then what can't and why.

    Args:
        entries: what the library found.
        hidden: files that were removed from the list.
        loaded: path of the model that is loaded.
    """
    offered = [e for e in entries if e.kind in _OFFERED and e.path not in hidden]
    names = Counter(_said(entry) for entry in offered)
    rows = sorted(
        offered,
        key=lambda e: (not e.usable, e.shown_name.casefold(), -e.size_bytes, str(e.path)),
    )
    return tuple(_view(entry, loaded, alone=names[_said(entry)] == 1) for entry in rows)


def clause_of(entry: ModelEntry) -> str:
    """Return why a file can't be used in one clause, empty if it can."""
    text = entry.problem or ""
    for path in (entry.path, *entry.files):
        for subject in (str(path), path.name):
            text = re.sub(rf"^{re.escape(subject)}(?= )", "It", text).replace(str(path), path.name)
    clause = text.partition(" (")[0].partition(". ")[0].rstrip(".")
    if len(clause) > _LONGEST:
        clause = clause.partition(": ")[0]
    return clause


def _said(entry: ModelEntry) -> tuple[str, str | None]:
    return entry.shown_name, entry.quantization


def _view(entry: ModelEntry, loaded: str | None, *, alone: bool) -> views.ModelEntry:
    # Two files of one name and type are told apart by where they lie on the disk.
    found_in = entry.source
    if not alone:
        found_in = f"{found_in} · {entry.path.parent.name}/{entry.path.name}"
    return views.ModelEntry(
        key=str(entry.path),
        name=entry.shown_name,
        quantization=entry.quantization or "",
        size_bytes=entry.size_bytes,
        context_tokens=entry.context_length if alone else None,  # there is room for one of them
        found_in=found_in,
        problem=entry.problem,
        reason=clause_of(entry),
        loaded=str(entry.path) == loaded,
    )

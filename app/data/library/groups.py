"""Variants of one model under one heading, its projectors and adapters with it.

Pure: takes the entries of a scan and returns them arranged. Entries that are no model to chat
with go to ``others``, files that can't be used to ``broken``; none is left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from app.data.library.entries import ModelEntry
from app.data.library.identity import words_of

__all__ = ["Arranged", "ModelGroup", "arrange"]

# Files with one name and architecture but sizes further apart than this are different models.
_SAME_PARAMETERS: Final = 0.12
_ALIKE: Final = 0.75
_PARTS: Final = frozenset({"projector", "adapter"})
_PART_WORDS: Final = frozenset({"mmproj", "projector", "vision", "lora", "adapter", "clip"})


@dataclass(frozen=True, slots=True)
class ModelGroup:
    """A model: its variants, largest first, and the projectors and adapters made for it."""

    key: str
    title: str
    variants: tuple[ModelEntry, ...]
    parts: tuple[ModelEntry, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Return bytes of all its files."""
        return sum(entry.size_bytes for entry in (*self.variants, *self.parts))

    @property
    def size_label(self) -> str | None:
        """Return a label such as 8B, of the first variant that has one."""
        return next((entry.size_label for entry in self.variants if entry.size_label), None)


@dataclass(frozen=True, slots=True)
class Arranged:
    """The whole library: models by title, what is no chat model, and what can't be used."""

    groups: tuple[ModelGroup, ...] = ()
    others: tuple[ModelEntry, ...] = ()
    broken: tuple[ModelEntry, ...] = ()


def arrange(entries: Iterable[ModelEntry]) -> Arranged:
    """Return the entries in groups."""
    models: dict[str, list[ModelEntry]] = defaultdict(list)
    parts: list[ModelEntry] = []
    others: list[ModelEntry] = []
    broken: list[ModelEntry] = []
    for entry in entries:
        if entry.broken:
            broken.append(entry)
        elif entry.kind == "model":
            models[entry.group].append(entry)
        elif entry.kind in _PARTS:
            parts.append(entry)
        else:
            others.append(entry)
    groups = [
        _group(f"{key}#{number}", cluster)
        for key, found in models.items()
        for number, cluster in enumerate(_clusters(found))
    ]
    attached: dict[str, list[ModelEntry]] = defaultdict(list)
    for part in parts:
        owner = _owner(part, groups)
        if owner is None:
            others.append(part)
        else:
            attached[owner.key].append(part)
    whole = [
        ModelGroup(
            group.key, group.title, group.variants, tuple(sorted(attached[group.key], key=_name))
        )
        for group in groups
    ]
    return Arranged(
        tuple(sorted(whole, key=lambda group: (group.title.casefold(), group.key))),
        tuple(sorted(others, key=_name)),
        tuple(sorted(broken, key=_name)),
    )


def _clusters(entries: Sequence[ModelEntry]) -> list[list[ModelEntry]]:
    """Return entries of one name apart where their numbers of parameters are."""
    found: list[list[ModelEntry]] = []
    for entry in sorted(entries, key=lambda entry: entry.parameters or 0):
        least = (found[-1][0].parameters or 0) if found else -1
        if least >= 0 and (entry.parameters or 0) <= least * (1 + _SAME_PARAMETERS):
            found[-1].append(entry)
        else:
            found.append([entry])
    return found


def _group(key: str, entries: Sequence[ModelEntry]) -> ModelGroup:
    ordered = sorted(entries, key=lambda entry: (-entry.size_bytes, str(entry.path)))
    return ModelGroup(key, _title(key, ordered), tuple(ordered))


def _title(key: str, entries: Sequence[ModelEntry]) -> str:
    """Return the best of what files and metadata call the model.

    That is the name with most of the words that the variants share and fewest others; of equals
    the one that most files bear. Names of files go before metadata: people know a model by them.
    """
    shared = frozenset(key.partition("|")[2].partition("#")[0].split("-"))
    said = Counter(entry.base_name for entry in entries)
    names = {name: count + 0.5 for name, count in said.items()}
    for entry in entries:
        names.setdefault(entry.title, 0)

    def worth(name: str) -> tuple[int, float, bool, str]:
        words = words_of(name)
        fit = len(words & shared) - 2 * len(words - shared)
        return fit, names[name], not name.islower(), name

    return max(names, key=worth)


def _owner(part: ModelEntry, groups: Sequence[ModelGroup]) -> ModelGroup | None:
    """Return the model that a projector or an adapter is for, None if nothing tells."""
    if part.belongs_to is not None:
        for group in groups:
            if any(entry.path == part.belongs_to for entry in group.variants):
                return group
    wanted = [words_of(base) for base in part.bases]
    wanted.append(words_of(part.base_name) - _PART_WORDS)
    best: tuple[float, str] | None = None
    found = None
    for group in groups:
        if not _may_belong(part, group):
            continue
        here = any(entry.path.parent == part.path.parent for entry in group.variants)
        likeness = _likeness(wanted, group)
        # In one folder a name in common is enough; elsewhere the names have to agree.
        if not (likeness >= _ALIKE or (here and (likeness > 0 or _is_alone(part, groups)))):
            continue
        score = (2 * likeness + here, group.key)
        if best is None or score > best:
            best, found = score, group
    return found


def _may_belong(part: ModelEntry, group: ModelGroup) -> bool:
    first = group.variants[0]
    if part.kind == "adapter":
        return part.architecture in {None, first.architecture}
    widths = (part.embedding_length, first.embedding_length)
    return None in widths or widths[0] == widths[1]


def _likeness(wanted: Sequence[frozenset[str]], group: ModelGroup) -> float:
    """Return how many words two names share, of those that either has (0 to 1); the best pair."""
    names = {words_of(group.title), words_of(group.variants[0].title)}
    return max(
        (len(one & other) / len(one | other) for one in wanted for other in names if one | other),
        default=0.0,
    )


def _is_alone(part: ModelEntry, groups: Sequence[ModelGroup]) -> bool:
    """Tell whether one model only lies in the part's folder."""
    here = [
        group
        for group in groups
        if any(entry.path.parent == part.path.parent for entry in group.variants)
    ]
    return len(here) == 1


def _name(entry: ModelEntry) -> tuple[str, str]:
    return entry.base_name.casefold(), str(entry.path)

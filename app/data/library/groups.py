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
_LEAST_WORDS: Final = 2
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
    clusters = [cluster for found in models.values() for cluster in _clusters(found)]
    groups = [_group(cluster) for cluster in _merged(clusters)]
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


def _group(entries: Sequence[ModelEntry]) -> ModelGroup:
    ordered = sorted(entries, key=lambda entry: (-entry.size_bytes, str(entry.path)))
    # Of the files, so that a model keeps its key while others of its kind come and go.
    key = min(f"{entry.group}|{entry.parameters}" for entry in ordered)
    return ModelGroup(key, _title(ordered), tuple(ordered))


def _telling_name(entry: ModelEntry) -> frozenset[str]:
    """Return the words of a file's name if they name a model and its size, else none.

    "model.gguf", blobs and names without a size don't tell one model from another.
    """
    words = words_of(entry.base_name)
    size = words_of(entry.size_label or "")
    if len(words) < _LEAST_WORDS or not size <= words or entry.base_name.startswith("sha256-"):
        return frozenset()
    return words


def _merged(groups: Sequence[Sequence[ModelEntry]]) -> list[list[ModelEntry]]:
    """Return groups with those joined whose files bear one name, whatever their metadata says."""
    found: list[list[ModelEntry]] = []
    by_name: dict[tuple[str | None, frozenset[str]], list[ModelEntry]] = {}
    for group in groups:
        keys = [(e.architecture, words) for e in group if (words := _telling_name(e))]
        home = next((by_name[key] for key in keys if key in by_name), None)
        if home is None or len(_clusters([*home, *group])) > 1:
            home = []
            found.append(home)
        home.extend(group)
        for key in keys:
            by_name.setdefault(key, home)
    return found


def _title(entries: Sequence[ModelEntry]) -> str:
    """Return the best of the names that the variants are shown by.

    A telling name of files goes first, since people know a model by it; else the name with most
    of the words that the variants share and fewest others; of equals the one said most often.
    """
    telling = Counter(entry.shown_name for entry in entries if _telling_name(entry))
    shared = frozenset(entries[0].group.partition("|")[2].split("-"))
    names = Counter(entry.shown_name for entry in entries)

    def worth(name: str) -> tuple[int, int, int, bool, str]:
        words = words_of(name)
        fit = len(words & shared) - 2 * len(words - shared)
        return telling[name], fit, names[name], not name.islower(), name

    best = max(names, key=worth)
    # What a cache put before the name in its files' names is none of it.
    plain = max(names, key=lambda name: worth(name)[1:])
    return plain if words_of(plain) < words_of(best) else best


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

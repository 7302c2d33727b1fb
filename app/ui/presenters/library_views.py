"""From entries and plans to what the Models page shows. Pure, but for words that are translated."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from PySide6.QtCore import QCoreApplication

from app.data.library.entries import ModelEntry
from app.data.library.fit import VariantFit
from app.data.library.groups import Arranged, ModelGroup
from app.paths import starter_model
from app.ui.models.views import FitView, GroupKind, GroupView, LibraryView, VariantView
from app.ui.models.words import context
from app.ui.numbers import grouped
from app.ui.presenters.library_basis import basis_words
from gguf_tools.units import format_bandwidth, format_bytes, format_rate

__all__ = [
    "fit_view",
    "group_views",
    "keeper_of",
    "library_view",
    "names_of",
    "plural",
    "problem_of",
    "title_of",
]

_OLLAMA: Final = "Ollama"


def _tr(text: str, *values: str) -> str:
    text = QCoreApplication.translate("Models", text)
    for place, value in enumerate(values, start=1):
        text = text.replace(f"%{place}", value)
    return text


def plural(count: int, one: str, many: str) -> str:
    """Return a count with its noun; ``many`` holds %1 for the number."""
    return _tr(one) if count == 1 else _tr(many, grouped(count))


def group_views(
    arranged: Arranged, hidden: Collection[Path] = frozenset(), loaded: str | None = None
) -> Iterator[GroupView]:
    """Yield the models one by one, then the headings over files that are none.

    Args:
        arranged: the library.
        hidden: files that were removed from the list.
        loaded: path of the model that is loaded.
    """
    for group in arranged.groups:
        yield _group(group, hidden, loaded)
    rest: tuple[tuple[GroupKind, str, tuple[ModelEntry, ...]], ...] = (
        ("other", _tr("Not for chat"), arranged.others),
        ("broken", _tr("Files that can't be used"), arranged.broken),
    )
    for kind, title, entries in rest:
        if entries:
            rows = tuple(_file(entry, hidden) for entry in entries)
            size = _listed_bytes(entries, hidden)
            yield GroupView(key=kind, title=title, kind=kind, variants=rows, size_bytes=size)


def library_view(
    arranged: Arranged,
    groups: Sequence[GroupView] | None = None,
    *,
    hidden: Collection[Path] = frozenset(),
    loaded: str | None = None,
    budget_context: int | None = None,
    basis: str = "",
    is_rough: bool = False,
    seconds: float | None = None,
) -> LibraryView:
    """Return the whole page's view.

    Args:
        arranged: the library.
        groups: what `group_views` yields, where that was gathered before.
        hidden: files that were removed from the list.
        loaded: path of the model that is loaded.
        budget_context: tokens that the budgets are planned with.
        basis: what the predictions rest on, in words.
        is_rough: that was measured while other programs ran.
        seconds: what the last scan took.
    """
    if groups is None:
        groups = tuple(group_views(arranged, hidden, loaded))
    every = [row for group in groups for row in group.variants]
    sources = sorted({row.source for row in every})
    return LibraryView(
        groups=tuple(groups),
        summary=_summary(arranged, hidden, seconds),
        basis=basis,
        is_rough=is_rough,
        budget_title=_tr("Memory at %1", context(budget_context)) if budget_context else "",
        sources=tuple(sources) if len(sources) > 1 else (),
        hidden=sum(row.is_hidden for row in every),
    )


def _summary(arranged: Arranged, hidden: Collection[Path], seconds: float | None) -> str:
    """Return how much is listed; what was removed from the list doesn't count."""
    groups = [
        listed
        for group in arranged.groups
        if (listed := [entry for entry in group.variants if entry.path not in hidden])
    ]
    variants = [entry for group in groups for entry in group]
    if not arranged.groups and not arranged.others and not arranged.broken:
        return ""
    parts = [
        plural(len(groups), "1 model", "%1 models"),
        plural(len(variants), "1 variant", "%1 variants"),
        format_bytes(sum(_listed_bytes((*g.variants, *g.parts), hidden) for g in arranged.groups)),
    ]
    if arranged.broken:
        parts.append(plural(len(arranged.broken), "1 unusable file", "%1 unusable files"))
    if seconds is not None:
        parts.append(_tr("scanned in %1 s", f"{max(seconds, 0.1):.1f}"))
    return " · ".join(parts)


def _group(group: ModelGroup, hidden: Collection[Path], loaded: str | None) -> GroupView:
    first = group.variants[0]
    label = group.size_label
    tags = [tag for tag in (label, first.architecture) if tag]
    if label and label.casefold() in group.title.casefold():
        tags.remove(label)  # the name says it already
    return GroupView(
        key=group.key,
        title=group.title,
        tags=tuple(tags),
        variants=(
            *(_variant(entry, group.title, hidden, loaded) for entry in group.variants),
            *(_part(entry, group.title, hidden) for entry in group.parts),
        ),
        size_bytes=_listed_bytes((*group.variants, *group.parts), hidden),
    )


def _listed_bytes(entries: Iterable[ModelEntry], hidden: Collection[Path]) -> int:
    """Return the bytes of what was not removed from the list."""
    return sum(entry.size_bytes for entry in entries if entry.path not in hidden)


def _variant(
    entry: ModelEntry, title: str, hidden: Collection[Path], loaded: str | None
) -> VariantView:
    tags = []
    if len(entry.files) > 1:
        tags.append(_tr("%1 files", grouped(len(entry.files))))
    name = entry.quantization or _tr("unknown type")
    return VariantView(
        key=str(entry.path),
        name=name,
        place=f"{entry.source} · {_file_words(entry)}",
        source=entry.source,
        size_bytes=entry.size_bytes,
        bits_per_weight=entry.bits_per_weight,
        context_tokens=entry.context_length,
        problem=problem_of(entry),
        tags=tuple(tags),
        is_loaded=str(entry.path) == loaded,
        is_hidden=entry.path in hidden,
        keeper=keeper_of(entry),
        search_text=f"{title} {name} {entry.name} {entry.source} {entry.path}".casefold(),
    )


def _part(entry: ModelEntry, title: str, hidden: Collection[Path]) -> VariantView:
    name = _tr("Projector") if entry.kind == "projector" else _tr("Adapter")
    return VariantView(
        key=str(entry.path),
        name=name,
        place=f"{entry.source} · {_file_words(entry)}",
        source=entry.source,
        size_bytes=entry.size_bytes,
        kind=entry.kind,
        tags=(entry.quantization,) if entry.quantization else (),
        is_hidden=entry.path in hidden,
        keeper=keeper_of(entry),
        search_text=f"{title} {name} {entry.source} {entry.path}".casefold(),
    )


def _file(entry: ModelEntry, hidden: Collection[Path]) -> VariantView:
    kinds = {
        "projector": _tr("projector"),
        "adapter": _tr("adapter"),
        "embedding": _tr("embedding"),
        "reranker": _tr("reranker"),
        "imatrix": _tr("importance matrix"),
        "vocabulary": _tr("vocabulary"),
        "diffusion": _tr("diffusion"),
        "audio": _tr("audio"),
        "draft": _tr("draft"),
    }
    name = _file_words(entry)
    return VariantView(
        key=str(entry.path),
        name=name,
        place=entry.source,
        source=entry.source,
        size_bytes=entry.size_bytes,
        bits_per_weight=entry.bits_per_weight,
        context_tokens=entry.context_length,
        problem=problem_of(entry) or _tr("This file can't be used for chat."),
        kind=entry.kind,
        tags=tuple(kinds[entry.kind] for _ in (0,) if entry.kind in kinds),
        is_hidden=entry.path in hidden,
        keeper=keeper_of(entry),
        search_text=f"{name} {entry.source} {entry.path}".casefold(),
    )


def _file_words(entry: ModelEntry) -> str:
    """Return what a file is called where it lies: Ollama's blobs by their manifests."""
    return entry.name if entry.path.name.startswith("sha256-") else entry.path.name


def problem_of(entry: ModelEntry) -> str:
    """Return why a file can't be used; its folder is left out, as the row names it."""
    if entry.problem is None:
        return ""
    text = entry.problem
    for file in (entry.path, *entry.files):
        text = text.replace(str(file), file.name)
    return text


@cache
def _starter() -> Path | None:
    """Return the starter model; asking for it looks through the installed packages."""
    return starter_model()


def keeper_of(entry: ModelEntry) -> str:
    """Return who has to remove a file that is not ours to move, nothing where it may be moved."""
    if entry.source == _OLLAMA:
        return _tr("Ollama keeps this file. Remove it there: ollama rm %1", entry.name)
    if entry.path == _starter():
        return _tr("The starter model is a part of the installed program.")
    return ""


# --- predictions


def fit_view(fit: VariantFit) -> FitView:
    """Return a prediction in words."""
    share = fit.share
    shares: tuple[tuple[str, float], ...] = ()
    if share is not None and share.total_bytes:
        parts = (
            ("weights", share.weights_bytes),
            ("kv_used", share.cache_bytes),
            ("compute", share.compute_bytes),
            ("other_programs", share.others_bytes),
        )
        shares = tuple((token, size / share.total_bytes) for token, size in parts if size > 0)
    return FitView(
        verdict=fit.verdict,
        words=_verdict_words(fit),
        sentence=_sentence(fit),
        shares=shares,
        max_context_tokens=fit.max_context_tokens,
        decode_low_per_s=fit.decode_low_per_s,
        decode_per_s=fit.decode_high_per_s,
        decode_words=_decode_words(fit),
        prefill_per_s=fit.prefill_per_s,
    )


def _verdict_words(fit: VariantFit) -> str:
    left = fit.left_bytes
    if fit.verdict == "unknown" or left is None:
        return _tr("Unknown")
    if fit.verdict == "too_large":
        return _tr("%1 short", format_bytes(max(-left, 0)))
    if fit.verdict == "fits":
        return _tr("Fits, %1 free", format_bytes(left))
    if left < 0:
        return _tr("Tight, up to %1", grouped(fit.held_tokens or 0))
    return _tr("Tight, %1 free", format_bytes(left))


def _sentence(fit: VariantFit) -> str:
    if fit.share is None:
        return fit.note
    share = fit.share
    lines = [
        _tr("Planned with %1 tokens of context in %2:", grouped(fit.context_tokens), fit.device),
        _tr(
            "weights %1, cache %2, compute %3, other programs %4, of %5.",
            *(
                format_bytes(size)
                for size in (
                    share.weights_bytes,
                    share.cache_bytes,
                    share.compute_bytes,
                    share.others_bytes,
                    share.total_bytes,
                )
            ),
        ),
    ]
    if fit.max_context_tokens is not None:
        lines.append(_tr("Longest context that fits: %1 tokens.", grouped(fit.max_context_tokens)))
    if fit.note:
        lines.append(fit.note)
    return "\n".join(lines)


def _decode_words(fit: VariantFit) -> str:
    if fit.decode_high_per_s is None or fit.decode_ceiling_per_s is None:
        return _tr("No prediction: the memory's bandwidth is not known.")
    return _tr(
        "Predicted %6: %1 to %2 with an empty cache, at most %3 as memory is read at %4 (%5).",
        f"{fit.decode_low_per_s or 0:.3g}",
        format_rate(fit.decode_high_per_s),
        format_rate(fit.decode_ceiling_per_s),
        format_bandwidth(fit.bandwidth_bytes_per_s),
        basis_words(fit.bandwidth_basis, fit.bandwidth_note),
        fit.decode_words,
    )


def names_of(entries: Iterable[ModelEntry], most: int = 3) -> str:
    """Return the first names of a list of files and how many more there are."""
    names = [_file_words(entry) for entry in entries]
    shown = ", ".join(names[:most])
    more = len(names) - most
    return shown if more <= 0 else _tr("%1 and %2 more", shown, grouped(more))


def title_of(arranged: Arranged, entry: ModelEntry) -> str:
    """Return what a file is called on the page: its model and type, or its name."""
    for group in arranged.groups:
        if entry in group.variants:
            return f"{group.title} {entry.quantization or ''}".strip()
    return _file_words(entry)

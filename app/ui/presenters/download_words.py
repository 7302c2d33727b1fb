"""What the page Get models shows, in words: repositories, files and downloads as views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final, Literal, TypeAlias

from PySide6.QtCore import QCoreApplication, QLocale

from app.data.hub.errors import HubFault
from app.data.hub.values import Listing, Repository, Variant
from app.data.library.fit import VariantFit
from app.ui.downloads.views import (
    DownloadAction,
    DownloadState,
    DownloadView,
    FileState,
    FileView,
    MessageView,
    RepositoryView,
    ResultView,
)
from app.ui.models.views import FitView
from app.ui.numbers import numbered
from app.ui.presenters.download_queue import Download
from app.ui.presenters.library_views import fit_view
from gguf_tools.facts import ModelFacts
from gguf_tools.units import format_bytes, format_count, format_seconds
from inspector.widgets.text import fill, grouped, joined

__all__ = [
    "Figures",
    "best_variant",
    "download_view",
    "fault_message",
    "in_order",
    "queue_words",
    "repository_view",
    "result_view",
]

Basis: TypeAlias = Literal["waiting", "header", "size"]

_ACTIONS: Final[dict[DownloadState, tuple[DownloadAction, ...]]] = {
    "waiting": ("pause", "remove"),
    "running": ("pause", "remove"),
    "paused": ("resume", "remove"),
    "failed": ("resume", "remove"),
    "done": ("chat", "dismiss"),
}


def _tr(text: str, *values: str) -> str:
    return fill(QCoreApplication.translate("Downloads", text), *values)


def _counted(figure: str, one: str, many: str) -> str:
    return one if figure == "1" else _tr(many, figure)


@dataclass(frozen=True, slots=True)
class Figures:
    """What is known of a variant: its facts and fit, and what they were got from."""

    basis: Basis = "waiting"
    facts: ModelFacts | None = None
    fit: VariantFit | None = None
    note: str = ""


# --- repositories


def result_view(found: Repository) -> ResultView:
    """Return a search result."""
    owner, _, name = found.id.rpartition("/")
    size = format_count(found.parameters) if found.parameters else ""
    downloads = _many(found.downloads)
    likes = _many(found.likes)
    updated = _day(found.updated)
    return ResultView(
        key=found.id,
        name=name,
        what=joined((owner, size, found.licence or _tr("no licence named"))),
        use=joined(
            (
                _tr("↓ %1", downloads) if downloads else "",
                _tr("♥ %1", likes) if likes else "",
                updated,
            )
        ),
        tags=(_tr("gated"),) if found.gated else (),
        spoken=", ".join(
            part
            for part in (
                name,
                _tr("by %1", owner),
                _tr("%1 parameters", size) if size else "",
                _counted(downloads, _tr("1 download"), "%1 downloads") if downloads else "",
                _counted(likes, _tr("1 like"), "%1 likes") if likes else "",
                _tr("changed %1", updated) if updated else "",
                _tr("licence %1", found.licence) if found.licence else _tr("no licence named"),
                _tr("gated") if found.gated else "",
            )
            if part
        ),
    )


def _many(count: int | None) -> str:
    """Return a count as people compare it: 1.2M, 34K, 512."""
    if count is None:
        return ""
    return format_count(count) if count >= 10_000 else grouped(count)


def _day(date: str | None) -> str:
    """Return the day of a date in the user's language."""
    if date is None:
        return ""
    from PySide6.QtCore import QDate, Qt

    day = QDate.fromString(date, Qt.DateFormat.ISODate)
    return QLocale().toString(day, "d MMM yyyy") if day.isValid() else date


def repository_view(
    listing: Listing,
    figures: Mapping[str, Figures],
    states: Mapping[str, FileState],
    endpoint: str,
    fetched_bytes: int | None,
    *,
    needs_token: bool = False,
) -> RepositoryView:
    """Return a repository with what is known of its files so far.

    ``fetched_bytes`` were read for headers; None while none was asked for.
    """
    first = next((item.facts for item in figures.values() if item.facts is not None), None)
    parameters = first.parameters if first is not None else listing.parameters
    context = first.context_length if first is not None else listing.context_length
    architecture = first.architecture if first is not None else listing.architecture
    owner, _, name = listing.repository.rpartition("/")
    return RepositoryView(
        key=listing.repository,
        name=name,
        facts=joined(
            (
                _tr("by %1", owner),
                architecture or "",
                _tr("%1 parameters", format_count(parameters)) if parameters else "",
                _tr("context %1", grouped(context)) if context else "",
                listing.licence or _tr("no licence named"),
            )
        ),
        address=f"{endpoint}/{listing.repository}",
        tags=(_tr("gated"),) if listing.gated else (),
        files=tuple(
            _file_view(
                variant,
                figures.get(variant.key, Figures()),
                states.get(variant.key, "new"),
                listing.parameters,
            )
            for variant in listing.variants
        ),
        basis=_basis_words(listing, figures, fetched_bytes),
        needs_token=needs_token,
    )


def _file_view(
    variant: Variant, figures: Figures, state: FileState, parameters: int | None
) -> FileView:
    name = variant.quantization or variant.name
    bits = None
    if figures.facts is not None:
        bits = figures.facts.bits_per_weight
    elif parameters and not variant.projector and figures.basis == "size":
        bits = variant.size_bytes * 8 / parameters
    count = len(variant.files)
    parts = [PurePosixPath(variant.key).name]
    if count > 1:
        parts = [_tr("%1 parts", str(count)), *parts]
    problem = ""
    if variant.missing:
        problem = numbered(
            variant.missing,
            _tr("One of its parts is missing in the repository"),
            _tr("%n of its parts are missing in the repository"),
        )
    fit = FitView()
    basis = ""
    if variant.projector:
        name = _tr("Vision part, %1", name)
        fit = FitView("unknown", "–", _tr("A projector is loaded beside its model."))
    elif figures.fit is not None:
        fit = fit_view(figures.fit)
        basis = _tr("From the header of the file on the hub: the same plan as for a file here.")
        if figures.basis == "size":
            fit = replace(fit, words=_about(figures.fit))
            basis = figures.note
    elif figures.basis == "waiting" and not problem:
        fit = FitView("waiting", "…", _tr("The header of the file is being read."))
    return FileView(
        key=variant.key,
        name=name,
        detail=joined(parts),
        size_bytes=variant.size_bytes,
        bits_per_weight=bits,
        fit=fit,
        basis=basis,
        state=state,
        problem=problem,
    )


def _about(fit: VariantFit) -> str:
    """Return a verdict that rests on a size alone: it claims no more than that."""
    return {
        "fits": _tr("≈ fits"),
        "tight": _tr("≈ tight"),
        "too_large": _tr("≈ too large"),
        "unknown": _tr("Unknown"),
    }[fit.verdict]


def _basis_words(
    listing: Listing, figures: Mapping[str, Figures], fetched_bytes: int | None
) -> str:
    wanted = [item.key for item in listing.variants if not item.projector and not item.missing]
    read = sum(figures.get(key, Figures()).basis == "header" for key in wanted)
    by_size = [key for key in wanted if figures.get(key, Figures()).basis == "size"]
    waiting = len(wanted) - read - len(by_size)
    cost = f" ({format_bytes(fetched_bytes)})" if fetched_bytes else ""
    if not wanted:
        return ""
    count = str(len(wanted))
    if waiting:
        return _tr("Reading headers: %1 of %2%3", str(len(wanted) - waiting), count, cost)
    if not by_size:
        return _tr("Fit and rate are predicted from the headers of the files%1.", cost)
    reason = next((figures[key].note for key in by_size if figures[key].note), "")
    if read:
        return _tr("%1 of %2 are judged by size alone: %3", str(len(by_size)), count, reason)
    return _tr("Judged by size alone: %1", reason)


def best_variant(listing: Listing, figures: Mapping[str, Figures]) -> str:
    """Return the key of the variant to begin with: of those that fit the one nearest to 4.8 bits.

    Below about 4.5 bits a weight answers get visibly worse, above 5 hardly better.
    """
    models = [item for item in listing.variants if not item.projector and not item.missing]

    def rank(variant: Variant) -> tuple[int, float, bool]:
        known = figures.get(variant.key, Figures())
        verdict = known.fit.verdict if known.fit is not None else "unknown"
        order = {"fits": 0, "tight": 1, "unknown": 2, "too_large": 3}[verdict]
        bits = known.facts.bits_per_weight if known.facts is not None else None
        if bits is None and listing.parameters:
            bits = variant.size_bytes * 8 / listing.parameters
        return order, abs((bits or 16.0) - 4.8), "_K" not in (variant.quantization or "")

    return min(models, key=rank).key if models else ""


# --- downloads


def download_view(item: Download) -> DownloadView:
    """Return a download in words."""
    total = item.job.size_bytes
    return DownloadView(
        key=item.job.id,
        title=item.job.title,
        repository=item.job.repository,
        state=item.state,
        share=item.done_bytes / total if total else 1.0,
        words=_progress_words(item),
        actions=_ACTIONS[item.state],
    )


def _progress_words(item: Download) -> str:
    transfer = item.transfer
    amount = _tr("%1 of %2", format_bytes(item.done_bytes), format_bytes(item.job.size_bytes))
    if item.state == "failed":
        return item.sentence
    if item.state == "done":
        return _tr("%1, checksum verified", format_bytes(item.job.size_bytes))
    if item.state == "paused":
        return joined((_tr("Paused"), amount))
    if item.state == "waiting":
        return joined((_tr("Waits its turn"), amount if item.done_bytes else ""))
    if transfer is None:
        return _tr("Starting")
    if transfer.phase == "checking":
        return joined((_tr("Checking what is there"), amount))
    if transfer.phase == "waiting":
        return joined((_tr("Waits for the network"), amount, transfer.note))
    rate = format_bytes(round(transfer.bytes_per_s)) + "/s" if transfer.bytes_per_s else ""
    left = _tr("%1 left", _span(transfer.left_s)) if transfer.left_s is not None else ""
    return joined((amount, rate, left))


def _span(seconds: float) -> str:
    """Return a time as people say it, no finer than it is known."""
    if seconds < 60:
        return _tr("%1 s", str(max(round(seconds), 1)))
    if seconds < 3600:
        return _tr("%1 min", str(round(seconds / 60)))
    if seconds < 48 * 3600:
        hours, rest = divmod(round(seconds / 60), 60)
        return _tr("%1 h %2 min", str(hours), str(rest))
    return format_seconds(seconds)


def in_order(items: tuple[Download, ...]) -> tuple[Download, ...]:
    """Return downloads as they are of interest: what runs first, what is done last."""
    ranks: dict[DownloadState, int] = {
        "running": 0,
        "failed": 1,
        "waiting": 2,
        "paused": 3,
        "done": 4,
    }
    return tuple(sorted(items, key=lambda item: ranks[item.state]))


def queue_words(items: tuple[Download, ...]) -> str:
    """Return the sum of what is still to come."""
    waiting = [item for item in items if item.state in {"waiting", "running"}]
    if len(waiting) < 2:
        return ""
    left = sum(item.left_bytes for item in waiting)
    return _tr("%1 to come for %2", format_bytes(left), _tr("%1 models", str(len(waiting))))


# --- what went wrong


def fault_message(kind: HubFault, sentence: str) -> MessageView:
    """Return a refusal as a message with the button that helps."""
    again = _tr("Try again")
    titles = {
        "offline": (_tr("Offline mode is on"), "settings", _tr("Open the settings")),
        "network": (_tr("No connection"), "again", again),
        "token": (_tr("Access refused"), "token", _tr("Access token…")),
        "gated": (_tr("This repository is gated"), "token", _tr("Access token…")),
        "missing": (_tr("Not found"), "token", _tr("Access token…")),
        "busy": (_tr("The hub is busy"), "again", again),
    }
    title, choice, label = titles.get(kind, (_tr("That did not work"), "again", again))
    return MessageView(title, sentence, "warning", choice, label)

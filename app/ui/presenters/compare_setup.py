"""What the card of settings says of a comparison, and what there is to choose from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from PySide6.QtCore import QCoreApplication

from app.data.library.groups import ModelGroup
from app.ui.compare.views import SetupView, VariantChoice
from app.ui.numbers import grouped, numbered
from app.ui.presenters.compare_run import CompareRun

__all__ = ["setup_view", "variant_choices"]


def _tr(text: str) -> str:
    return QCoreApplication.translate("ComparePresenter", text)


def setup_view(
    values: Mapping[str, Any], run: CompareRun, *, problem: str, can_run: bool
) -> SetupView:
    """Return what all variants share in one line, how they run, and how far a run is."""
    options = _tr("Temperature {0:g} · seed {1} · {2} · {3} · KV {4}").format(
        values["temperature"],
        values["seed"],
        numbered(values["max_tokens"], _tr("1 token"), _tr("%n tokens")),
        _context_words(values["n_ctx"]),
        values["kv_type"],
    )
    how = (
        _tr("Runs all at once: they share bandwidth")
        if values["together"]
        else _tr("Runs one after another, so that no variant shares bandwidth")
    )
    return SetupView(
        options=options,
        how=how,
        is_running=run.is_running,
        problem=problem,
        doing=run.doing,
        progress=run.progress,
        can_run=can_run,
    )


def variant_choices(groups: Iterable[ModelGroup]) -> list[VariantChoice]:
    """Return the variants of the library that can be compared."""
    return [
        VariantChoice(
            path=str(entry.path),
            name=entry.shown_name,
            label=entry.quantization or entry.shown_name,
            size_bytes=entry.size_bytes,
            group=group.title,
        )
        for group in groups
        for entry in group.variants
        if entry.usable
    ]


def _context_words(n_ctx: int | None) -> str:
    return _tr("context up to 8K") if n_ctx is None else _tr("context {0}").format(grouped(n_ctx))

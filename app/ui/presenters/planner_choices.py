"""What the planner's form and its popup say of models."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeAlias

from PySide6.QtCore import QCoreApplication

from app.data.library import entries
from app.ui.planner.views import FormFacts
from app.ui.presenters.model_entries import picker_entries
from app.ui.presenters.planner_views import say
from app.ui.shell.views import ModelEntry
from gguf_tools.facts import ModelFacts
from gguf_tools.kv import KvSettings, kv_caches
from gguf_tools.quants import cache_type
from gguf_tools.typed import TypedModel, TypedModelError, typed_facts
from gguf_tools.units import format_bytes, format_count
from inspector.planner_examples import MODELS
from inspector.planner_setup import Scenario
from inspector.planner_words import beyond_phrases, filled

__all__ = ["TYPED", "describe_typed", "form_facts", "model_groups"]

TYPED: Final = "typed:"
"""What keys of models of the list begin with; other keys are paths."""

_Groups: TypeAlias = tuple[tuple[str, tuple[ModelEntry, ...]], ...]


def _tr(text: str) -> str:
    return QCoreApplication.translate("Planner", text)


def model_groups(found: Iterable[entries.ModelEntry], hidden: frozenset[Path]) -> _Groups:
    """Return what can be chosen: the library's files, and well-known models as typed."""
    files = picker_entries(found, hidden)
    typed = tuple(
        ModelEntry(TYPED + model.name, model.name, model.quantization, found_in=_tr("typed"))
        for model in MODELS
    )
    return ((_tr("On this computer"), files), (_tr("Well-known models, as typed"), typed))


def describe_typed(model: TypedModel) -> tuple[str, str]:
    """Return what follows from figures, and a sentence on what is wrong; one of them empty."""
    try:
        facts = typed_facts(model)
    except TypedModelError as error:
        return "", str(error)
    text = _tr(
        "%1 of weights at %2 bits, %3 of cache a token in f16. Assumed: width %4, %5 heads, "
        "vocabulary %6."
    )
    values = (
        format_bytes(facts.weights_bytes),
        f"{facts.bits_per_weight:.2f}",
        format_bytes(facts.kv_bytes_per_token),
        f"{facts.embedding_length:,}",
        f"{facts.heads:,}",
        f"{facts.vocab_size:,}",
    )
    return filled(text, values), ""


def form_facts(scenario: Scenario, facts: ModelFacts | None) -> FormFacts:
    """Return what the form says of a model, ``facts`` None while it is unknown."""
    if facts is None or facts.shape is None:
        return FormFacts(scenario.model.path or _tr("Choose a model"))
    quantization = facts.quantization or ""
    name = facts.shown_name
    name = name if quantization in name else f"{name} · {quantization}"
    parts = (
        format_count(facts.parameters),
        format_bytes(facts.weights_bytes),
        _tr("typed") if scenario.model.typed is not None else _tr("file"),
    )
    kind = cache_type(scenario.settings.cache_type)
    caches = kv_caches(facts.shape, KvSettings(type_k=kind, type_v=kind))
    row_bytes = sum(cache.bytes_per_token for cache in caches if cache.grows)
    return FormFacts(
        model=name.strip(" ·"),
        model_hint=" · ".join(parts),
        cache_hint=filled(_tr("%1 a token"), (format_bytes(row_bytes),)),
        layers=facts.shape.layers_all + 1,
        trained_tokens=facts.context_length,
        has_experts=bool(facts.experts),
        remark=" ".join(
            say(phrase)
            for phrase in beyond_phrases(facts.context_length, scenario.settings.context)
        ),
    )

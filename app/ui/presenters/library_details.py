"""Reads everything about one file for the dialog of its details. For a background thread."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QCoreApplication

from app.ui.models.views import DetailRow, ModelDetails, TypeView
from app.ui.numbers import grouped
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.units import format_bytes, format_count, format_decimal_bytes
from inspector.panel import metadata_rows

__all__ = ["details_of", "read_details"]


def _tr(text: str) -> str:
    return QCoreApplication.translate("Models", text)


def read_details(path: Path, title: str) -> ModelDetails:
    """Return what a file says.

    Raises:
        HeaderError: it has no usable header; the sentence says why.
    """
    return details_of(read_facts(path), title)


def details_of(facts: ModelFacts, title: str = "") -> ModelDetails:
    """Return what an open file says."""
    tags = [tag for tag in (facts.quantization, format_bytes(facts.file_bytes)) if tag]
    return ModelDetails(
        title=title or facts.shown_name,
        tags=tuple(tags),
        path=str(facts.path),
        rows=tuple(_rows(facts)),
        types=tuple(
            TypeView(name, share.tensors, share.bytes) for name, share in facts.tensor_types.items()
        ),
        metadata=metadata_rows(facts.header),
        warnings=facts.warnings,
    )


def _rows(facts: ModelFacts) -> list[DetailRow]:
    assumed = _tr("Assumed: the file does not say it.")
    rows: list[DetailRow] = []

    def add(label: str, value: str | None, hint: str = "") -> None:
        if value:
            rows.append(DetailRow(label, value, hint or _tr("Read from the file.")))

    add(_tr("Own name"), facts.name, _tr("From the file's metadata."))
    add(_tr("Kind"), facts.kind)
    add(_tr("Architecture"), f"{facts.architecture} · GGUF v{facts.header.version}")
    parameters = format_count(facts.parameters)
    if facts.experts and facts.parameters_active is not None:
        parameters += f", {format_count(facts.parameters_active)} {_tr('active')}"
    add(_tr("Parameters"), parameters if facts.parameters else None)
    if facts.bits_per_weight is not None:
        add(_tr("Bits per weight"), f"{facts.bits_per_weight:.2f}")
    add(_tr("Layers"), _count(facts.layers))
    add(_tr("Embedding length"), _count(facts.embedding_length))
    heads = sorted(set(facts.kv_heads or ()) - {0})
    if facts.heads and heads:
        shown = "–".join(str(count) for count in dict.fromkeys((heads[0], heads[-1])))
        hint = assumed if "kv_heads" in facts.assumed else ""
        add(_tr("Heads · KV heads"), f"{facts.heads} · {shown}", hint)
    if facts.key_length:
        add(_tr("Key · value length"), f"{facts.key_length} · {facts.value_length}")
    if facts.context_length:
        add(_tr("Trained for"), f"{grouped(facts.context_length)} {_tr('tokens')}")
    add(_tr("Vocabulary"), _count(facts.vocab_size))
    if facts.sliding_window and facts.sliding_layers:
        hint = assumed if "sliding_window_pattern" in facts.assumed else ""
        text = f"{grouped(facts.sliding_window)} · {facts.sliding_layers} {_tr('layers')}"
        add(_tr("Sliding window"), text, hint)
    if facts.experts:
        add(_tr("Experts"), f"{facts.experts_used} {_tr('of')} {facts.experts}")
    if facts.kind == "model":
        add(_tr("Output matrix"), _tr("tied to the embedding") if facts.tied_output else _tr("own"))
        add(_tr("Chat template"), _tr("in the file") if facts.chat_template else _tr("none"))
    predicted = _tr("Follows from the file.")
    if facts.bytes_read_per_token:
        text = format_decimal_bytes(facts.bytes_read_per_token)
        add(_tr("Weights read per token"), text, predicted)
    if facts.kv_bytes_per_token:
        with_f16 = _tr("With a cache in f16; follows from the file.")
        add(_tr("KV cache per token"), format_bytes(facts.kv_bytes_per_token), with_f16)
    if len(facts.files) > 1:
        add(_tr("Files"), grouped(len(facts.files)))
    return rows


def _count(value: int | None) -> str | None:
    return None if value is None else grouped(value)

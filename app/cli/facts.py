"""``plimsoll facts FILE``: what a model file says, without loading it."""

from __future__ import annotations

import argparse
from typing import Any

from app.cli.exits import EXIT_NO_MODEL
from app.cli.terminal import json_line, note, say, shown
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import HeaderError
from gguf_tools.units import format_bytes, format_count, format_decimal_bytes

__all__ = ["add_arguments", "facts_as_json", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", help="a .gguf file; any part of a split model")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the facts; return the exit code."""
    try:
        facts = read_facts(args.file)
    except HeaderError as error:
        note(error)
        return EXIT_NO_MODEL
    if args.json:
        print(json_line(facts_as_json(facts)))
    else:
        say(_as_text(facts))
    return 0


def facts_as_json(facts: ModelFacts) -> dict[str, Any]:
    """Return the object that ``--json`` prints: bytes as integers, unknown as None."""
    return {
        "path": str(facts.path),
        "files": [str(path) for path in facts.files],
        "file_bytes": facts.file_bytes,
        "architecture": facts.architecture,
        "name": facts.name,
        "shown_name": facts.shown_name,
        "size_label": facts.size_label,
        "quantization": facts.quantization,
        "bits_per_weight": facts.bits_per_weight,
        "parameters": facts.parameters,
        "parameters_active": facts.parameters_active,
        "layers": facts.layers,
        "embedding_length": facts.embedding_length,
        "heads": facts.heads,
        "kv_heads": list(facts.kv_heads) if facts.kv_heads is not None else None,
        "key_length": facts.key_length,
        "value_length": facts.value_length,
        "context_length": facts.context_length,
        "vocab_size": facts.vocab_size,
        "sliding_window": facts.sliding_window,
        "sliding_layers": facts.sliding_layers,
        "experts": facts.experts,
        "experts_used": facts.experts_used,
        "tied_output": facts.tied_output,
        "weights_bytes": facts.weights_bytes,
        "bytes_read_per_token": facts.bytes_read_per_token,
        "kv_bytes_per_token": facts.kv_bytes_per_token,
        "chat_template": facts.chat_template,
        "tensor_types": {
            name: {"tensors": share.tensors, "bytes": share.bytes}
            for name, share in facts.tensor_types.items()
        },
        "kind": facts.kind,
        "complete": facts.complete,
        "needed_bytes": facts.needed_bytes,
        "loadable": facts.loadable,
        "assumed": list(facts.assumed),
        "warnings": list(facts.warnings),
    }


def _as_text(facts: ModelFacts) -> str:
    unknown = "unknown"
    bits = f"{facts.bits_per_weight:.2f}" if facts.bits_per_weight is not None else unknown
    rows = [
        ("Name in the file", facts.name),
        ("Kind", facts.kind),
        ("Architecture", facts.architecture or unknown),
        ("Quantisation", f"{facts.quantization or unknown} ({bits} bits per weight)"),
        ("File", _file_line(facts)),
        ("Parameters", _parameters_line(facts)),
        ("Layers", _layers_line(facts)),
        ("Embedding", _shown(facts.embedding_length)),
        ("Heads", _heads_line(facts)),
        ("Trained context", _shown(facts.context_length, " tokens")),
        ("Vocabulary", _shown(facts.vocab_size, " tokens")),
        ("Weights", format_bytes(facts.weights_bytes)),
        ("Read per token", format_decimal_bytes(facts.bytes_read_per_token)),
        ("KV cache per token (f16)", format_bytes(facts.kv_bytes_per_token)),
        ("Chat template", "yes" if facts.chat_template else "no"),
        ("Tensor types", _types_line(facts)),
    ]
    width = max(len(label) for label, _ in rows)
    lines = [
        shown(facts.shown_name),
        *(f"  {label:<{width}}  {shown(value)}" for label, value in rows),
    ]
    if facts.assumed:
        lines.append(f"  {'Assumed':<{width}}  {', '.join(facts.assumed)}")
    lines += [f"! {shown(warning)}" for warning in facts.warnings]
    return "\n".join(lines)


def _shown(value: int | None, unit: str = "") -> str:
    return "unknown" if value is None else f"{value:,}{unit}"


def _file_line(facts: ModelFacts) -> str:
    parts = f", {len(facts.files)} parts" if len(facts.files) > 1 else ""
    return f"{format_bytes(facts.file_bytes)}{parts}  {facts.path}"


def _parameters_line(facts: ModelFacts) -> str:
    line = format_count(facts.parameters)
    if facts.experts:
        line += f", {format_count(facts.parameters_active)} active"
        line += f" ({facts.experts_used} of {facts.experts} experts)"
    return line


def _layers_line(facts: ModelFacts) -> str:
    line = _shown(facts.layers)
    if facts.sliding_layers:
        line += f", {facts.sliding_layers} with a sliding window of {facts.sliding_window} tokens"
    return line


def _heads_line(facts: ModelFacts) -> str:
    if facts.heads is None or facts.kv_heads is None:
        return "unknown"
    different = sorted(set(facts.kv_heads))
    kv_heads = str(different[0]) if len(different) == 1 else f"{different[0]} to {different[-1]}"
    return f"{facts.heads}, KV {kv_heads}, length {facts.key_length} / {facts.value_length}"


def _types_line(facts: ModelFacts) -> str:
    return ", ".join(
        f"{name} {share.tensors} ({format_bytes(share.bytes)})"
        for name, share in facts.tensor_types.items()
    )

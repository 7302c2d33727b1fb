"""``plimsoll models``: the models on this computer, whether they fit, and what can't be used."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from app.cli.engine import open_engine
from app.cli.exits import EXIT_ENGINE
from app.cli.folders import make_folders, open_settings
from app.cli.terminal import json_line, note, say, shown
from app.data.library.choices import LibraryChoices
from app.data.library.entries import ModelEntry
from app.data.library.fit import VariantFit, unknown_fit
from app.data.library.groups import Arranged, ModelGroup, arrange
from app.data.library.places import places_for
from app.data.library.scan import scan
from app.data.state import StateFile
from app.engine.client import EngineError
from app.machine import state_file
from app.machines import Machines
from app.paths import default_paths
from app.settings import Settings
from gguf_tools.facts import read_facts
from gguf_tools.header import HeaderError
from gguf_tools.units import format_bytes, format_count, format_figure

__all__ = ["add_arguments", "run"]

_HEADINGS: Final = ("NAME", "VARIANT", "SIZE", "PARAMETERS", "CONTEXT", "ARCHITECTURE", "FOUND IN")
_FIT_HEADINGS: Final = ("FITS", "MAX CONTEXT", "DECODE", "PREFILL")
_VERDICTS: Final = {"fits": "yes", "tight": "tight", "too_large": "no", "unknown": "unknown"}
_WIDEST_NAME: Final = 44

Fits = Mapping[Path, VariantFit]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--fit",
        action="store_true",
        help="also say whether each fits this computer, with which context, and how fast",
    )
    parser.add_argument("--all", action="store_true", help="also what was removed from the list")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Scan all places and print what was found."""
    paths = default_paths()
    make_folders(paths)
    settings = open_settings()
    state = state_file()
    choices = LibraryChoices(state)
    places = places_for(
        paths,
        settings.get("model_folders"),
        files=choices.added,
        others=settings.get("scan_other_programs"),
    )
    hidden = frozenset() if arguments.all else choices.hidden
    found = (entry for entry in scan(places, paths.library_cache) if entry.path not in hidden)
    library = arrange(found)
    fits: Fits = {}
    if arguments.fit:
        try:
            fits = _fits(library, settings, state)
        except EngineError as error:
            note(error)
            return EXIT_ENGINE
    if arguments.json:
        print(json_line({"models": _as_json(library, fits)}))
        return 0
    _print(library, fits, paths.models)
    return 0


def _fits(library: Arranged, settings: Settings, state: StateFile) -> Fits:
    """Return how each variant fits this computer.

    Raises:
        EngineError: the engine, which knows the devices, does not start.
    """
    with open_engine(state, note) as client:
        assert client.hello is not None
        machines = Machines(
            state,
            client.hello,
            may_measure=True,
            tuned=bool(settings.get("tune")),
            each_size=True,  # so that `plan` says the same of each file
        )
    fits: dict[Path, VariantFit] = {}
    for group in library.groups:
        for entry in group.variants:
            try:
                facts = read_facts(entry.path)
            except (HeaderError, OSError) as error:
                fits[entry.path] = unknown_fit(str(error))
                continue
            fits[entry.path] = machines.fit(facts, settings.load_values(str(entry.path)))
    return fits


def _print(library: Arranged, fits: Fits, folder: Path) -> None:
    headings = (*_HEADINGS[:-1], *(_FIT_HEADINGS if fits else ()), _HEADINGS[-1])
    rows = [headings]
    for group in library.groups:
        types = Counter(entry.quantization for entry in group.variants)
        rows += [
            _row(group, entry, fits, alone=types[entry.quantization] == 1)
            for entry in group.variants
        ]
    if len(rows) > 1:
        _print_table(rows)
    else:
        note(
            f"No model was found: put a .gguf file into {folder}, or name a folder in the settings."
        )
    parts = [(group, part) for group in library.groups for part in group.parts]
    if parts:
        print("\nParts of models:")
    for group, part in parts:
        say(f"  {shown(part.path)}\n    {part.kind} of {shown(group.title)}")
    problems = [*library.others, *library.broken]
    if problems:
        print("\nNot for chat:")
    for entry in problems:
        say(f"  {shown(entry.path)}\n    {shown(entry.problem)}")


def _as_json(library: Arranged, fits: Fits) -> list[dict[str, Any]]:
    rows = []
    for group in library.groups:
        rows += [
            _plain(entry, group, fits.get(entry.path)) for entry in (*group.variants, *group.parts)
        ]
    return rows + [_plain(entry, None, None) for entry in (*library.others, *library.broken)]


def _plain(
    entry: ModelEntry, group: ModelGroup | None, fit: VariantFit | None
) -> dict[str, object]:
    found: dict[str, object] = {
        "path": str(entry.path),
        "files": [str(path) for path in entry.files],
        "name": entry.name,
        "base_name": entry.base_name,
        "model": None if group is None else group.title,
        "quantization": entry.quantization,
        "size_label": entry.size_label,
        "size_bytes": entry.size_bytes,
        "architecture": entry.architecture,
        "context_length": entry.context_length,
        "parameters": entry.parameters,
        "bits_per_weight": entry.bits_per_weight,
        "kind": entry.kind,
        "broken": entry.broken,
        "problem": entry.problem,
        "source": entry.source,
    }
    if fit is not None:
        found["fit"] = {
            "verdict": fit.verdict,
            "n_ctx": fit.context_tokens,
            "max_context": fit.max_context_tokens,
            "needed_bytes": fit.needed_bytes,
            "left_bytes": fit.left_bytes,
            "device": fit.device,
            "expected_low": fit.decode_low_per_s,
            "expected_high": fit.decode_high_per_s,
            "ceiling": fit.decode_ceiling_per_s,
            "bandwidth_source": fit.bandwidth_basis,
            "predicted": fit.decode_words,
            "prefill": fit.prefill_per_s,
            "note": fit.note,
        }
    return found


def _row(group: ModelGroup, entry: ModelEntry, fits: Fits, *, alone: bool) -> tuple[str, ...]:
    """Return a variant's cells; one that is not ``alone`` with its name is told by its path."""
    name = shown(group.title)
    if len(name) > _WIDEST_NAME:
        name = f"{name[: _WIDEST_NAME - 1]}…"
    fit = fits.get(entry.path)
    return (
        name,
        shown(entry.quantization or "–"),
        format_bytes(entry.size_bytes),
        format_count(entry.parameters) if entry.parameters else "–",
        f"{entry.context_length:,}" if entry.context_length else "–",
        shown(entry.architecture or "–"),
        *(() if fit is None else _fit_cells(fit)),
        shown(entry.source if alone else f"{entry.source} · {entry.path}"),
    )


def _fit_cells(fit: VariantFit) -> tuple[str, ...]:
    low, high = fit.decode_low_per_s, fit.decode_high_per_s
    return (
        _VERDICTS[fit.verdict],
        "–" if fit.max_context_tokens is None else f"{fit.max_context_tokens:,}",
        "–" if low is None or high is None else f"{format_figure(low)}–{format_figure(high)}",
        "–" if fit.prefill_per_s is None else f"{format_figure(fit.prefill_per_s)}",
    )


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())

"""``plimsoll bench FILE … --tune``: what is fastest here, measured and remembered."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import msgspec

from app.cli.engine import exit_code_of, open_engine
from app.cli.exits import EXIT_NO_MODEL
from app.cli.folders import open_settings
from app.cli.options import load_options, remotes
from app.cli.terminal import json_line, note, say, shown
from app.data.tunings import Tunings
from app.engine.client import EngineClient, EngineError
from app.engine.protocol import LoadOptions, Tune, Tuned
from app.machine import state_file
from app.tuned import kept_of, key_of, shape_of_file

__all__ = ["run", "tune"]

_HEADS = ("test", "depth", "before", "after", "gain")


def run(arguments: argparse.Namespace) -> int:
    """Measure, remember and print; return the exit code."""
    state, settings = state_file(), open_settings()
    results = []
    for file in arguments.files:
        path = str(Path(file).absolute())
        shape = shape_of_file(path)
        if not shape:
            note(f"{file} is no model that can be measured.")
            return EXIT_NO_MODEL
        try:
            with open_engine(state, note, remotes(arguments, settings)) as client:
                asked, found = tune(client, path, load_options(arguments, settings, path))
                assert client.hello is not None
                tunings = Tunings(state, cpu=client.hello.cpu, engine=client.hello.engine)
                tunings.keep(key_of(shape, asked), kept_of(found.after))
        except EngineError as error:
            note(error)
            return exit_code_of(error)
        results.append(_as_json(found))
        if not arguments.json:
            say(_as_text(found))
    if arguments.json:
        print(json_line(results[0] if len(results) == 1 else {"models": results}))
    return 0


def tune(
    client: EngineClient, path: str, options: LoadOptions, budget_s: float | None = None
) -> tuple[LoadOptions, Tuned]:
    """Load a model and find what is fastest; return how it was asked for, and what came out.

    Raises:
        EngineError: it can't be loaded, or the engine ended.
    """
    info = client.load(path, options)
    for notice in info.notices:
        note(notice)
    asked = msgspec.structs.replace(options, compatibility=info.compatibility)
    request = Tune(id=client.new_id(), options=asked)
    if budget_s is not None:
        request = msgspec.structs.replace(request, budget_s=budget_s)
    return asked, client.call(request, Tuned)


def _as_json(found: Tuned) -> dict[str, Any]:
    return {
        "model": found.model.name,
        "path": found.model.path,
        "before": msgspec.to_builtins(found.before),
        "after": msgspec.to_builtins(found.after),
        "flash_attention": found.model.flash_attention,
        "rows": [msgspec.to_builtins(row) for row in found.rows],
        "seconds": found.seconds,
        "note": found.note,
    }


def _as_text(found: Tuned) -> str:
    before, after = found.before, found.after
    flash = {True: "on", False: "off", None: "unknown"}[found.model.flash_attention]
    lines = [
        shown(found.model.name),
        (
            f"  threads to write: {_changed(before.threads, after.threads)}, "
            f"to read: {_changed(before.threads_batch, after.threads_batch)}, "
            f"flash attention {flash}, "
            f"micro-batch {_changed(before.n_ubatch, after.n_ubatch)}; {found.seconds:.1f} s"
        ),
    ]
    if found.rows:
        cells = [
            (
                row.test,
                f"{row.depth:,}",
                f"{row.before:.1f}",
                f"{row.after:.1f}",
                f"{row.after / row.before - 1:+.0%}",
            )
            for row in found.rows
        ]
        table = [_HEADS, *cells]
        widths = [max(len(line[column]) for line in table) for column in range(len(_HEADS))]
        lines += [
            "  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))
            for line in table
        ]
    elif not found.note:
        lines.append("  Nothing was clearly faster than the engine's own settings.")
    if found.note:
        lines.append(f"  {found.note}")
    return "\n".join(lines)


def _changed(before: int, after: int) -> str:
    return f"{after}" if after == before else f"{after} instead of {before}"

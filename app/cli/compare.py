"""``plimsoll compare FILE FILE …``: variants one after another, measured beside predicted."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from app.cli.exits import EXIT_ENGINE, EXIT_INTERRUPTED, EXIT_NO_MODEL, EXIT_REFUSED, EXIT_USAGE
from app.cli.folders import make_folders, open_settings
from app.cli.interrupt import on_interrupt
from app.cli.numbers import MOST_TOKENS, whole
from app.cli.options import add_flags, add_remote_flags, load_options, remotes, sampling_options
from app.cli.terminal import for_stream, json_line, note, say
from app.compare.events import Began, Event, Noticed, PhaseChanged, Piece, VariantFinished
from app.compare.opener import opener
from app.compare.request import CompareError, CompareRequest
from app.compare.runner import Comparison
from app.compare.texts import QualityText, TextError, builtin_text, read_quality_text
from app.data.comparisons import Comparisons
from app.machine import state_file
from app.paths import Paths, default_paths
from inspector.compare.records import ComparisonRecord, ComparisonSettings
from inspector.compare.report import (
    HEADS,
    QUALITY_HEADS,
    comparison_as_json,
    comparison_as_markdown,
    quality_cells,
    table_cells,
)
from inspector.compare.table import sentences, variant_rows

__all__ = ["add_arguments", "run"]

_PROMPT: Final = "Explain in three sentences why decode speed follows memory bandwidth."
_REPLY_TOKENS: Final = 200
_SEED: Final = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="two to six variants")
    parser.add_argument(
        "-p", "--prompt", default=_PROMPT, metavar="TEXT", help="what all of them answer"
    )
    parser.add_argument("--system", default="", metavar="TEXT", help="system prompt")
    parser.add_argument(
        "--reference",
        metavar="FILE",
        help="whom others are held against (default: the largest not made from another)",
    )
    parser.add_argument(
        "--text", metavar="FILE", help="a text to measure quality on (default: a built-in one)"
    )
    parser.add_argument(
        "--text-tokens",
        type=whole(64, MOST_TOKENS),
        default=4096,
        metavar="N",
        help="how much of the text, half of which counts (default: 4096)",
    )
    parser.add_argument("--no-quality", action="store_true", help="leave the quality out")
    parser.add_argument(
        "--together",
        action="store_true",
        help="run all at once; they share bandwidth, and rates are marked so",
    )
    parser.add_argument("--out", metavar="FILE", help="write a report: .md or .json")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_flags(parser, "load")
    add_flags(parser, "sampling")
    add_remote_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare and print; return the exit code."""
    try:
        request = _request(arguments)
    except _UsageError as error:
        note(error)
        return EXIT_USAGE
    paths = default_paths()
    make_folders(paths)
    state = state_file()
    endpoints = remotes(arguments, open_settings())
    teller = _Teller(quiet=arguments.json)
    comparison = Comparison(
        request, opener(state, endpoints), state, teller.tell, scratch=paths.cache / "compare"
    )
    try:
        record = _interruptible(comparison)
    except CompareError as error:
        note(error)
        return EXIT_USAGE if error.bad_file is None else EXIT_NO_MODEL
    _keep(paths, record)
    if arguments.json:
        print(json_line(comparison_as_json(record)))
    else:
        say(_as_text(record))
    if arguments.out is not None and not _write(Path(arguments.out), record):
        return EXIT_REFUSED
    if record.cancelled:
        return EXIT_INTERRUPTED
    failed = [item for item in record.variants if item.status == "failed"]
    return EXIT_ENGINE if failed else 0


class _UsageError(Exception):
    """Arguments that don't go together; the text is one sentence."""


def _request(arguments: argparse.Namespace) -> CompareRequest:
    files = tuple(Path(file) for file in arguments.files)
    options = load_options(arguments, open_settings(), str(files[0]))
    sampling = sampling_options(arguments)
    text = _text(arguments)
    settings = ComparisonSettings(
        prompt=arguments.prompt,
        system=arguments.system,
        temperature=0.0 if arguments.temperature is None else sampling.temperature,
        seed=_SEED if sampling.seed is None else sampling.seed,
        max_tokens=sampling.max_tokens or _REPLY_TOKENS,
        n_ctx=options.n_ctx,
        type_k=options.type_k,
        type_v=options.type_v,
        gpu_layers=options.gpu_layers,
        threads=options.threads,
        template=options.template,
        together=arguments.together,
        quality=not arguments.no_quality,
        text_name="" if text is None else text.name,
        text_tokens=arguments.text_tokens,
    )
    return CompareRequest(
        paths=files,
        settings=settings,
        text="" if text is None else text.text,
        reference=_reference(arguments.reference, files),
        options=options,
        sampling=msgspec.structs.replace(sampling, max_tokens=settings.max_tokens),
    )


def _text(arguments: argparse.Namespace) -> QualityText | None:
    if arguments.no_quality:
        if arguments.text is not None:
            raise _UsageError("--text and --no-quality don't go together.")
        return None
    if arguments.text is None:
        return builtin_text()
    try:
        return read_quality_text(Path(arguments.text))
    except TextError as error:
        raise _UsageError(str(error)) from error


def _reference(name: str | None, files: tuple[Path, ...]) -> int | None:
    if name is None:
        return None
    wanted = Path(name).resolve()
    for index, path in enumerate(files):
        if path.resolve() == wanted:
            return index
    raise _UsageError(f"--reference has to be one of the files: {name} is not.")


def _interruptible(comparison: Comparison) -> ComparisonRecord:
    """Run with Ctrl+C as the cancel: what is known by then is shown."""
    with on_interrupt(comparison.cancel):
        return comparison.run()


class _Teller:
    """Says on stderr what happens; answers stream where a person looks."""

    def __init__(self, *, quiet: bool) -> None:
        self._stream = not quiet and sys.stderr.isatty()
        self._labels: tuple[str, ...] = ()
        self._phases: dict[int, str] = {}
        self._open = False

    def tell(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, Began):
            self._labels = tuple(item.label for item in event.record.variants)
        elif isinstance(event, PhaseChanged):
            if self._phases.get(event.index) != event.phase:
                self._phases[event.index] = event.phase
                if event.phase not in {"failed", "done"}:
                    self._line(f"{self._labels[event.index]}: {event.phase}")
        elif isinstance(event, Piece):
            self._piece(event)
        elif isinstance(event, VariantFinished):
            variant = event.variant
            what = f"failed: {variant.failure}" if variant.status == "failed" else variant.status
            self._line(f"{variant.label}: {what}")
        elif isinstance(event, Noticed):
            self._line(event.text)

    def _piece(self, piece: Piece) -> None:
        if self._stream and piece.answer:
            print(for_stream(piece.answer, sys.stderr), end="", file=sys.stderr, flush=True)
            self._open = True

    def _line(self, text: str) -> None:
        if self._open:
            print(file=sys.stderr)
            self._open = False
        note(text)


def _keep(paths: Paths, record: ComparisonRecord) -> None:
    try:
        Comparisons(paths.comparisons).keep(record)
    except OSError as error:
        note(f"[the comparison is not kept: {error.strerror}]")


def _write(path: Path, record: ComparisonRecord) -> bool:
    if path.suffix.lower() == ".json":
        text = json.dumps(comparison_as_json(record), ensure_ascii=False, indent=1)
    else:
        text = comparison_as_markdown(record)
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        note(f"{path} can't be written: {error.strerror}.")
        return False
    note(f"Report: {path}")
    return True


def _as_text(record: ComparisonRecord) -> str:
    rows = variant_rows(record)
    lines = [f"{record.machine or 'this computer'} · {record.engine}", ""]
    lines += _table(HEADS, [table_cells(row) for row in rows])
    quality = [quality_cells(row) for row in rows if row.perplexity is not None]
    if quality:
        lines += ["", *_table(QUALITY_HEADS, quality)]
    if any(row.shared for row in rows):
        lines += ["", "* measured while all ran together"]
    lines.append("")
    for variant in record.variants:
        if variant.answer:
            lines += [f"{variant.label}:", *(f"  {part}" for part in variant.answer.splitlines())]
    lines.append("")
    lines += [f"· {sentence}" for sentence in sentences(record)]
    return "\n".join(lines)


def _table(heads: tuple[str, ...], rows: list[Any]) -> list[str]:
    table = [heads, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(heads))]
    lines = []
    for row in table:
        cells = [f"{row[0]:<{widths[0]}}"]
        cells += [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines

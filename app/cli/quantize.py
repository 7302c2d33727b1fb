"""``plimsoll quantize IN OUT --type TYPE``: make a variant, after saying what it will be."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from app.cli.engine import open_engine
from app.cli.exits import EXIT_ENGINE, EXIT_INTERRUPTED, EXIT_NO_MODEL, EXIT_REFUSED, EXIT_USAGE
from app.cli.folders import open_settings
from app.cli.interrupt import on_interrupt
from app.cli.numbers import whole
from app.cli.terminal import json_line, note, say, shown
from app.data.state import StateFile
from app.engine.client import EngineError
from app.machine import processor, state_file
from app.machines import Machines
from app.variants import Forecast, Made, VariantError, VariantMaker, forecasts
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import HeaderError
from gguf_tools.machine import Machine, bandwidth_how
from gguf_tools.plan import Plan, make_plan
from gguf_tools.quantize import (
    QUANT_TYPES,
    Expected,
    QuantizeRequest,
    QuantType,
    quant_type,
    requantize_warning,
)
from gguf_tools.units import (
    format_bandwidth,
    format_bytes,
    format_figure,
    format_rate,
    format_seconds,
)
from inspector.measured import fit_words
from inspector.planned import load_settings

__all__ = ["add_arguments", "run"]

_CODES: Final = {
    "usage": EXIT_USAGE,
    "model": EXIT_NO_MODEL,
    "disk": EXIT_REFUSED,
    "engine": EXIT_ENGINE,
    "cancelled": EXIT_INTERRUPTED,
}
_FALLBACKS_NAMED: Final = 3


def _kind(text: str) -> QuantType:
    try:
        return quant_type(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("source", metavar="IN", help="a .gguf file; any part of a split model")
    parser.add_argument("target", metavar="OUT", nargs="?", help="the file to be made")
    parser.add_argument(
        "--type",
        type=_kind,
        metavar="TYPE",
        help="such as Q8_0, Q6_K, Q5_K_M, Q4_K_M, IQ4_XS, Q3_K_M or Q2_K",
    )
    parser.add_argument(
        "--allow-requantize",
        action="store_true",
        help="start from weights that are quantised already; the result is marked",
    )
    parser.add_argument("--imatrix", metavar="FILE", help="an importance matrix")
    parser.add_argument("--threads", type=whole(1, 1024), metavar="N", help="processor threads")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say size and predicted speed, of all types without --type, and make nothing",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Make the variant; return the exit code."""
    if not arguments.dry_run and (arguments.target is None or arguments.type is None):
        note("Name the file to be made and its --type, or ask with --dry-run what there is.")
        return EXIT_USAGE
    try:
        facts = read_facts(arguments.source)
    except HeaderError as error:
        note(error)
        return EXIT_NO_MODEL
    except OSError as error:
        note(f"{arguments.source} can't be read: {error.strerror}.")
        return EXIT_NO_MODEL
    state = state_file()
    if arguments.dry_run:
        return _dry_run(arguments, facts, state)
    request = QuantizeRequest(
        source=facts.path,
        target=Path(arguments.target).absolute(),
        kind=arguments.type,
        allow_requantize=arguments.allow_requantize,
        imatrix=None if arguments.imatrix is None else Path(arguments.imatrix),
        threads=arguments.threads,
    )
    maker = VariantMaker(request, lambda: open_engine(state, note), _Progress().show)
    try:
        maker.check()
        row = _forecast(facts, [arguments.type], arguments, state)[0]
        _tell(row)
        made = _interruptible(maker)
    except VariantError as error:
        note(error)
        return _CODES[error.why]
    if arguments.json:
        print(json_line(_as_json(facts, row) | _made_as_json(made)))
    else:
        error_share = made.expected.file_bytes / made.file_bytes - 1
        say(
            f"{made.path}: {format_bytes(made.file_bytes)} "
            f"({made.file_bytes:,} bytes, {error_share:+.3%} from what was expected), made in "
            f"{format_seconds(made.seconds)}"
        )
    return 0


def _interruptible(maker: VariantMaker) -> Made:
    """Run the maker with Ctrl+C as its cancel."""
    with on_interrupt(maker.cancel):
        return maker.run()


class _Progress:
    """A line on a terminal that says how far it is; nothing elsewhere."""

    def __init__(self) -> None:
        self._shown = -1

    def show(self, fraction: float) -> None:
        """Draw the line again where a whole percent was passed."""
        percent = int(fraction * 100)
        if percent == self._shown or not sys.stderr.isatty():
            return
        self._shown = percent
        end = "\n" if percent >= 100 else ""
        print(f"\r{percent:3d} %", end=end, file=sys.stderr, flush=True)


def _tell(row: Forecast) -> None:
    """Say before the start what is to be known."""
    expected = row.expected
    bits = expected.bits_per_weight
    note(
        f"{expected.kind.name}: {format_bytes(expected.file_bytes)}"
        + ("" if bits is None else f", {bits:.2f} bits a weight")
        + f"; {expected.changed_tensors} of {len(expected.facts.header.tensors)} tensors change."
    )
    decode = None if row.plan is None else row.plan.decode
    if row.plan is not None and decode and decode.expected_low is not None and decode.expected_high:
        low, high = format_figure(decode.expected_low), format_rate(decode.expected_high)
        note(
            f"Predicted decode: {low} to {high}, at most {format_rate(decode.ceiling)} "
            f"({_basis(row.plan)})."
        )
    warning = requantize_warning(expected)
    if warning is not None:
        note(f"! {warning}")
    if expected.fallbacks:
        note(f"! {_fallback_sentence(expected)}")


def _basis(plan: Plan) -> str:
    """Say on what a variant's rates rest, as `plan` and the window do."""
    words = fit_words(plan.machine.fit)
    decode = plan.decode
    if decode.bandwidth_bytes_per_s is None:
        return words
    note = plan.machine.devices[decode.busiest].bandwidth_note
    how = bandwidth_how(decode.bandwidth_basis, note)
    between = "," if plan.machine.fit is None else "; memory"
    return f"{words}{between} {format_bandwidth(decode.bandwidth_bytes_per_s)} {how}"


def _fallback_sentence(expected: Expected) -> str:
    groups: dict[tuple[str, str, int], int] = {}
    for item in expected.fallbacks:
        key = (item.wanted.name, item.taken.name, item.row_elements)
        groups[key] = groups.get(key, 0) + 1
    parts = [
        f"{count} in {taken} in place of {wanted} (rows of {row:,})"
        for (wanted, taken, row), count in sorted(groups.items(), key=lambda item: -item[1])
    ]
    more = f" and {len(parts) - _FALLBACKS_NAMED} more" if len(parts) > _FALLBACKS_NAMED else ""
    return (
        f"{_tensors(len(expected.fallbacks))} can't have the wanted type, since its blocks "
        f"don't divide the rows: {'; '.join(parts[:_FALLBACKS_NAMED])}{more}."
    )


def _tensors(count: int) -> str:
    return f"{count} tensor{'' if count == 1 else 's'}"


# --- dry run


def _dry_run(arguments: argparse.Namespace, facts: ModelFacts, state: StateFile) -> int:
    kinds = QUANT_TYPES if arguments.type is None else (arguments.type,)
    rows = _forecast(facts, kinds, arguments, state)
    if arguments.type is not None and rows[0].expected.obstacle is not None:
        note(rows[0].expected.obstacle)
        return EXIT_NO_MODEL
    if arguments.json:
        values = [_as_json(facts, row) for row in rows]
        print(json_line({"source": str(facts.path), "types": values}))
        return 0
    say(_as_text(facts, rows))
    for row in rows if arguments.type is not None else rows[:1]:
        warning = requantize_warning(row.expected)
        if warning is not None:
            note(f"! {warning}")
        if row.expected.fallbacks and arguments.type is not None:
            note(f"! {_fallback_sentence(row.expected)}")
    return 0


def _forecast(
    facts: ModelFacts, kinds: Any, arguments: argparse.Namespace, state: StateFile
) -> list[Forecast]:
    """Return size and predicted speed of kinds of variants, each as it would be loaded here."""
    plan_for = _planner(facts, state)
    return forecasts(facts, plan_for, kinds=kinds, imatrix=arguments.imatrix is not None)


def _planner(facts: ModelFacts, state: StateFile) -> Callable[[ModelFacts, bool], Plan]:
    """Return what plans a variant with this computer's devices and what was measured here.

    An engine that is silent leaves the processor alone, and nothing that was measured.
    """
    settings = open_settings()
    values = settings.load_values(str(facts.path))
    try:
        with open_engine(state, note) as client:
            assert client.hello is not None
            machines = Machines(
                state,
                client.hello,
                may_measure=True,
                tuned=bool(settings.get("tune")),
                each_size=True,  # so that `plan` says the same of the variant once it is made
            )
    except EngineError as error:
        note(f"Only the processor is planned for: {error}")
        machine, load = Machine(name="this computer", cpu=processor()), load_settings(values, facts)
        return lambda variant, _is_made: make_plan(variant, load, machine)
    return lambda variant, is_made: machines.plan(variant, values, is_made=is_made)


def _as_json(facts: ModelFacts, row: Forecast) -> dict[str, Any]:
    expected, plan = row.expected, row.plan
    decode = None if plan is None else plan.decode
    return {
        "type": expected.kind.name,
        "source": str(facts.path),
        "expected_bytes": None if expected.obstacle else expected.file_bytes,
        "bits_per_weight": None if expected.obstacle else expected.bits_per_weight,
        "bytes_read_per_token": (
            None if expected.obstacle else expected.facts.bytes_read_per_token
        ),
        "requantized": expected.requantized,
        "source_types": list(expected.source_types),
        "needs_imatrix": bool(expected.needs_imatrix),
        "obstacle": expected.obstacle,
        "fallbacks": [
            {
                "tensor": item.tensor,
                "row": item.row_elements,
                "wanted": item.wanted.name,
                "taken": item.taken.name,
            }
            for item in expected.fallbacks
        ],
        "ceiling": None if decode is None else decode.ceiling,
        "expected_low": None if decode is None else decode.expected_low,
        "expected_high": None if decode is None else decode.expected_high,
        "bandwidth_bytes_per_s": None if decode is None else decode.bandwidth_bytes_per_s,
        "bandwidth_source": None if decode is None else decode.bandwidth_basis,
        "predicted": None if plan is None else fit_words(plan.machine.fit),
    }


def _made_as_json(made: Made) -> dict[str, Any]:
    return {
        "path": os.fspath(made.path),
        "file_bytes": made.file_bytes,
        "seconds": made.seconds,
        "size_error": made.expected.file_bytes / made.file_bytes - 1,
    }


def _as_text(facts: ModelFacts, rows: list[Forecast]) -> str:
    counts = Counter(_basis(row.plan) for row in rows if row.plan is not None)
    bases = {words: number for number, (words, _) in enumerate(counts.most_common(), start=1)}
    lines = [
        shown(f"{facts.shown_name}: {facts.quantization}, {format_bytes(facts.file_bytes)}"),
        "  decode predicted for this computer with an empty cache:",
        *(f"  {_mark(words, bases)}{words}" for words in bases),
        "",
    ]
    table = [("type", "size", "bits", "decode at most", "expected", "")]
    for row in rows:
        expected, plan = row.expected, row.plan
        if expected.obstacle is not None:
            table.append((expected.kind.name, "", "", "", "", expected.obstacle))
            continue
        decode = None if plan is None else plan.decode
        mark = "" if plan is None else _mark(_basis(plan), bases)
        table.append(
            (
                expected.kind.name,
                format_bytes(expected.file_bytes),
                "" if expected.bits_per_weight is None else f"{expected.bits_per_weight:.2f}",
                "unknown" if decode is None else format_rate(decode.ceiling),
                (
                    ""
                    if decode is None or decode.expected_low is None or not decode.expected_high
                    else "–".join(map(format_figure, (decode.expected_low, decode.expected_high)))
                ),
                mark + _remarks(expected),
            )
        )
    widths = [max(len(row[column]) for row in table) for column in range(5)]
    for cells in table:
        line = f"  {cells[0]:<{widths[0]}}"
        line += "".join(f"  {cells[column]:>{widths[column]}}" for column in range(1, 5))
        lines.append(f"{line}  {cells[5]}".rstrip())
    return "\n".join(lines)


def _mark(words: str, bases: Mapping[str, int]) -> str:
    """Return what leads from a row to what its rates rest on; nothing where all rest on one."""
    return "" if len(bases) == 1 else f"[{bases[words]}] "


def _remarks(expected: Expected) -> str:
    remarks = []
    if expected.needs_imatrix:
        remarks.append("needs --imatrix")
    if expected.changed_tensors == 0:
        remarks.append("what the file is")
    if expected.fallbacks:
        count = len(expected.fallbacks)
        remarks.append(f"{_tensors(count)} fall{'s' if count == 1 else ''} back")
    return ", ".join(remarks)

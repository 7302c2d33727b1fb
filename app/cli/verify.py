"""``plimsoll verify FILE``: the plan beside the engine's dry run."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.cli.budget import (
    add_budget_flags,
    load_options,
    load_settings,
    plannable_facts,
)
from app.cli.engine import exit_code_of, open_engine
from app.cli.exits import EXIT_NO_MODEL
from app.cli.folders import open_settings
from app.cli.options import remotes
from app.cli.terminal import json_line, note, say, shown
from app.engine.client import EngineError
from app.engine.protocol import DryRan, DryRun, EngineBuffer
from app.machine import machine_for, state_file
from gguf_tools.facts import ModelFacts
from gguf_tools.memory import MemoryPlan, memory_plan
from gguf_tools.quants import cache_type
from gguf_tools.settings import LoadSettings, refusal
from gguf_tools.units import format_bytes

__all__ = ["Row", "add_arguments", "compare", "run", "worst_error"]

_LOG_ROUNDING = 5243  # half of 0.01 MiB, as the log prints sizes


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of the plan beside the engine's."""

    device: str
    what: str
    planned_bytes: int
    engine_bytes: int
    slack_bytes: int = 0  # by what the engine's figure is rounded

    @property
    def within_rounding(self) -> bool:
        """Tell whether the figures differ, but by no more than the engine's is rounded."""
        difference = abs(self.planned_bytes - self.engine_bytes)
        return 0 < difference <= self.slack_bytes

    @property
    def error(self) -> float:
        """Return by what share of the engine's figure the plan is above it."""
        if self.within_rounding:
            return 0.0
        return (self.planned_bytes - self.engine_bytes) / max(self.engine_bytes, 1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_budget_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Print the comparison; return the exit code."""
    facts = plannable_facts(args.file)
    if facts is None or facts.shape is None:
        return EXIT_NO_MODEL
    load = load_settings(args, facts)
    refused = refusal(facts.shape, load)
    try:
        settings = open_settings()
        with open_engine(state_file(), note, remotes(args, settings)) as client:
            assert client.hello is not None
            options = load_options(load, args)
            machine = machine_for(client.hello, None, options)
            request = DryRun(id=client.new_id(), path=str(facts.path), options=options)
            answer = client.call(request, DryRan)
    except EngineError as error:
        note(error)
        if refused is not None:
            note(f"The plan says so too: {refused.text}")
        return exit_code_of(error)
    plan = memory_plan(facts, _as_taken(load), machine)
    rows = compare(plan, answer.buffers)
    if args.json:
        print(json_line(_as_json(rows, answer)))
    else:
        say(_as_text(facts, plan, rows, answer))
    return 0


def _as_taken(load: LoadSettings) -> LoadSettings:
    """Return the settings after the one repair that the engine's side makes by itself."""
    if cache_type(load.type_v).quantized and load.flash_attention == "off":
        return replace(load, flash_attention="on")
    return load


def compare(plan: MemoryPlan, buffers: Iterable[EngineBuffer]) -> list[Row]:
    """Return the rows of a plan and of a dry run, device by device.

    Caches and states are one row, as the engine counts them; where it counts the caches of all
    devices together, so does the row.
    """
    engine: dict[tuple[str, str], int] = {}
    for item in buffers:
        key = (item.device, item.what)
        engine[key] = engine.get(key, 0) + item.size_bytes
    by_device = any(device for device, what in engine if what == "cache")
    planned: dict[tuple[str, str], int] = {}
    for index, memory in enumerate(plan.devices):
        name = memory.device.name
        if any(what == "weights" for _, what in engine):
            planned[name, "weights"] = memory.weights_bytes
        cache = (name if by_device else "", "cache")
        planned[cache] = planned.get(cache, 0) + memory.kv_bytes + memory.state_bytes
        planned[name, "compute"] = memory.compute_bytes
        if index == 0:
            planned[name, "output"] = memory.other_bytes
    keys = sorted(planned.keys() | engine.keys(), key=lambda key: (key[0] != "CPU", key))
    rounded = {key for key in keys if not by_device or key[1] == "output"}
    rows = [
        Row(*key, planned.get(key, 0), engine.get(key, 0), _LOG_ROUNDING if key in rounded else 0)
        for key in keys
    ]
    return [row for row in rows if row.planned_bytes or row.engine_bytes]


def worst_error(rows: Sequence[Row]) -> float:
    """Return the largest error of the rows, without its sign."""
    return max((abs(row.error) for row in rows), default=0.0)


def _as_json(rows: Sequence[Row], answer: DryRan) -> dict[str, Any]:
    return {
        "rows": [
            {
                "device": row.device,
                "what": row.what,
                "planned_bytes": row.planned_bytes,
                "engine_bytes": row.engine_bytes,
                "error": row.error,
                "engine_rounded_to_bytes": 2 * row.slack_bytes,
            }
            for row in rows
        ],
        "worst_error": worst_error(rows),
        "n_ctx": answer.n_ctx,
        "exact": answer.exact,
        "dry_run_s": answer.seconds,
    }


def _as_text(facts: ModelFacts, plan: MemoryPlan, rows: Sequence[Row], answer: DryRan) -> str:
    lines = [
        f"{shown(facts.shown_name)}, context {answer.n_ctx:,}",
        f"  {'device':<10} {'what':<8} {'planned':>16} {'engine':>16} {'error':>9}",
    ]
    lines += [
        f"  {row.device:<10} {row.what:<8} {row.planned_bytes:>16,} {row.engine_bytes:>16,} "
        f"{_error(row):>9}"
        for row in rows
    ]
    total = sum(row.engine_bytes for row in rows)
    basis = "exact" if answer.exact else "to 0.01 MiB"
    lines.append(
        f"  worst error {worst_error(rows):.2%}; {format_bytes(total)} in all; dry run "
        f"{answer.seconds:.2f} s ({basis}); compute buffers are {plan.compute_trust} for this "
        "architecture"
    )
    if any(row.within_rounding for row in rows):
        lines.append("  rounded: the same at the precision of the engine's log, 0.01 MiB")
    return "\n".join(lines)


def _error(row: Row) -> str:
    return "rounded" if row.within_rounding else f"{row.error:.2%}"

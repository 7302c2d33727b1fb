"""``plimsoll plan FILE``: memory and speed before loading."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from app.cli.budget import (
    ThisComputer,
    add_budget_flags,
    load_settings,
    named_machine,
    plannable_facts,
    this_computer,
    unknown_hardware,
)
from app.cli.exits import EXIT_NO_MODEL, EXIT_USAGE
from app.cli.numbers import MOST_TOKENS, decimal, whole
from app.cli.terminal import json_line, note, say, shown
from app.engine.protocol import LoadOptions
from gguf_tools.draft import DraftUse
from gguf_tools.facts import ModelFacts
from gguf_tools.machine import Machine, bandwidth_how
from gguf_tools.network import network_seconds
from gguf_tools.plan import DevicePlan, Plan, make_plan
from gguf_tools.rates import TokenBytes
from gguf_tools.settings import engine_settings
from gguf_tools.units import (
    counted,
    format_bandwidth,
    format_bytes,
    format_decimal_bytes,
    format_figure,
    format_rate,
    format_seconds,
)
from inspector.causes import network_words
from inspector.ceiling import LAUNCH_WORDS, held_by_launches
from inspector.measured import fit_words
from inspector.planned import plan_record
from inspector.room import lacking

__all__ = ["add_arguments", "plan_as_json", "run"]

_PROMPT_TOKENS = 512
_STEP = 256  # contexts come in steps


class _UsageError(Exception):
    """What was asked for means nothing; the text is one sentence."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_budget_flags(parser)
    parser.add_argument(
        "--hardware", metavar="NAME", help='plan for a device by name, such as "2x RTX 3090"'
    )
    parser.add_argument(
        "--bandwidth",
        type=decimal(0.001, 1_000_000),
        metavar="GB/S",
        help="memory bandwidth, in place of the table's",
    )
    parser.add_argument(
        "--draft", metavar="FILE", help="a small model that drafts tokens for this one to check"
    )
    parser.add_argument(
        "--depth",
        type=whole(0, MOST_TOKENS),
        default=0,
        metavar="N",
        help="tokens in the cache when decoding (default: 0)",
    )
    parser.add_argument(
        "--prompt",
        type=whole(1, MOST_TOKENS),
        metavar="N",
        help=f"tokens of the prompt (default: {_PROMPT_TOKENS})",
    )


def run(args: argparse.Namespace) -> int:
    """Print the plan; return the exit code."""
    facts = plannable_facts(args.file)
    if facts is None or facts.shape is None:
        return EXIT_NO_MODEL
    draft = None
    if args.draft is not None:
        draft = plannable_facts(args.draft)
        if draft is None:
            return EXIT_NO_MODEL
    try:
        where = _where(args, facts)
        machine, load = where.machine, where.load
        if draft is not None:  # its guesses and one more are checked at once
            rows = max(load.sequences, LoadOptions().draft_tokens + 1)
            load = replace(load, draft=draft, outputs=rows)
        if args.bandwidth is not None:
            # Rates that were measured say nothing about another bandwidth.
            machine = machine.with_bandwidth(args.bandwidth * 1e9)
            where = replace(where, fitted=lambda plan: plan)
        _check_parts(load.split, machine)
        holds = engine_settings(facts.shape, load).context_sequence
        if args.n_ctx is not None and args.n_ctx != holds * load.sequences:
            taken = holds * load.sequences
            note(f"--ctx is taken as {taken:,}: contexts come in steps of {_STEP} a chat.")
        plan = make_plan(
            facts,
            load,
            machine,
            depth=_within("--depth", args.depth, holds),
            prompt_tokens=_within("--prompt", args.prompt or min(_PROMPT_TOKENS, holds), holds),
        )
        plan = where.fitted(plan)
    except _UsageError as error:
        note(error)
        return EXIT_USAGE
    except ValueError as error:
        note(error)
        return EXIT_NO_MODEL
    if args.json:
        print(json_line(plan_as_json(plan)))
    else:
        say(_as_text(plan))
    return 0


def _where(args: argparse.Namespace, facts: ModelFacts) -> ThisComputer:
    """Return the machine the plan is for, and the settings a load would get there.

    Raises:
        _UsageError: no hardware of that name is known, or not so much of it can be used.
    """
    if args.hardware is None:
        return this_computer(args, facts, measure=args.bandwidth is None)
    try:
        named = named_machine(args.hardware)
    except ValueError as error:
        raise _UsageError(str(error)) from error
    if named is None:
        raise _UsageError(unknown_hardware(args.hardware))
    return ThisComputer(named, load_settings(args, facts), lambda plan: plan)


def _check_parts(split: tuple[float, ...], machine: Machine) -> None:
    """Say where a split changes nothing, and refuse one as the engine does.

    Raises:
        _UsageError: it has more parts than there are devices.
    """
    names = [device.name for device in machine.accelerators]
    if split and not names:
        note(f"--tensor-split changes nothing: {machine.name} has no device but the processor.")
    elif len(split) > len(names):
        raise _UsageError(
            f"--tensor-split has {counted(len(split), 'part')} for "
            f"{counted(len(names), 'device')}: {', '.join(names)}."
        )


def _within(name: str, tokens: int, holds: int) -> int:
    """Return tokens that a chat's context holds, and say where that is fewer than asked for."""
    if tokens > holds:
        note(f"{name} is taken as {holds:,}: the context of a chat holds no more tokens.")
    return min(tokens, holds)


def plan_as_json(plan: Plan) -> dict[str, Any]:
    """Return the object that ``--json`` prints: bytes as integers, unknown as None."""
    decode, prefill, fit = plan.decode, plan.prefill, plan.machine.fit
    return {
        "n_ctx": plan.memory.settings.context,
        "n_ctx_sequence": plan.memory.settings.context_sequence,
        "kv_type": plan.memory.settings.kv.type_k.name.lower(),
        "gpu_layers": plan.load.gpu_layers,
        "sequences": plan.memory.settings.sequences,
        "kv_bytes": plan.memory.kv_bytes,
        "state_bytes": plan.memory.state_bytes,
        "kv_bytes_per_token": plan.memory.kv_bytes_per_token,
        "devices": [
            _device_as_json(item, reads)
            for item, reads in zip(plan.devices, decode.reads, strict=True)
        ],
        "fits": False if plan.refusal is not None else plan.fits,
        "max_context": plan.fitting_context,
        "max_sequences": plan.max_sequences,
        "layers_offloaded": plan.layers_offloaded,
        "draft": _draft_as_json(plan.memory.draft),
        "compute_trust": plan.memory.compute_trust,
        "compute_margin": plan.memory.compute_margin,
        "decode": {
            "bytes_per_token": decode.bytes_per_token,
            "bandwidth_bytes_per_s": decode.bandwidth_bytes_per_s,
            "bandwidth_source": decode.bandwidth_basis,
            "bandwidth_note": plan.devices[decode.busiest].device.bandwidth_note or None,
            "ceiling": decode.ceiling,
            "expected_low": decode.expected_low,
            "expected_high": decode.expected_high,
            "expected_source": "bandwidth" if fit is None else "measured",
            "measured_runs": None if fit is None else fit.runs,
            "measured_of_this_model": None if fit is None else fit.own,
        },
        "prefill": {
            "flops_per_token": prefill.flops_per_token,
            "flops_per_s": prefill.flops_per_s,
            "flops_source": prefill.flops_basis,
            "expected": prefill.expected,
            "expected_low": prefill.expected_low,
            "expected_high": prefill.expected_high,
            "ceiling": prefill.ceiling,
        },
        "ttft_s": plan.ttft_s,
        "findings": [
            {
                "id": finding.id,
                "severity": finding.severity,
                "text": finding.text,
                "cost": finding.cost,
                "fixes": [
                    {"text": fix.text, "setting": fix.setting, "value": fix.value}
                    for fix in finding.fixes
                ],
            }
            for finding in plan.findings
        ],
    }


def _device_as_json(item: DevicePlan, reads: TokenBytes) -> dict[str, Any]:
    memory = item.memory
    return {
        "name": item.device.name,
        "kind": item.device.kind,
        "total_bytes": item.device.total_bytes,
        "free_bytes": item.free_bytes,
        "weights_bytes": memory.weights_bytes,
        "kv_bytes": memory.kv_bytes,
        "state_bytes": memory.state_bytes,
        "compute_bytes": memory.compute_bytes,
        "other_bytes": memory.other_bytes,
        "draft_bytes": memory.draft_bytes,
        "left_bytes": item.left_bytes,
        "over_load_line": item.over_load_line,
        "link_bytes_per_s": item.device.link_bytes_per_s,
        "round_trip_s": item.device.round_trip_s,
        "network_s_per_token": network_seconds(reads.moved, reads.trips, item.device),
    }


def _draft_as_json(draft: DraftUse | None) -> dict[str, Any] | None:
    if draft is None:
        return None
    return {
        "name": draft.name,
        "problem": draft.problem or None,
        "weights_bytes": draft.weights_bytes,
        "cache_bytes": draft.cache_bytes,
        "compute_bytes": draft.compute_bytes,
        "total_bytes": draft.total_bytes,
    }


_HEADS = ("weights", "KV", "state", "compute", "other", "total", "free", "left")
_DRAFT_AT = 5  # the column of a draft model, where there is one


def _as_text(plan: Plan) -> str:
    settings = plan.memory.settings
    chats = "1 chat" if settings.sequences == 1 else f"{settings.sequences} chats at once"
    keys, values = settings.kv.type_k.name.lower(), settings.kv.type_v.name.lower()
    cache = keys if keys == values else f"{keys} (keys) and {values} (values)"
    asked = (
        f"context {settings.context:,} tokens, {chats}, KV cache in {cache}, "
        f"{counted(plan.layers_offloaded, 'layer')} offloaded"
    )
    lines = [shown(f"{plan.facts.shown_name} on {plan.machine.name}"), f"  {asked}", ""]
    rows = [("", *_HEADS), *(_device_row(item) for item in plan.devices)]
    if plan.memory.draft is not None and not plan.memory.draft.problem:
        sizes = (format_bytes(item.memory.draft_bytes) for item in plan.devices)
        drafts = ("draft", *sizes)
        at = _DRAFT_AT + 1
        rows = [(*row[:at], cell, *row[at:]) for row, cell in zip(rows, drafts, strict=True)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [f"{row[0]:<{widths[0]}}"]
        cells += [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  " + "  ".join(cells).rstrip())
    fits = {True: "yes", False: "no", None: "unknown"}[plan.fits]
    context = plan.fitting_context
    longest = "unknown" if context is None else f"{context:,} tokens"
    trained = plan.facts.context_length
    if trained and context == trained // _STEP * _STEP:
        longest += ", all that it was trained for"
    chats = "unknown" if plan.max_sequences is None else f"{plan.max_sequences:,}"
    over = any(pool.over_load_line for pool in plan.pools if pool.used_bytes)
    if plan.fits and over:
        fits = "yes, over the load line"
    if plan.refusal is not None:
        fits = "no, the engine refuses to load it so"
    decode = plan.decode
    reads = f"{format_decimal_bytes(decode.bytes_per_token)} a token"
    reads += f" with {counted(decode.depth, 'token')} in the cache"
    device = plan.devices[decode.busiest].device
    if decode.bandwidth_bytes_per_s is not None:
        how = bandwidth_how(decode.bandwidth_basis, device.bandwidth_note)
        reads += f" at {format_bandwidth(decode.bandwidth_bytes_per_s)} ({how})"
    if device.measured_busy:
        reads += ": plan again when it is quiet"
    network = [
        f"                   {network_words(item)} (measured)"
        for item in plan_record(plan).devices
        if item.network_s
    ]
    lines += [
        "",
        f"  Fits             {fits}",
        f"  Below load line  longest context {longest}; chats of this length {chats}",
        f"  Compute buffers  {_trust(plan)}",
        f"  Decode           {_decode_line(plan)}",
        f"                   {reads}",
        *network,
        f"  Prefill          {_prefill_line(plan)}",
        f"  First token      {_seconds(plan.ttft_s)}",
    ]
    for short in lacking(plan):
        lines += [f"✗ {short.text}", f"    {short.cause}"]
        lines += [f"    {fix.text}: {fix.effect}" for fix in short.fixes]
    for finding in plan.findings:
        if finding.id == "does_not_fit":
            continue  # said above with its rule and numbers
        mark = {"error": "✗", "warning": "!", "note": "·"}[finding.severity]
        cost = f" ({finding.cost})" if finding.cost else ""
        lines.append(f"{mark} {finding.text}{cost}")
        lines += [f"    {fix.text}" for fix in finding.fixes]
    return "\n".join(lines)


def _trust(plan: Plan) -> str:
    margin = f"within {plan.memory.compute_margin:.0%}"
    return {
        "exact": f"planned from the model's graph, {margin}",
        "close": f"planned from a simpler graph, {margin}",
        "rough": f"roughly known, {margin}",
    }[plan.memory.compute_trust]


def _decode_line(plan: Plan) -> str:
    decode = plan.decode
    if decode.ceiling is None:
        return "unknown: the memory bandwidth is not known (see --bandwidth)"
    line = f"at most {format_rate(decode.ceiling)}"
    if decode.expected_low is not None and decode.expected_high is not None:
        low, high = decode.expected_low, decode.expected_high
        line += f", about {format_figure(low)} to {format_rate(high)} predicted"
        busiest = plan.devices[decode.busiest].device.kind
        held = held_by_launches(
            busiest, high, decode.ceiling, measured=plan.machine.fit is not None
        )
        line += f" {LAUNCH_WORDS if held else fit_words(plan.machine.fit)}"
    return line


def _prefill_line(plan: Plan) -> str:
    """Return the rate of a prompt, and the figure or the cause that it rests on."""
    prefill = plan.prefill
    how = {
        "arithmetic": f"{prefill.flops_basis} arithmetic rate",
        "reading": "reading the weights holds it",
        "launches": "launching kernels holds it, assumed",
        "link": "bringing layers to the card holds it, assumed",
        "experts": "the experts in main memory hold it, assumed",
    }[prefill.held_by]
    return f"{_rate(prefill.expected)} ({how})"


def _rate(tokens_per_s: float | None) -> str:
    return "unknown" if tokens_per_s is None else f"about {format_rate(tokens_per_s)}"


def _seconds(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"about {format_seconds(seconds)}"


def _device_row(item: DevicePlan) -> tuple[str, ...]:
    memory = item.memory
    sizes = (
        memory.weights_bytes,
        memory.kv_bytes,
        memory.state_bytes,
        memory.compute_bytes,
        memory.other_bytes,
        memory.total_bytes,
        item.free_bytes,
        item.left_bytes,
    )
    return (item.device.name, *(format_bytes(size) for size in sizes))

"""``plimsoll bench FILE …``: measured prefill and decode beside the prediction.

Each model is loaded alone, in a worker of its own, once for one sequence and once for several. The
bandwidth that predictions rest on is measured before, at the model's size and with its threads.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import mean, stdev
from typing import Any

import msgspec

from app.cli import tune
from app.cli.engine import exit_code_of, open_engine
from app.cli.numbers import MOST_TOKENS, whole
from app.cli.options import add_flags, add_remote_flags, load_options, remotes
from app.cli.terminal import json_line, note, say, shown
from app.data.bandwidths import lift
from app.data.decode_rates import DecodeRates
from app.data.probe import busy_sentence, host_memory
from app.data.state import StateFile
from app.engine.client import EngineClient, EngineError, RequestFailed
from app.engine.protocol import Bench, Benched, LoadOptions
from app.engine.recording import as_loaded, fingerprint, load_record
from app.engine.threads import clamp_threads
from app.machine import bandwidth_for, machine_for, state_file
from app.paths import default_paths
from app.settings import Settings
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import HeaderError
from gguf_tools.plan import Plan, make_plan
from gguf_tools.units import format_bandwidth, format_bytes, format_figure, round_up
from inspector.measured import DecodeSample
from inspector.planned import load_settings, plan_record, prefill_point, step_point
from inspector.records import BandwidthRecord, BenchRecord, BenchRow, LoadRecord
from inspector.speed import ABOVE

__all__ = ["add_arguments", "bench", "run"]

EXIT_NO_MODEL = 3


def _numbers(least: int) -> Callable[[str], tuple[int, ...]]:
    def parse(text: str) -> tuple[int, ...]:
        try:
            values = tuple(dict.fromkeys(int(part) for part in text.split(",")))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers.") from None
        if any(value < least for value in values):
            raise argparse.ArgumentTypeError(f"{text!r} holds a number below {least}.")
        return values

    return parse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="models, measured in turn")
    parser.add_argument(
        "--prompt", type=whole(0, MOST_TOKENS), default=512, metavar="N", help="default: 512 tokens"
    )
    parser.add_argument(
        "--generate", type=whole(0, MOST_TOKENS), default=128, metavar="N", help="default: 128"
    )
    parser.add_argument(
        "--depth",
        type=_numbers(0),
        default=(0, 2048),
        metavar="N,N",
        help="tokens in the cache before a test (default: 0,2048)",
    )
    parser.add_argument("--repeat", type=whole(1, 1000), default=3, metavar="N", help="default: 3")
    parser.add_argument(
        "--sequences",
        "--parallel",
        dest="counts",
        type=_numbers(1),
        default=(1,),
        metavar="N,N",
        help="chats decoded side by side (default: 1)",
    )
    parser.add_argument(
        "--tune",
        action="store_true",
        help="find which threads, attention and micro-batch are fastest here instead, in some "
        "seconds, and remember it for the window and the chat",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_flags(parser, "load", without=("sequences",))
    add_remote_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; return the exit code."""
    if arguments.tune:
        return tune.run(arguments)
    state, settings = state_file(), Settings(default_paths().settings)
    results = []
    for file in arguments.files:
        try:
            facts = read_facts(file)
        except HeaderError as error:
            note(error)
            return EXIT_NO_MODEL
        if not facts.loadable:
            for warning in facts.warnings:
                note(warning)
            note(f"{file} can't be measured.")
            return EXIT_NO_MODEL
        try:
            record, bandwidth = bench(
                facts,
                load_options(arguments, settings, str(facts.path)),
                state,
                prompt=arguments.prompt,
                generate=arguments.generate,
                depths=arguments.depth,
                sequences=arguments.counts,
                repeat=arguments.repeat,
                endpoints=remotes(arguments, settings),
            )
        except EngineError as error:
            note(error)
            return exit_code_of(error)
        results.append(_as_json(record, bandwidth))
        if not arguments.json:
            say(_as_text(record, bandwidth))
    if arguments.json:
        print(json_line(results[0] if len(results) == 1 else {"models": results}))
    return 0


def bench(
    facts: ModelFacts,
    options: LoadOptions,
    state: StateFile,
    *,
    prompt: int,
    generate: int,
    depths: Sequence[int],
    sequences: Sequence[int],
    repeat: int,
    endpoints: Sequence[str] = (),
    learn_busy: bool = False,
) -> tuple[BenchRecord, BandwidthRecord | None]:
    """Return what was measured of a model, and the probe that its predictions rest on.

    Its decode rates are kept for later predictions, unless other programs disturbed them and
    ``learn_busy`` is not set.

    Raises:
        EngineError: the model can't be loaded, or the engine ended.
    """
    threads = clamp_threads(options.threads)
    longest = max(depths) + max(prompt, generate)
    n_ctx = max(options.n_ctx or 0, round_up(longest, 256))
    rows: list[BenchRow] = []
    skipped: list[str] = []
    bandwidth: BandwidthRecord | None = None
    first: LoadRecord | None = None
    busy = ""
    with open_engine(state, note, endpoints) as client:
        assert client.hello is not None
        busy = busy_sentence([client.pid or 0])
        bandwidth = _probe(facts, state, client.hello.cpu, threads)
        machine = machine_for(client.hello, bandwidth, options.devices)
        for group in _groups(sequences):
            most = max(group)
            asked = msgspec.structs.replace(
                options, n_ctx=n_ctx * most, sequences=most, unified=False if most > 1 else None
            )
            info = client.load(str(facts.path), asked)
            for notice in info.notices:
                note(notice)
            values = msgspec.to_builtins(as_loaded(asked, info)) | {
                "flash_attention": _flash(info.flash_attention),
                "compatibility": info.compatibility,
            }
            load = load_settings(values, facts)
            rates = DecodeRates(
                state,
                cpu=client.hello.cpu,
                engine=client.hello.engine,
                threads=threads,
                compatibility=info.compatibility,
            )
            model = fingerprint(facts.path)
            bare = make_plan(facts, replace(load, unified=False), machine)
            plan = rates.fitted(bare, model)
            before = len(rows)
            loaded = load_record(
                info,
                client.hello,
                asked,
                plan=plan_record(plan),
                before=None,
                after=None,
                at_ms=round(time.time() * 1000),
            )
            first = first or loaded
            for count in group:
                for depth in depths:
                    for test, tokens in (("prefill", prompt), ("decode", generate)):
                        if tokens == 0 or (test == "prefill" and count > 1):
                            continue
                        request = Bench(
                            id=client.new_id(),
                            test="prefill" if test == "prefill" else "decode",
                            depth=depth,
                            tokens=tokens,
                            sequences=count,
                            repeat=repeat,
                        )
                        note(f"{test} of {tokens} tokens at depth {depth}, sequences: {count}")
                        try:
                            rows.append(_row(client, request, plan))
                        except RequestFailed as error:
                            skipped.append(f"{test} at depth {depth}, {count} sequences: {error}")
            busy = busy or busy_sentence([client.pid or 0])
            if learn_busy or not busy:
                decoded = _measured(rows[before:])
                rates.learn(bare, model, decoded)
                lift(state, client.hello.cpu, threads, bare, decoded)
    assert first is not None
    record = BenchRecord(
        at_ms=round(time.time() * 1000),
        load=first,
        rows=tuple(rows),
        busy=busy,
        skipped=tuple(skipped),
    )
    return record, bandwidth


def _measured(rows: Sequence[BenchRow]) -> tuple[DecodeSample, ...]:
    """Return what rows of one sequence say about decoding on this computer."""
    return tuple(
        DecodeSample(row.depth + row.tokens // 2, 1.0 / rate)
        for row in rows
        if row.test == "decode" and row.sequences == 1
        for rate in row.samples
    )


def _groups(sequences: Sequence[int]) -> list[list[int]]:
    """Return the counts to be measured with one load: one sequence apart from several."""
    several = [count for count in sequences if count > 1]
    return [group for group in ([1] if 1 in sequences else [], several) if group]


def _flash(found: bool | None) -> str:
    return "auto" if found is None else "on" if found else "off"


def _probe(facts: ModelFacts, state: StateFile, cpu: str, threads: int) -> BandwidthRecord | None:
    try:
        return bandwidth_for(
            state,
            cpu,
            threads,
            facts.bytes_read_per_token or facts.weights_bytes,
            free_bytes=host_memory().free_bytes,
        )
    except MemoryError:
        note("There is no room to measure the memory's bandwidth.")
        return None


def _row(client: EngineClient, request: Bench, plan: Plan) -> BenchRow:
    answer = client.call(request, Benched)
    total = request.tokens * request.sequences
    samples = tuple(total / seconds for seconds in answer.seconds)
    if request.test == "prefill":
        expected, ceiling = prefill_point(plan, request.depth, request.tokens)
        return BenchRow(
            test="prefill",
            depth=request.depth,
            sequences=request.sequences,
            tokens=request.tokens,
            samples=samples,
            predicted=expected,
            predicted_high=expected,
            ceiling=ceiling,
        )
    point = step_point(plan, request.depth + request.tokens // 2, request.sequences)
    return BenchRow(
        test="decode",
        depth=request.depth,
        sequences=request.sequences,
        tokens=request.tokens,
        samples=samples,
        predicted=point.low,
        predicted_high=point.high,
        ceiling=point.ceiling,
        bytes_per_token=point.bytes_per_token,
    )


# --- output


def _as_json(record: BenchRecord, bandwidth: BandwidthRecord | None) -> dict[str, Any]:
    load = record.load
    return {
        "model": load.identity.model_name,
        "path": load.identity.model_path,
        "fingerprint": load.identity.fingerprint,
        "engine": load.identity.engine,
        "machine": load.identity.machine,
        "settings": msgspec.to_builtins(load.settings),
        "bandwidth_bytes_per_s": None if bandwidth is None else bandwidth.bytes_per_s,
        "bandwidth_source": "unknown" if bandwidth is None else "measured",
        "busy": record.busy,
        "skipped": list(record.skipped),
        "rows": [
            {
                "test": row.test,
                "depth": row.depth,
                "sequences": row.sequences,
                "tokens": row.tokens,
                "mean": mean(row.samples),
                "stdev": stdev(row.samples) if len(row.samples) > 1 else 0.0,
                "samples": list(row.samples),
                "predicted": _middle(row),
                "predicted_low": row.predicted,
                "predicted_high": row.predicted_high,
                "ceiling": row.ceiling,
                "efficiency": mean(row.samples) / row.ceiling if row.ceiling else None,
                "bytes_per_token": row.bytes_per_token,
            }
            for row in record.rows
        ],
    }


def _middle(row: BenchRow) -> float | None:
    if row.predicted is None or row.predicted_high is None:
        return row.predicted
    return (row.predicted + row.predicted_high) / 2


_HEADS = ("test", "depth", "sequences", "tok/s", "±", "predicted", "ceiling", "reached", "read")


def _as_text(record: BenchRecord, bandwidth: BandwidthRecord | None) -> str:
    load = record.load
    settings = load.settings
    flash = {True: "on", False: "off", None: "unknown"}[settings.flash_attention]
    speed = "unknown bandwidth"
    if bandwidth is not None:
        speed = f"main memory at {format_bandwidth(bandwidth.bytes_per_s)} (measured)"
        if bandwidth.cached:
            large = format_bandwidth(bandwidth.large_bytes_per_s)
            speed += f", partly from the processor's cache: beyond it {large}"
    lines = [
        shown(f"{load.identity.model_name} · {load.identity.machine}"),
        f"  threads: {settings.threads}, flash attention {flash}, cache {settings.type_k}, {speed}",
        "",
    ]
    table = [_HEADS, *(_cells(row) for row in record.rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(_HEADS))]
    for line in table:
        cells = (f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))
        lines.append("  " + "  ".join(cells))
    lines += [
        f"! {row.test} at depth {row.depth} is above its ceiling: the byte count or the bandwidth "
        "is wrong."
        for row in record.rows
        if row.test == "decode" and row.ceiling and mean(row.samples) > ABOVE * row.ceiling
    ]
    lines.append(f"  {_prediction(load)}")
    lines += [f"! Left out: {text}" for text in record.skipped]
    if record.busy:
        lines.append(f"! The machine was busy, so the figures are uncertain. {record.busy}")
    return "\n".join(lines)


def _prediction(load: LoadRecord) -> str:
    """Say on what the predictions of decoding rest."""
    fit = None if load.plan is None else load.plan.fit
    if fit is None:
        return "Decode is predicted by what is likely (assumed); the next run by these figures."
    if fit.own:
        return f"Decode is predicted by {fit.count} rates that were measured here before."
    return "Decode is predicted by what other models or settings reached on this computer."


def _cells(row: BenchRow) -> tuple[str, ...]:
    rate = mean(row.samples)
    spread = stdev(row.samples) if len(row.samples) > 1 else 0.0
    if row.predicted is None or row.predicted_high is None:
        predicted = "unknown"
    elif row.predicted == row.predicted_high:
        predicted = f"{format_figure(row.predicted)}"
    else:
        predicted = f"{format_figure(row.predicted)}–{format_figure(row.predicted_high)}"
    return (
        f"{row.test} {row.tokens}",
        f"{row.depth:,}",
        str(row.sequences),
        f"{rate:.1f}",
        f"{spread:.1f}",
        predicted,
        "unknown" if row.ceiling is None else f"{row.ceiling:.4g}",
        "" if not row.ceiling else f"{rate / row.ceiling:.0%}",
        "" if row.bytes_per_token is None else format_bytes(row.bytes_per_token),
    )

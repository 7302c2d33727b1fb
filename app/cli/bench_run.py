"""Measures a model's prefill and decode beside what its plan predicts.

The model is loaded alone, in a worker of its own, once for one sequence and once for several. The
bandwidth that predictions rest on is measured before, at the model's size and with its threads.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from app.cli.engine import open_engine
from app.cli.terminal import note
from app.data.bandwidths import lift
from app.data.decode_rates import DecodeRates
from app.data.probe import busy_sentence, host_memory
from app.data.state import StateFile
from app.engine.client import EngineClient, RequestFailed
from app.engine.protocol import Bench, Benched, LoadOptions
from app.engine.recording import as_loaded, fingerprint, load_record
from app.engine.threads import clamp_threads
from app.machine import bandwidth_for, machine_for
from gguf_tools.facts import ModelFacts
from gguf_tools.plan import Plan, make_plan
from gguf_tools.units import counted, round_up
from inspector.measured import DecodeSample
from inspector.planned import load_settings, plan_record, prefill_point, step_point
from inspector.records import BandwidthRecord, BenchRecord, BenchRow, LoadRecord

__all__ = ["bench"]


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

    Its decode rates are kept for later predictions. Where other programs disturbed them they count
    only if they are faster than what is known, or nothing is and ``learn_busy`` is set.

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
        machine = machine_for(client.hello, bandwidth, options)
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
                            # The decode that follows begins at the same depth.
                            keep=test == "prefill" and bool(generate),
                        )
                        of = counted(tokens, "token")
                        note(f"{test} of {of} at depth {depth}, {count} at once")
                        try:
                            rows.append(_row(client, request, plan))
                        except RequestFailed as error:
                            skipped.append(f"{test} at depth {depth}, {count} at once: {error}")
            busy = busy or busy_sentence([client.pid or 0])
            decoded = _measured(rows[before:])
            rates.learn(bare, model, decoded, busy=bool(busy), even_busy=learn_busy)
            # What else ran only made it slower: memory gave at least as much.
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

"""What a comparison measured of decoding, kept so that every page predicts with it."""

from __future__ import annotations

import msgspec

from app.data.bandwidths import lift
from app.data.decode_rates import DecodeRates
from app.data.state import StateFile
from app.engine.protocol import Hello, LoadOptions, ModelInfo
from app.engine.recording import as_loaded, fingerprint
from app.engine.threads import clamp_threads
from gguf_tools.facts import ModelFacts
from gguf_tools.machine import Machine
from gguf_tools.plan import make_plan
from inspector.measured import DecodeSample
from inspector.planned import load_settings
from inspector.records import BenchRow

__all__ = ["learn_decode"]


def learn_decode(
    state: StateFile,
    hello: Hello,
    options: LoadOptions,
    info: ModelInfo,
    facts: ModelFacts,
    machine: Machine,
    row: BenchRow,
    *,
    busy: bool,
) -> None:
    """Keep the rates of a row of one sequence.

    Args:
        state: where they are kept.
        hello: of the engine.
        options: as asked for.
        info: what the engine made of them.
        facts: of the model.
        machine: with the bandwidth that is known.
        row: what was measured of decoding, in tokens per second.
        busy: something else ran meanwhile: they count only if they are faster than is known.
    """
    threads = clamp_threads(options.threads)
    flash = info.flash_attention
    values = msgspec.to_builtins(as_loaded(options, info)) | {"compatibility": info.compatibility}
    if flash is not None:
        values["flash_attention"] = "on" if flash else "off"
    try:
        plan = make_plan(facts, load_settings(values, facts), machine)
    except ValueError:  # such settings can't be planned
        return
    depth = row.depth + row.tokens // 2
    samples = tuple(DecodeSample(depth, 1.0 / rate) for rate in row.samples if rate > 0)
    rates = DecodeRates(
        state,
        cpu=hello.cpu,
        engine=hello.engine,
        threads=threads,
        compatibility=info.compatibility,
    )
    rates.learn(plan, fingerprint(facts.path), samples, busy=busy)
    lift(state, hello.cpu, threads, plan, samples)

"""Predicted against measured decode over the depth: ``python -m tests.bench.predicted_measured``.

The starter model (or the files named) with an f16 cache, flash attention on and off. Each file is
measured twice: the first run's prediction is what is likely before anything was measured (wide),
the second's rests on the first run's rates. The ceiling rests on a probe of main memory at the
model's size, made in the same run.
"""

from __future__ import annotations

import argparse
import sys
from statistics import median

from app.cli.bench_run import bench
from app.data.state import StateFile
from app.engine.protocol import LoadOptions
from app.paths import starter_model
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.units import format_bandwidth
from inspector.records import BandwidthRecord, BenchRecord, BenchRow
from inspector.speed import ABOVE

DEPTHS = (0, 1024, 4096)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="models; the starter model if left out")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--depths", default=",".join(map(str, DEPTHS)))
    parser.add_argument("--compatibility", action="store_true")
    parser.add_argument(
        "--even-busy", action="store_true", help="learn from the first run on a busy machine, too"
    )
    given = parser.parse_args()
    depths = tuple(int(part) for part in given.depths.split(","))
    files = given.files or [str(starter_model())]
    before: list[float] = []
    after: list[float] = []
    inside: list[bool] = []
    shares: list[float] = []
    print(
        "| model | flash | depth | measured | likely before | predicted after | off | ceiling "
        "| reached |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for file in files:
        facts = read_facts(file)
        for flash in ("on", "off"):
            state = StateFile(None)
            first, bandwidth = _run(facts, flash, state, given, depths)
            second, _ = _run(facts, flash, state, given, depths)
            for old, new in zip(first.rows, second.rows, strict=True):
                _print_row(second, flash, old, new)
                measured = median(new.samples)
                before.append(abs(median(old.samples) / _middle(old) - 1))
                after.append(abs(measured / _middle(new) - 1))
                inside.append(_low(old) <= median(old.samples) <= (old.predicted_high or 0.0))
                shares.append(measured / (new.ceiling or measured))
            for record in (first, second):
                if record.busy:
                    print(record.busy, file=sys.stderr)
            if bandwidth is not None:
                figure = format_bandwidth(bandwidth.bytes_per_s)
                print(f"main memory: {figure}, {bandwidth.threads} thread(s)", file=sys.stderr)
    print(
        f"\nbefore any measurement: median error of the middle {median(before):.0%}, "
        f"{sum(inside)} of {len(inside)} inside the range; after one run: median error "
        f"{median(after):.0%}, worst {max(after):.0%}; highest share of a ceiling "
        f"{max(shares):.0%} (more than {ABOVE:.0%} would mean a wrong byte count or bandwidth)"
    )


def _run(
    facts: ModelFacts,
    flash: str,
    state: StateFile,
    given: argparse.Namespace,
    depths: tuple[int, ...],
) -> tuple[BenchRecord, BandwidthRecord | None]:
    return bench(
        facts,
        LoadOptions(
            flash_attention="on" if flash == "on" else "off",
            threads=given.threads,
            compatibility=given.compatibility,
        ),
        state,
        prompt=0,
        generate=given.tokens,
        depths=depths,
        sequences=(1,),
        repeat=given.repeat,
        learn_busy=given.even_busy,
    )


def _low(row: BenchRow) -> float:
    assert row.predicted is not None
    return row.predicted


def _middle(row: BenchRow) -> float:
    assert row.predicted_high is not None
    return (_low(row) + row.predicted_high) / 2


def _print_row(record: BenchRecord, flash: str, old: BenchRow, new: BenchRow) -> None:
    measured = median(new.samples)
    ceiling = new.ceiling or 0.0
    reached = f"{measured / ceiling:.0%}" if ceiling else "unknown"
    print(
        f"| {record.load.identity.model_name} | {flash} | {new.depth:,} | {measured:.1f} "
        f"| {_low(old):.1f} to {old.predicted_high:.1f} | {_low(new):.1f} to "
        f"{new.predicted_high:.1f} | {measured / _middle(new) - 1:+.0%} | {ceiling:.0f} "
        f"| {reached} |",
        flush=True,
    )


if __name__ == "__main__":
    main()

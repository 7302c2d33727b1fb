"""Predicted against measured decode over the depth: ``python -m tests.bench.predicted_measured``.

The starter model (or those named) with an f16 cache, flash attention on and off. The prediction's
ceiling rests on a bandwidth probe of this computer at the model's size, made in the same run.
"""

from __future__ import annotations

import argparse
import sys
from statistics import median

from app.cli.bench import bench
from app.data.state import StateFile
from app.engine.protocol import LoadOptions
from app.paths import starter_model
from gguf_tools.facts import read_facts
from gguf_tools.units import format_bandwidth

DEPTHS = (0, 1024, 4096)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--compatibility", action="store_true")
    arguments = parser.parse_args()
    files = arguments.files or [str(starter_model())]
    state = StateFile(None)
    errors, shares = [], []
    print("| model | flash | depth | measured | predicted | ceiling | reached | off the middle |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for file in files:
        for flash in ("on", "off"):
            record, bandwidth = bench(
                read_facts(file),
                LoadOptions(
                    flash_attention="on" if flash == "on" else "off",
                    threads=arguments.threads,
                    compatibility=arguments.compatibility,
                ),
                state,
                prompt=0,
                generate=arguments.tokens,
                depths=DEPTHS,
                sequences=(1,),
                repeat=arguments.repeat,
            )
            for row in record.rows:
                measured = median(row.samples)
                assert row.predicted is not None
                assert row.predicted_high is not None
                assert row.ceiling is not None
                middle = (row.predicted + row.predicted_high) / 2
                errors.append(abs(measured / middle - 1))
                shares.append(measured / row.ceiling)
                print(
                    f"| {record.load.identity.model_name} | {flash} | {row.depth:,} "
                    f"| {measured:.1f} | {row.predicted:.1f} to {row.predicted_high:.1f} "
                    f"| {row.ceiling:.0f} | {measured / row.ceiling:.0%} "
                    f"| {measured / middle - 1:+.0%} |"
                )
            if record.busy:
                print(record.busy, file=sys.stderr)
            if bandwidth is not None:
                figure = format_bandwidth(bandwidth.bytes_per_s)
                print(f"main memory: {figure}, {bandwidth.threads} thread(s)", file=sys.stderr)
    print(
        f"\nmedian error of the middle {median(errors):.0%}, highest share of a ceiling "
        f"{max(shares):.0%}"
    )


if __name__ == "__main__":
    main()

"""What ``plimsoll bench`` prints: a table for people, an object for programs."""

from __future__ import annotations

from statistics import mean, stdev
from typing import Any

import msgspec

from app.cli.terminal import shown
from gguf_tools.units import format_bandwidth, format_decimal_bytes, format_figure
from inspector.records import BandwidthRecord, BenchRecord, BenchRow, LoadRecord
from inspector.speed import ABOVE

__all__ = ["bench_json", "bench_text"]


def bench_json(record: BenchRecord, bandwidth: BandwidthRecord | None) -> dict[str, Any]:
    """Return what was measured as the object that ``--json`` prints."""
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
                "stdev": _deviation(row),
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


def _deviation(row: BenchRow) -> float | None:
    """Return the standard deviation of a row's rates, None with one: there is none."""
    return stdev(row.samples) if len(row.samples) > 1 else None


def _middle(row: BenchRow) -> float | None:
    if row.predicted is None or row.predicted_high is None:
        return row.predicted
    return (row.predicted + row.predicted_high) / 2


_HEADS = ("test", "depth", "sequences", "tok/s", "±", "predicted", "ceiling", "reached", "read")


def bench_text(record: BenchRecord, bandwidth: BandwidthRecord | None) -> str:
    """Return what was measured as a table for people."""
    load = record.load
    settings = load.settings
    flash = {True: "on", False: "off", None: "unknown"}[settings.flash_attention]
    speed = "unknown bandwidth"
    if bandwidth is not None:
        speed = f"main memory at {format_bandwidth(bandwidth.bytes_per_s)} (measured)"
        if bandwidth.cached:
            large = format_bandwidth(bandwidth.large_bytes_per_s)
            speed += f", partly from the processor's cache: main memory {large}"
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
    lines.append(f"  {_prediction(load, is_busy=bool(record.busy))}")
    lines += [f"! Left out: {text}" for text in record.skipped]
    if record.busy:
        lines.append(f"! The machine was busy, so the figures are uncertain. {record.busy}")
    return "\n".join(lines)


def _prediction(load: LoadRecord, *, is_busy: bool) -> str:
    """Say on what the predictions of decoding rest."""
    fit = None if load.plan is None else load.plan.fit
    if fit is None:
        next_one = "not kept, as the machine was busy" if is_busy else "what the next run goes by"
        return f"Decode is predicted by what is likely (assumed); these figures are {next_one}."
    if fit.own:
        return f"Decode is predicted by {fit.count} rates that were measured here before."
    if fit.other_settings:
        return "Decode is predicted by what other settings of this model reached on this computer."
    return "Decode is predicted by what another model reached on this computer."


def _cells(row: BenchRow) -> tuple[str, ...]:
    rate = mean(row.samples)
    spread = _deviation(row)
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
        "–" if spread is None else f"{spread:.1f}",
        predicted,
        "unknown" if row.ceiling is None else f"{row.ceiling:.1f}",
        "" if not row.ceiling else f"{rate / row.ceiling:.0%}",
        "" if row.bytes_per_token is None else format_decimal_bytes(row.bytes_per_token),
    )

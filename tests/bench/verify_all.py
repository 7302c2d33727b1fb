"""The planner against the engine: ``python -m tests.bench.verify_all``.

Models are the oracle's, tiny ones of every architecture and the shapes of real ones, as sparse
files without weights, and those of tests/helpers/families, in odd sizes. Every one is loaded on
the processor and split between it and a second device over RPC. ``--full`` takes every
combination of settings, not a covering choice.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from gguf_tools.compute.buffers import MARGINS, trust_of
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.machine import Device, Machine, cpu_only
from gguf_tools.memory import memory_plan
from gguf_tools.settings import LoadSettings, refusal
from tests.helpers.engine_dry_runs import Asked, Ran, dry_runs
from tests.helpers.families import write_families
from tests.helpers.rpc_server import rpc_server
from tests.helpers.sparse_models import unpack_sparse

CONTEXTS = (512, 4096, 32768, 5003)
UBATCHES = (128, 512, 2048)
CACHES = ("f16", "q8_0", "q4_0")
SEQUENCES = (1, 4)
FLASH = ("on", "off")
MIB = 1 << 20

SPLIT = Machine(
    name="split",
    cpu=cpu_only().cpu,
    accelerators=(
        # The engine shares layers out by free memory; one device beside the CPU takes them all.
        Device(name="RPC0", kind="rpc", backend="RPC", total_bytes=1 << 40, free_bytes=1 << 40),
    ),
)


def choices(*, full: bool) -> list[Asked]:
    """Return ways of loading: all, or a choice in which every pair of values occurs."""
    everything = [
        Asked(
            context=context,
            ubatch=ubatch,
            cache=cache,
            sequences=sequences,
            outputs=sequences,
            flash=flash,
        )
        for context, ubatch, cache, sequences, flash in itertools.product(
            CONTEXTS, UBATCHES, CACHES, SEQUENCES, FLASH
        )
    ]
    if full:
        return everything
    chosen = []
    open_pairs = {pair for item in everything for pair in _pairs(item)}
    while open_pairs:
        best = max(everything, key=lambda item: len(open_pairs & _pairs(item)))
        chosen.append(best)
        open_pairs -= _pairs(best)
    return chosen


def _pairs(item: Asked) -> set[tuple[tuple[int, object], ...]]:
    values = (item.context, item.ubatch, item.cache, item.sequences, item.flash)
    return set(itertools.combinations(enumerate(values), 2))


@dataclass
class Tally:
    """What came out for one model on one machine."""

    model: str
    place: str
    trust: str
    runs: int = 0
    refusals: int = 0
    faults: list[str] = field(default_factory=list)
    cache_wrong: int = 0
    weights_wrong: int = 0
    compute: list[tuple[float, int, str]] = field(default_factory=list)

    @property
    def worst(self) -> tuple[float, int, str]:
        """Return the compute figure that is furthest off."""
        return max(self.compute, key=lambda item: abs(item[0]), default=(0.0, 0, ""))

    @property
    def outside(self) -> int:
        """Return how many compute figures miss both the bound and 1 MiB."""
        bound = MARGINS[self.trust]  # type: ignore[index]
        return sum(abs(share) > bound and abs(size) > MIB for share, size, _ in self.compute)


def as_load(asked: Asked) -> LoadSettings:
    """Return a way of loading as the planner takes it."""
    return LoadSettings(
        context=asked.context,
        type_k=asked.cache,
        type_v=asked.cache,
        gpu_layers=asked.gpu_layers,
        batch=asked.batch,
        ubatch=asked.ubatch,
        sequences=asked.sequences,
        unified=asked.unified,
        flash_attention=asked.flash,  # type: ignore[arg-type]
        swa_full=asked.swa_full,
        outputs=asked.outputs,
        extra_buffers=False,
    )


def judge(tally: Tally, facts: ModelFacts, machine: Machine, ran: Ran) -> None:
    """Count one run into a tally."""
    assert facts.shape is not None
    load = as_load(ran.asked)
    label = (
        f"ctx {load.context} ub {load.ubatch} {load.type_k} seq {load.sequences} "
        f"fa {load.flash_attention} ngl {load.gpu_layers}"
    )
    refused = refusal(facts.shape, load)
    tally.runs += 1
    if ran.buffers is None:
        tally.refusals += 1
    if (refused is None) != (ran.buffers is not None):
        what = "ended" if ran.crashed else "refused" if ran.buffers is None else "took"
        tally.faults.append(f"the engine {what} {label}")
        return
    if ran.buffers is None:
        return
    plan = memory_plan(facts, load, machine)
    if plan.settings.context != ran.n_ctx:
        tally.faults.append(f"context {plan.settings.context}, engine {ran.n_ctx}: {label}")
    for device in plan.devices:
        name = device.device.name

        def engine(what: str, name: str = name) -> int:
            assert ran.buffers is not None
            return ran.buffers.get((name, what), 0)

        tally.cache_wrong += device.kv_bytes + device.state_bytes != engine("cache")
        tally.weights_wrong += device.weights_bytes != engine("weights")
        wanted = engine("compute")
        if wanted or device.compute_bytes:
            difference = device.compute_bytes - wanted
            tally.compute.append((difference / max(wanted, 1), difference, f"{name} {label}"))


def run_model(name: str, path: Path, ways: Sequence[Asked], endpoint: str) -> Iterator[Tally]:
    """Yield the tallies of one model: on the processor, then split."""
    facts = read_facts(path)
    assert facts.shape is not None
    trust = trust_of(facts.shape)
    layers = facts.shape.layers_all
    alone = Tally(name, "CPU", trust)
    for ran in dry_runs(path, ways):
        judge(alone, facts, cpu_only(), ran)
    yield alone
    split = Tally(name, "split", trust)
    offloaded = (layers // 2 + 1, -1)
    asked = [
        replace(way, gpu_layers=offloaded[index % 2])
        for index, way in enumerate(ways)
        if way.sequences == 1 or index % 3 == 0
    ]
    asked.sort(key=lambda way: way.gpu_layers)
    for ran in dry_runs(path, asked, endpoint):
        judge(split, facts, SPLIT, ran)
    yield split


def table(tallies: Sequence[Tally]) -> str:
    """Return the table of errors, the worst last."""
    head = f"{'model':<26} {'where':<6} {'trust':<6} {'runs':>4} {'ref':>4} {'cache':>6} "
    head += f"{'weights':>8} {'compute':>9} {'outside':>8}  worst"
    lines = [head]
    for tally in sorted(tallies, key=lambda item: (item.outside > 0, abs(item.worst[0]))):
        share, size, label = tally.worst
        lines.append(
            f"{tally.model:<26} {tally.place:<6} {tally.trust:<6} {tally.runs:>4} "
            f"{tally.refusals:>4} {tally.cache_wrong or 'exact':>6} "
            f"{tally.weights_wrong or 'exact':>8} {share:>9.2%} {tally.outside:>8}  "
            f"{f'{size / MIB:+.2f} MiB, {label}' if size else ''}"
        )
        lines += [f"    {fault}" for fault in tally.faults[:4]]
    runs = sum(item.runs for item in tallies)
    lines.append(
        f"{len(tallies)} tables, {runs} runs, {sum(item.refusals for item in tallies)} refusals, "
        f"{sum(len(item.faults) for item in tallies)} not predicted; wrong caches "
        f"{sum(item.cache_wrong for item in tallies)}, wrong weights "
        f"{sum(item.weights_wrong for item in tallies)}, compute outside its bound "
        f"{sum(item.outside for item in tallies)} of {sum(len(item.compute) for item in tallies)}"
    )
    return "\n".join(lines)


def main() -> int:
    """Run and print; 1 if a cache or a weight is not exact."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="every combination")
    parser.add_argument("--only", nargs="*", help="models by name")
    parser.add_argument("--jobs", type=int, default=2)
    parsed = parser.parse_args()
    ways = choices(full=parsed.full)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, rpc_server() as server:
        files = unpack_sparse(Path(folder))
        families = write_families(Path(folder) / "families")
        files |= {f"family {name}": path for name, path in families.items()}
        names = [name for name in files if not parsed.only or name in parsed.only]

        def work(name: str) -> list[Tally]:
            return list(run_model(name, files[name], ways, server.endpoint))

        tallies: list[Tally] = []
        with ThreadPoolExecutor(parsed.jobs) as pool:
            for found in pool.map(work, names):
                tallies += found
                print(f"{found[0].model}", file=sys.stderr)
    print(table(tallies))
    print(f"{time.monotonic() - started:.0f} s")
    wrong = sum(item.cache_wrong + item.weights_wrong for item in tallies)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""What Plimsoll chooses by itself against the engine's defaults: ``python -m tests.bench.tuning``.

Each model is loaded once. What is fastest is measured as at a first load; then prefill and decode
at the depths asked for, really filled, are measured in turn with the defaults and with the choice
(A B A B …), by a bench that knows nothing of the choice. Run it with nothing beside it.

``--kernels`` measures instead what compatibility mode loses, and what its repacked kernels bring
back, with a Q4_0 variant of the model that is made for it.

Each pass is printed as it is done; the tables come at the end. At the default arguments it takes
about three minutes on two cores with the starter model, most of which fills the cache.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Literal

import msgspec

from app.engine.client import EngineClient
from app.engine.protocol import Bench, Benched, LoadOptions, Quantize, Quantized, Tune, Tuned
from app.paths import starter_model
from app.tuned import kept_of, with_tuning

TESTS: tuple[tuple[Literal["prefill", "decode"], int], ...] = (("prefill", 256), ("decode", 48))


def measure(
    client: EngineClient, depths: tuple[int, ...], repeat: int, what: str
) -> dict[tuple[str, int], list[float]]:
    """Return tokens per second by test and depth, as the model runs now; print them by ``what``."""
    rates: dict[tuple[str, int], list[float]] = {}
    for depth in depths:
        for test, tokens in TESTS:
            request = Bench(
                id=client.new_id(),
                test=test,
                depth=depth,
                tokens=tokens,
                repeat=repeat,
                keep=(test, tokens) != TESTS[-1],  # filled once for all tests
            )
            seconds = client.call(request, Benched).seconds
            rates[test, depth] = [tokens / one for one in seconds]
            middle = statistics.median(rates[test, depth])
            print(f"  … {what}: {test} at {depth:,}: {middle:.1f} tok/s", flush=True)
    return rates


def run_as(client: EngineClient, options: LoadOptions) -> Tuned:
    """Have the model run as options say, without measuring."""
    return client.call(Tune(id=client.new_id(), options=options, measure=False), Tuned)


def compare(path: Path, asked: LoadOptions, arguments: argparse.Namespace) -> None:
    """Measure one model and print the tables."""
    depths = tuple(arguments.depth)
    with EngineClient(on_notice=print) as client:
        client.load(str(path), asked)
        request = Tune(id=client.new_id(), options=asked, budget_s=arguments.budget)
        found = client.call(request, Tuned)
        print(f"\n{path.name}: measured in {found.seconds:.1f} s. {found.note}")
        print(f"  defaults: {_words(found, before=True)}")
        print(f"  chosen:   {_words(found, before=False)}")
        for row in found.rows:
            gain = row.after / row.before - 1
            print(
                f"  {row.test:>7} at {row.depth:>5,}: {row.before:8.1f} -> {row.after:8.1f} tok/s "
                f"{gain:+.1%} (its own measurement)"
            )
        if found.after == found.before and not arguments.always:
            print("  Nothing was clearly faster, so the defaults stay.")
            return
        best = with_tuning(asked, kept_of(found.after))
        before: dict[tuple[str, int], list[float]] = {}
        after: dict[tuple[str, int], list[float]] = {}
        ways = (("defaults", asked, before), ("chosen", best, after))
        for number in range(arguments.rounds):
            for name, options, into in ways:
                run_as(client, options)
                what = f"round {number + 1}, {name}"
                for key, rates in measure(client, depths, arguments.repeat, what).items():
                    into.setdefault(key, []).extend(rates)
    print(
        f"  {'test':>8} {'depth':>6} {'defaults':>10} {'±':>6} {'chosen':>10} {'±':>6} {'gain':>7}"
    )
    for (test, depth), rates in before.items():
        chosen = after[test, depth]
        old, new = statistics.median(rates), statistics.median(chosen)
        print(
            f"  {test:>8} {depth:>6,} {old:>10.1f} {statistics.pstdev(rates):>6.1f} "
            f"{new:>10.1f} {statistics.pstdev(chosen):>6.1f} {new / old - 1:>+7.1%}"
        )


def compare_kernels(path: Path, arguments: argparse.Namespace) -> None:
    """Measure a Q4_0 variant in each mode, in an engine of its own, in turn."""
    modes = {
        "usual": LoadOptions(),
        "compatibility": LoadOptions(compatibility=True),
        "with repacking": LoadOptions(compatibility=True, repack=True),
    }
    rates: dict[str, dict[tuple[str, int], list[float]]] = {name: {} for name in modes}
    with tempfile.TemporaryDirectory() as folder:
        variant = Path(folder) / "variant-Q4_0.gguf"
        with EngineClient() as client:
            made = Quantize(
                id=client.new_id(),
                source=str(path),
                target=str(variant),
                kind="Q4_0",
                allow_requantize=True,
            )
            client.call(made, Quantized)
        for number in range(arguments.rounds):
            for name, options in modes.items():
                with EngineClient(on_notice=print) as client:
                    n_ctx = max(arguments.depth) + 1024
                    asked = msgspec.structs.replace(options, n_ctx=n_ctx)
                    info = client.load(str(variant), asked)
                    if options.repack and not info.repacked:
                        raise SystemExit("This engine build repacks nothing on this processor.")
                    what = f"round {number + 1}, {name}"
                    found = measure(client, tuple(arguments.depth), arguments.repeat, what)
                    for key, samples in found.items():
                        rates[name].setdefault(key, []).extend(samples)
    print(f"\n{path.name} as Q4_0")
    print(f"  {'tok/s':>8} {'depth':>6}" + "".join(f" {name:>20}" for name in modes))
    for test, depth in rates["usual"]:
        middles = [statistics.median(rates[name][test, depth]) for name in modes]
        cells = (f"{middle:.1f} ({middle / middles[0]:.2f})" for middle in middles)
        print(f"  {test:>8} {depth:>6,}" + "".join(f" {cell:>20}" for cell in cells))


def _words(found: Tuned, *, before: bool) -> str:
    tuning = found.before if before else found.after
    return (
        f"{tuning.threads} threads to write, {tuning.threads_batch} to read, "
        f"flash attention {tuning.flash_attention}, micro-batch {tuning.n_ubatch}"
    )


def main() -> None:
    """Measure the models named, or the starter model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--budget", type=float, default=5.0, help="seconds to choose in")
    parser.add_argument(
        "--depth", type=int, nargs="+", help="default: 0 4096, with --kernels 0 1024"
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--always", action="store_true", help="compare equal settings too")
    parser.add_argument("--kernels", action="store_true", help="compare compatibility mode")
    arguments = parser.parse_args()
    # Three engines fill their caches in each round of --kernels, at half the speed.
    arguments.depth = arguments.depth or ([0, 1024] if arguments.kernels else [0, 4096])
    files = arguments.files or [starter_model()]
    for path in files:
        if path is None:
            raise SystemExit("Install the starter extra, or name a model.")
        if arguments.kernels:
            compare_kernels(path, arguments)
            continue
        compare(path, LoadOptions(n_ctx=max(arguments.depth) + 1024), arguments)


if __name__ == "__main__":
    main()

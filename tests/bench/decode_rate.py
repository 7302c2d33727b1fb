"""Decode and prefill of the worker against a bare loop: ``python -m tests.bench.decode_rate``.

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

A prefill is a prompt of about 200 tokens that has only the template's beginning in common with
the one before; both evaluate what comes after that.
"""

from __future__ import annotations

import argparse
import itertools
import json
import operator
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.engine.client import EngineClient
from app.engine.launch import worker_environment
from app.engine.protocol import Chunk, Done, LoadOptions, Render, Rendered
from app.engine.threads import choose_threads, performance_cores
from app.paths import starter_model
from tests.bench.medians import told
from tests.helpers.engine import BlockingDriver, chat, generate, turn

PROMPT = "Write a long story about a ship that is loaded too deeply."
ROOT = Path(__file__).resolve().parents[2]
N_CTX = 8192
GOAL = 0.98

# Writes a number of tokens after the prompt; returns (tokens so far, time in seconds) along the way
# and the seconds from the first token to the last.
Writer = Callable[[int], tuple[list[tuple[int, float]], float]]


@dataclass(frozen=True)
class Side:
    """One of the two that are compared; ``read`` returns tokens per second of a chat's prefill."""

    write: Writer
    read: Callable[[int], float]


def _story(number: int) -> str:
    """Return what is asked in a chat of about 200 tokens, unlike the others from its first word."""
    return f"{number} ships. " + " ".join(f"Ship {i} carries {i * number} tons." for i in range(18))


def serve_bare(path: str, threads: int, prompt_text: str) -> None:
    """Answer lines of JSON on stdin: a number of tokens to write with the time of each token's
    arrival, in seconds; a text with the number of its tokens that were evaluated and the seconds
    that took. What a text has in common with the one before stays in the cache, as in the worker.
    """
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

    def tokens_of(text: str) -> list[int]:
        data = text.encode()
        count = lib.llama_tokenize(vocab, data, len(data), buffer, 4096, False, True)
        return list(buffer[:count])

    def evaluate(tokens: list[int]) -> None:
        array = (lib.llama_token * len(tokens))(*tokens)
        lib.llama_decode(context, lib.llama_batch_get_one(array, len(tokens)))

    chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
    lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_greedy())
    memory = lib.llama_get_memory(context)
    one = (lib.llama_token * 1)()
    held: list[int] = []

    def read(text: str) -> tuple[int, float]:
        tokens = tokens_of(text)
        same = 0
        while same < min(len(held), len(tokens) - 1) and held[same] == tokens[same]:
            same += 1
        lib.llama_memory_seq_rm(memory, 0, same, -1)
        started = time.monotonic()
        for index in range(same, len(tokens), options.n_ubatch):
            evaluate(tokens[index : index + options.n_ubatch])
        lib.llama_synchronize(context)
        held[:] = tokens
        return len(tokens) - same, time.monotonic() - started

    def write(count: int) -> list[float]:
        read(prompt_text)
        times = []
        for _ in range(count):
            one[0] = lib.llama_sampler_sample(chain, context, -1)
            times.append(time.monotonic())
            lib.llama_decode(context, lib.llama_batch_get_one(one, 1))
        return times

    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(read(asked) if isinstance(asked, str) else write(asked)), flush=True)


@contextmanager
def _bare(path: str, threads: int, text_of: Callable[[str], str]) -> Iterator[Side]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.bench.decode_rate", "--bare", path, str(threads),
         text_of(PROMPT)],
        cwd=ROOT, text=True, env=worker_environment(),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def answer(asked: object) -> Any:
            stdin.write(json.dumps(asked) + "\n")
            stdin.flush()
            return json.loads(stdout.readline())

        def write(tokens: int) -> tuple[list[tuple[int, float]], float]:
            times = answer(tokens)
            return list(enumerate(times, 1)), times[-1] - times[0]

        def read(number: int) -> float:
            count, elapsed_s = answer(text_of(_story(number)))
            return float(count / elapsed_s)

        yield Side(write, read)
        stdin.close()


@contextmanager
def _worker(path: str, threads: int) -> Iterator[Side]:
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

        def read(number: int) -> float:
            *_, last = turn(driver, chat(_story(number)), max_tokens=1)
            assert isinstance(last, Done), last
            assert last.stats.evaluated_tokens > 150, last.stats
            assert last.stats.prefill_per_s is not None
            return last.stats.prefill_per_s

        yield Side(write, read)
    finally:
        driver.close()


def _text_of(client: EngineClient) -> Callable[[str], str]:
    """Return what writes a chat of one message as the model's template has it."""

    def text_of(said: str) -> str:
        return client.call(Render(id=client.new_id(), chat=chat(said)), Rendered).text

    return text_of


def _per_s(write: Writer, tokens: int) -> float:
    return (tokens - 1) / write(tokens)[1]


def _tell(what: str, threads: int, pairs: Sequence[tuple[float, float]]) -> None:
    """Print the rates and ratios of neighbouring stretches: (bare, worker) in tokens per second."""
    print(
        f"{what}, {threads} thread(s), {len(pairs)} stretches: median bare "
        f"{statistics.median(plain for plain, _ in pairs):.1f} tok/s, worker "
        f"{statistics.median(ours for _, ours in pairs):.1f} tok/s, goal {GOAL}, median ratio "
        f"{told([ours / plain for plain, ours in pairs], GOAL)}",
        flush=True,
    )


def _in_turn(
    index: int, sides: tuple[Side, Side], measure: Callable[[Side], float]
) -> tuple[float, float]:
    """Measure both, each first every other time; return (bare, worker)."""
    if index % 2:
        return measure(sides[0]), measure(sides[1])
    second = measure(sides[1])
    return measure(sides[0]), second


def _compare(
    path: str, text_of: Callable[[str], str], threads: int, tokens: int, stretches: int, pairs: int
) -> None:
    wrote: list[tuple[float, float]] = []
    read: list[tuple[float, float]] = []
    numbers = itertools.count(2)
    for _ in range(pairs):
        with _bare(path, threads, text_of) as bare, _worker(path, threads) as worker:
            sides = (bare, worker)
            for side in sides:  # weights and code paged in
                side.write(8)
                side.read(1)
            wrote += [
                _in_turn(index, sides, lambda side: _per_s(side.write, tokens))
                for index in range(stretches)
            ]
            read += [
                _in_turn(number, sides, operator.methodcaller("read", number))
                for number in itertools.islice(numbers, max(stretches // 2, 2))
            ]
    _tell("decode", threads, wrote)
    _tell("prefill", threads, read)


def _ms_per_token(points: Sequence[tuple[int, float]], low: int, high: int) -> float:
    inside = [(n, t) for n, t in points if low <= n <= high]
    return 1000 * (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0])


def _long(path: str, text_of: Callable[[str], str], threads: int, tokens: int) -> None:
    with _bare(path, threads, text_of) as bare:
        plain, _ = bare.write(tokens)
    with _worker(path, threads) as worker:
        ours, _ = worker.write(tokens)
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
    with EngineClient() as client:
        client.load(path)
        text_of = _text_of(client)
        for threads in arguments.threads:
            _compare(path, text_of, threads, arguments.tokens, arguments.stretches, arguments.pairs)
        if arguments.long:
            _long(path, text_of, arguments.threads[-1], arguments.long)


if __name__ == "__main__":
    main()

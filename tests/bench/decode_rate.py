"""Decode rate of the worker against a bare loop: ``python -m tests.bench.decode_rate``.

Both run in a process of their own with the same model, settings, threads and sampler, in turn
(A B A B …), because the machine's clock and its neighbours change while one waits: with the number
of threads that is the default here, and with that of the fast cores, which measuring at a model's
first load mostly ends with. The last table gives the time per token near the beginning and near the
end of a long forced reply: the engine's own time grows with depth, what the worker adds must not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
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


def bare(path: str, threads: int, tokens: int, prompt_text: str) -> list[float]:
    """Return the time of each token's arrival in a bare loop, in seconds."""
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
    one = (lib.llama_token * 1)()
    times = []
    for _ in range(tokens):
        one[0] = lib.llama_sampler_sample(chain, context, -1)
        times.append(time.monotonic())
        lib.llama_decode(context, lib.llama_batch_get_one(one, 1))
    return times


def _bare_in_a_process(path: str, threads: int, tokens: int, prompt: str) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.decode_rate", "--bare", path, str(threads),
         str(tokens), prompt],
        cwd=ROOT, capture_output=True, text=True, check=True, env=worker_environment(),
    )  # fmt: skip
    times: list[float] = json.loads(done.stdout)
    return times


def _worker(path: str, threads: int, tokens: int) -> tuple[list[tuple[int, float]], float]:
    """Return (tokens so far, time) of each chunk, and the rate that the worker reports."""
    driver = BlockingDriver()
    try:
        driver.client.load(path, LoadOptions(n_ctx=N_CTX, threads=threads, threads_batch=threads))
        request = generate(driver, chat(PROMPT), max_tokens=tokens, ignore_eos=True)
        driver.send(request)
        chunks = []
        for message in driver.receive(request.id):
            if isinstance(message, Chunk):
                chunks.append((message.reply_tokens, time.monotonic()))
            last = message
        assert isinstance(last, Done), last
        assert last.stats.decode_per_s is not None
        return chunks, last.stats.decode_per_s
    finally:
        driver.close()


def _prompt_of(path: str) -> str:
    from app.engine.protocol import Render, Rendered

    with EngineClient() as client:
        client.load(path)
        return client.call(Render(id=client.new_id(), chat=chat(PROMPT)), Rendered).text


def _ms_per_token(points: list[tuple[int, float]], low: int, high: int) -> float:
    inside = [(n, t) for n, t in points if low <= n <= high]
    return 1000 * (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0])


def _compare(path: str, threads: int, tokens: int, rounds: int, prompt: str) -> None:
    rates: dict[str, list[float]] = {"bare": [], "worker": []}
    for number in range(rounds):
        times = _bare_in_a_process(path, threads, tokens, prompt)
        rates["bare"].append((len(times) - 1) / (times[-1] - times[0]))
        rates["worker"].append(_worker(path, threads, tokens)[1])
        print(
            f"  round {number + 1}: bare {rates['bare'][-1]:.1f}, worker {rates['worker'][-1]:.1f}",
            flush=True,
        )
    ratios = [w / b for w, b in zip(rates["worker"], rates["bare"], strict=True)]
    print(
        f"{tokens} tokens, {threads} thread(s): median bare {statistics.median(rates['bare']):.1f}"
        f" tok/s, worker {statistics.median(rates['worker']):.1f} tok/s, "
        f"median ratio {statistics.median(ratios):.3f} ({min(ratios):.2f}–{max(ratios):.2f}, "
        "goal 0.98)",
        flush=True,
    )


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=384)
    parser.add_argument(
        "--threads",
        type=int,
        nargs="+",
        default=sorted({choose_threads(), performance_cores()}),
        help="numbers to compare with",
    )
    parser.add_argument("--long", type=int, default=2600, help="tokens of the long reply")
    parser.add_argument("--bare", nargs=4)
    arguments = parser.parse_args()
    if arguments.bare:
        path, count, tokens, prompt = arguments.bare
        print(json.dumps(bare(path, int(count), int(tokens), prompt)))
        return
    model = starter_model()
    assert model is not None
    path = str(model)
    prompt = _prompt_of(path)
    for threads in arguments.threads:
        _compare(path, threads, arguments.tokens, arguments.rounds, prompt)

    threads = arguments.threads[-1]
    times = _bare_in_a_process(path, threads, arguments.long, prompt)
    plain = [(index + 1, t) for index, t in enumerate(times)]
    chunks, _ = _worker(path, threads, arguments.long)
    end = arguments.long
    print(f"\nms per token, {threads} thread(s)   bare   worker   worker adds")
    for low, high in ((50, 250), (end - 250, end - 50)):
        b, w = _ms_per_token(plain, low, high), _ms_per_token(chunks, low, high)
        print(f"tokens {low:>5}–{high:<5}        {b:6.2f}   {w:6.2f}   {w - b:+.3f}")


if __name__ == "__main__":
    main()

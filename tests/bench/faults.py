"""What is lost when something goes wrong, and whether the next start works.

    python -m tests.bench.faults [--rounds 200] [--seed N] [--only KIND,KIND] [--within S]

A window runs offscreen as a process of its own, on one data folder through all rounds, over the
scripted engine (a fifth of the rounds: over llama.cpp with a tiny model). Most windows are split
off from a process that has read all modules (`tests.helpers.window_nursery`), every eighth is a new
interpreter. Each round begins something (a reply, a load, a download, a variant, a comparison, a
write, a migration) and does one of the faults below at a random moment. What was on screen then is
held against what is read back after the next start, and the store against an account of all that
was asked: each message once, in order, with its reply. Exit code 1 if more than a second of a
reply was lost, or anything did not work afterwards. Filling the disk and making it read-only need
the right to mount a small file system, else they are left out and said so.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.faults.outcome import KILLED_GOAL_S, Outcome
from tests.helpers.faults.table import KINDS, Attack

__all__ = ["main", "run_rounds"]


def run_rounds(
    rounds: int,
    seed: int,
    kinds: list[str],
    say: Callable[[str], None] = print,
    within_s: float | None = None,
    told_all: bool = False,
) -> list[Outcome]:
    """Return what came of each round. ``kinds`` take turns in a random order.

    No round begins after ``within_s`` seconds. ``told_all`` names also the rounds that went well.
    """
    end_s = None if within_s is None else time.monotonic() + within_s
    chance = random.Random(seed)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="plimsoll-faults-") as folder:
        attack = Attack(Path(folder), chance)
        with attack:
            left = [kind for kind in kinds if kind not in attack.impossible]
            for kind in sorted(set(kinds) & attack.impossible):
                say(f"{kind}: left out, a small file system can't be mounted here")
            deck: list[str] = []
            for number in range(rounds):
                if end_s is not None and time.monotonic() > end_s:
                    say(f"time is over: {number} of {rounds} rounds")
                    break
                if not deck:
                    deck = chance.sample(left, len(left))
                outcome = attack.round(deck.pop())
                outcomes.append(outcome)
                if outcome.problem:
                    say(f"round {number + 1}, {outcome.kind}: {outcome.problem}")
                elif told_all:
                    way = f" ({outcome.way})" if outcome.way else ""
                    say(f"round {number + 1}, {outcome.kind}{way}: {outcome.took_s:.1f} s")
    return outcomes


@dataclass(frozen=True, slots=True)
class _Row:
    kind: str
    outcomes: list[Outcome]

    def __str__(self) -> str:
        lost = [item.lost_characters for item in self.outcomes]
        lost_s = [item.lost_s for item in self.outcomes]
        well = sum(not item.problem for item in self.outcomes)
        return (
            f"{self.kind:28}{len(lost):7}{statistics.median(lost):9.0f}{max(lost):8}"
            f"{statistics.median(lost_s):10.2f}{max(lost_s):8.2f}   {well} of {len(lost)}"
            f"{statistics.median(item.took_s for item in self.outcomes):10.1f}"
        )


def main() -> int:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(KINDS), help="kinds of fault")
    parser.add_argument("--within", type=float, metavar="S", help="begin no round after S seconds")
    parser.add_argument("--all", action="store_true", help="name each round")
    arguments = parser.parse_args()
    kinds = arguments.only.split(",")
    unknown = set(kinds) - set(KINDS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    begin_s = time.monotonic()
    outcomes = run_rounds(
        arguments.rounds,
        arguments.seed,
        kinds,
        lambda text: print(text, flush=True),
        arguments.within,
        arguments.all,
    )
    print(
        f"\n{len(outcomes)} rounds, seed {arguments.seed}, {time.monotonic() - begin_s:.0f} s\n"
        f"{'fault':28}{'rounds':>7}{'lost, characters':>17}{'lost, seconds':>18}"
        "   works after, seconds each\n"
        f"{'':35}{'median':>9}{'worst':>8}{'median':>10}{'worst':>8}"
    )
    for kind in KINDS:
        found = [item for item in outcomes if item.kind == kind]
        if found:
            print(_Row(kind, found))
    late = [item for item in outcomes if item.is_late]
    failed = [item for item in outcomes if item.problem]
    print(
        f"more than {KILLED_GOAL_S:g} s of a reply lost: {len(late)}; did not work afterwards: "
        f"{len(failed)}"
    )
    return 1 if late or failed else 0


if __name__ == "__main__":
    sys.exit(main())

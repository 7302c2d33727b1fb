"""What to measure next to find the fastest way to run a model, and when to stop.

Pure: `search` yields passes to be timed and is sent how long they took; it knows no engine and no
clock, so it can be tried against any made-up machine.

Every candidate is measured in turn with what would be used without it (A B A B), since a machine
gets slower and faster by itself. One is taken only if its gain is more than `LEAST_GAIN` and
clearly more than the noise seen; else what was used stays. At the end all that was chosen is
measured once more against the defaults, and a part that does not hold is given up.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from statistics import mean, median, stdev
from typing import Final, Literal, TypeAlias

import msgspec

from app.engine.protocol import Tuning

__all__ = ["LEAST_GAIN", "Found", "Free", "Gain", "Pass", "Search", "Timed", "is_faster", "search"]

LEAST_GAIN: Final = 0.03
_LEAST_ROUNDS: Final = 3
_MOST_ROUNDS: Final = 5
# Student's t by rounds, one-sided, at half a per cent; degrees of freedom are one less.
_STUDENT: Final = {3: 9.925, 4: 5.841, 5: 4.604}
_LOST: Final = 1.25  # so much slower in one round, and a candidate is not measured again
_DECODE_PASS_S: Final = 0.06
_PREFILL_PASS_S: Final = 0.1
_PILOT_DECODE_TOKENS: Final = 2
_PILOT_PREFILL_TOKENS: Final = 16
_DEEPER: Final = 2.0  # about how much longer a token takes at depth
# A turn to weigh reading and writing by, where one choice changes both.
_TURN_DECODE_TOKENS: Final = 128
_TURN_PREFILL_TOKENS: Final = 256
# What part of the time has gone when each question must be settled.
_UNTIL: Final = {"threads": 0.22, "threads_batch": 0.42, "flash": 0.72, "ubatch": 0.82}
_TOO_SLOW: Final = 20  # a pass longer than this part of the time is not worth measuring

Test: TypeAlias = Literal["prefill", "decode"]


@dataclass(frozen=True, slots=True)
class Pass:
    """Something to be timed: tokens read or written behind ``depth`` others, with a tuning."""

    tuning: Tuning
    test: Test
    depth: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Timed:
    """How long a pass took, None if it can't be done here; ``spent_s`` is since the beginning."""

    seconds: float | None
    spent_s: float


@dataclass(frozen=True, slots=True)
class Free:
    """What may be chosen: candidates beside the default; none where the user has settled it.

    ``depth`` is where attention is measured, 0 for not at all.
    """

    threads: tuple[int, ...] = ()
    threads_batch: tuple[int, ...] = ()
    flash: bool = False
    n_ubatch: tuple[int, ...] = ()
    depth: int = 0

    @property
    def nothing(self) -> bool:
        """Tell whether there is nothing to choose."""
        return not (self.threads or self.threads_batch or self.flash or self.n_ubatch)


@dataclass(frozen=True, slots=True)
class Gain:
    """Tokens per second before and after, medians of passes in turn."""

    test: Test
    depth: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Found:
    """What is fastest, what it gained, and in a sentence why something was not measured."""

    tuning: Tuning
    gains: tuple[Gain, ...]
    note: str = ""


Search: TypeAlias = Generator[Pass, Timed, Found]


class _Unmeasurable(Exception):  # noqa: N818 - not an error: there is no room for it
    pass


def is_faster(before: Sequence[float], after: Sequence[float]) -> bool:
    """Tell whether times measured in turn are shorter by more than their noise.

    Student's test of the pairs, on the logarithm of their ratio, one-sided: where nothing differs,
    one comparison in two hundred would say so.
    """
    ratios = [log(b / a) for b, a in zip(before, after, strict=False)]
    if len(ratios) < _LEAST_ROUNDS or median(before) / median(after) <= 1 + LEAST_GAIN:
        return False
    noise = stdev(ratios) / sqrt(len(ratios))
    return mean(ratios) > _STUDENT[len(ratios)] * noise


def search(start: Tuning, free: Free, budget_s: float) -> Search:
    """Find the fastest tuning in about ``budget_s`` seconds; a generator of passes to be timed.

    Args:
        start: what is used if nothing is better.
        free: what may be chosen.
        budget_s: how long it may take.
    """
    state = _State(budget_s)
    chosen = start
    decode_s = yield from state.pilot(start, "decode", _PILOT_DECODE_TOKENS)
    writing = decode_s * _PILOT_DECODE_TOKENS <= state.longest_s
    decode = _Work("decode", 0, _tokens(_DECODE_PASS_S, decode_s, 1, 32), _TURN_DECODE_TOKENS)
    if writing:
        rivals = [_changed(chosen, threads=count) for count in free.threads]
        chosen, _ = yield from state.contest(
            chosen, rivals, (decode,), _UNTIL["threads"], decode.tokens * decode_s
        )
    prefill_s = decode_s  # of a token among many, at most
    if decode_s * _PILOT_PREFILL_TOKENS <= budget_s:
        prefill_s = yield from state.pilot(start, "prefill", _PILOT_PREFILL_TOKENS)
    reading = prefill_s * _PILOT_PREFILL_TOKENS <= state.longest_s
    prefill = _Work(
        "prefill",
        0,
        _tokens(_PREFILL_PASS_S, prefill_s, _PILOT_PREFILL_TOKENS, start.n_ubatch),
        _TURN_PREFILL_TOKENS,
    )
    if reading:
        rivals = [_changed(chosen, threads_batch=count) for count in free.threads_batch]
        chosen, _ = yield from state.contest(
            chosen, rivals, (prefill,), _UNTIL["threads_batch"], prefill.tokens * prefill_s
        )
    deep: _Rounds | None = None
    before_flash = chosen
    if free.flash and free.depth and writing and reading:
        other: Literal["on", "off"] = "on" if chosen.flash_attention == "off" else "off"
        works = tuple(
            replace(work, depth=free.depth, tokens=max(least, work.tokens // 3))
            for work, least in ((decode, 1), (prefill, _PILOT_PREFILL_TOKENS))
        )
        chosen, deep = yield from state.contest(
            chosen,
            [_changed(chosen, flash_attention=other)],
            works,
            _UNTIL["flash"],
            _DEEPER * (works[0].tokens * decode_s + works[1].tokens * prefill_s),
        )
    if reading and free.n_ubatch:
        chosen = yield from _ubatches(state, chosen, free.n_ubatch, prefill_s)
    gains: list[Gain] = []
    if chosen != start:
        works = (*((decode,) if writing else ()), *((prefill,) if reading else ()))
        chosen, gains = yield from _confirm(state, start, chosen, works)
    if deep is not None:
        after = before_flash if chosen.flash_attention == start.flash_attention else None
        gains += deep.gains(before_flash, after)
    return Found(chosen, tuple(gains), _note(writing, reading))


def _note(writing: bool, reading: bool) -> str:
    slow = [name for name, measured in (("writing", writing), ("reading", reading)) if not measured]
    if not slow:
        return ""
    verb = "is" if len(slow) == 1 else "are"
    return f"{' and '.join(slow).capitalize()} {verb} too slow here to be measured in passing."


def _changed(tuning: Tuning, **changes: object) -> Tuning:
    """Return a tuning with changes."""
    return msgspec.structs.replace(tuning, **changes)


def _tokens(wanted_s: float, token_s: float, least: int, most: int) -> int:
    return max(least, min(most, round(wanted_s / max(token_s, 1e-9))))


def _ubatches(
    state: _State, chosen: Tuning, sizes: Sequence[int], token_s: float
) -> Generator[Pass, Timed, Tuning]:
    """Compare micro-batches over prompts that fill the largest of them."""
    affordable = [
        size
        for size in sizes
        if max(size, chosen.n_ubatch) * token_s * 2 * _LEAST_ROUNDS < state.left_s(_UNTIL["ubatch"])
    ]
    if not affordable:
        return chosen
    tokens = max(*affordable, chosen.n_ubatch)
    work = _Work("prefill", 0, tokens, _TURN_PREFILL_TOKENS)
    rivals = [_changed(chosen, n_ubatch=size) for size in affordable]
    chosen, _ = yield from state.contest(
        chosen, rivals, (work,), _UNTIL["ubatch"], tokens * token_s
    )
    return chosen


def _confirm(
    state: _State, start: Tuning, chosen: Tuning, works: Sequence[_Work]
) -> Generator[Pass, Timed, tuple[Tuning, list[Gain]]]:
    """Measure the whole choice once more; give up the parts of it that do not hold.

    Where the time is over before it is sure, what won its own contest stays.
    """
    gains: list[Gain] = []
    kept = chosen
    for work in works:
        parts = (
            {"threads": start.threads}
            if work.test == "decode"
            else {"threads_batch": start.threads_batch, "n_ubatch": start.n_ubatch}
        )
        concerned = any(getattr(chosen, name) != value for name, value in parts.items())
        if not concerned and chosen.flash_attention == start.flash_attention:
            continue  # the same thing twice
        _, rounds = yield from state.contest(start, [chosen], (work,), 1.0, 0.0)
        if rounds is None:
            continue
        if concerned and not rounds.is_ahead(start, chosen):
            kept = _changed(kept, **parts)
            gains += rounds.gains(start, start)
        else:
            gains += rounds.gains(start, chosen)
    return kept, gains


@dataclass(frozen=True, slots=True)
class _Work:
    """A pass with any tuning, and how many such tokens a turn has."""

    test: Test
    depth: int
    tokens: int
    turn_tokens: int


class _Rounds:
    """Times of some tunings that were measured in turn."""

    def __init__(self, works: Sequence[_Work]) -> None:
        self._works = works
        self._seconds: dict[Tuning, list[tuple[float, ...]]] = {}  # a token, by work

    def add(self, tuning: Tuning, seconds: tuple[float, ...]) -> None:
        self._seconds.setdefault(tuning, []).append(seconds)

    @property
    def count(self) -> int:
        """Rounds of the one that was measured least."""
        return min((len(rounds) for rounds in self._seconds.values()), default=0)

    def turns(self, tuning: Tuning) -> list[float]:
        """Return the seconds of a turn, one a round."""
        return [
            sum(work.turn_tokens * one for work, one in zip(self._works, seconds, strict=True))
            for seconds in self._seconds.get(tuning, [])
        ]

    def is_faster(self, before: Tuning, after: Tuning) -> bool:
        return is_faster(self.turns(before), self.turns(after))

    def may_win(self, before: Tuning, after: Tuning) -> bool:
        """Tell whether it can still become clear that one is faster."""
        pairs = list(zip(self.turns(before), self.turns(after), strict=False))
        lost = sum(b >= a for a, b in pairs)
        return lost <= 1 and pairs[-1][1] < pairs[-1][0] * _LOST

    def is_ahead(self, before: Tuning, after: Tuning) -> bool:
        """Tell whether one is faster, be it by little."""
        return median(self.turns(after)) < median(self.turns(before))

    def gains(self, before: Tuning, after: Tuning | None) -> list[Gain]:
        """Return rates of both, of ``after`` None those of the other one that was measured."""
        if after is None:
            after = next((item for item in self._seconds if item != before), before)
        rows = []
        for index, work in enumerate(self._works):
            old, new = (
                1 / median(seconds[index] for seconds in self._seconds[tuning])
                for tuning in (before, after)
            )
            rows.append(Gain(work.test, work.depth, old, new))
        return rows


class _State:
    """The time that has gone."""

    def __init__(self, budget_s: float) -> None:
        self._budget_s = budget_s
        self._spent_s = 0.0

    def left_s(self, until: float) -> float:
        """Return the seconds that are left until a part of the budget."""
        return self._budget_s * until - self._spent_s

    @property
    def longest_s(self) -> float:
        """Seconds of a pass that is still worth measuring."""
        return self._budget_s / _TOO_SLOW

    def pilot(self, tuning: Tuning, test: Test, tokens: int) -> Generator[Pass, Timed, float]:
        """Return about how long a token takes, by two passes of which the first warms up."""
        seconds = 0.0
        for count in (max(1, tokens // 4), tokens):
            timed = yield Pass(tuning, test, 0, count)
            self._spent_s = timed.spent_s
            assert timed.seconds is not None, "the default can always be measured"
            seconds = timed.seconds / count
            if seconds * tokens > 4 * self.longest_s:
                break  # the second pass would only take time
        return seconds

    def contest(
        self,
        current: Tuning,
        rivals: Sequence[Tuning],
        works: Sequence[_Work],
        until: float,
        pass_s: float,
    ) -> Generator[Pass, Timed, tuple[Tuning, _Rounds | None]]:
        """Measure rivals in turn with what is used; return the winner and the times.

        Of rivals only the first ones are tried if the time is not for all, by ``pass_s``, about
        what a tuning takes a round. The times are None if there were too few.
        """
        most = len(rivals)
        if pass_s:
            # All once, and the best of them in two more rounds with what is used now.
            most = int(self.left_s(until) / pass_s - 1 - 2 * (_LEAST_ROUNDS - 1))
        alive = [rival for rival in rivals if rival != current][: max(most, 0)]
        rounds = _Rounds(works)
        cost_s: dict[Tuning, float] = {}
        number, round_s = 0, 0.0
        while alive and number < _MOST_ROUNDS and self.left_s(until) > round_s:
            number += 1
            for tuning in (current, *alive):
                began_s = self._spent_s
                try:
                    rounds.add(tuning, (yield from self._all(tuning, works)))
                except _Unmeasurable:
                    if tuning == current:
                        return current, None
                    alive = [rival for rival in alive if rival != tuning]
                cost_s[tuning] = self._spent_s - began_s
            alive = [rival for rival in alive if rounds.may_win(current, rival)]
            round_s = cost_s[current] + sum(cost_s[rival] for rival in alive)
            if number == 1 and self.left_s(until) < (_LEAST_ROUNDS - 1) * round_s:
                return current, None  # it can't become sure in time
        if number == 0 or (number < _LEAST_ROUNDS and alive):
            return current, None
        winners = [rival for rival in alive if rounds.is_faster(current, rival)]
        best = min(winners, key=lambda rival: median(rounds.turns(rival)), default=current)
        return best, rounds

    def _all(
        self, tuning: Tuning, works: Sequence[_Work]
    ) -> Generator[Pass, Timed, tuple[float, ...]]:
        seconds = []
        for work in works:
            timed = yield Pass(tuning, work.test, work.depth, work.tokens)
            self._spent_s = timed.spent_s
            if timed.seconds is None:
                raise _Unmeasurable
            seconds.append(timed.seconds / work.tokens)
        return tuple(seconds)

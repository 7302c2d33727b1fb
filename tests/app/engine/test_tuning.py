"""The search for the fastest way to run a model, on made-up machines with a clock of their own."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import pytest

from app.engine.protocol import Tuning
from app.engine.tuning import LEAST_GAIN, Found, Free, Gain, Pass, Timed, is_faster, search

START = Tuning(threads=3, threads_batch=3, flash_attention="auto", n_ubatch=512)
FREE = Free(
    threads=(4, 2, 1), threads_batch=(4, 2, 1), flash=True, n_ubatch=(128, 256, 1024), depth=4096
)
BUDGET_S = 5.0


@dataclass
class Machine:
    """Tokens per second by tuning, with noise, drift and hiccups; counts what it was asked."""

    rate: Callable[[Pass], float]
    noise: float = 0.0
    drift: float = 0.0  # slower by this part each second
    hiccup_every: int = 0
    overhead_s: float = 0.0
    refuses: Callable[[Pass], bool] = lambda _one: False
    seed: int = 1
    now_s: float = 0.0
    asked: list[Pass] = field(default_factory=list)

    def run(self, start: Tuning = START, free: Free = FREE, budget_s: float = BUDGET_S) -> Found:
        chance = random.Random(self.seed)
        steps = search(start, free, budget_s)
        one = next(steps)
        while True:
            self.asked.append(one)
            seconds: float | None = None
            if not self.refuses(one):
                seconds = one.tokens / self.rate(one) * (1 + self.drift * self.now_s)
                seconds *= max(0.1, chance.gauss(1, self.noise))
                if self.hiccup_every and len(self.asked) % self.hiccup_every == 0:
                    seconds *= 3
            self.now_s += (seconds or 0.0) + self.overhead_s
            try:
                one = steps.send(Timed(seconds, self.now_s))
            except StopIteration as end:
                found: Found = end.value
                return found


def even(one: Pass) -> float:
    """Nothing makes a difference."""
    return (100.0 if one.test == "decode" else 1000.0) / (1 + one.depth / 4096)


def by_threads(decode: dict[int, float], prefill: dict[int, float]) -> Callable[[Pass], float]:
    def rate(one: Pass) -> float:
        if one.test == "decode":
            factor = decode[one.tuning.threads]
        else:
            factor = prefill[one.tuning.threads_batch]
        return even(one) * factor

    return rate


SCALES = by_threads({1: 0.5, 2: 1.3, 3: 1.0, 4: 0.3}, {1: 0.4, 2: 0.7, 3: 1.0, 4: 1.25})


def test_the_fastest_threads_are_found_for_each_work() -> None:
    found = Machine(SCALES, noise=0.01).run()
    assert (found.tuning.threads, found.tuning.threads_batch) == (2, 4)
    assert found.tuning.flash_attention == "auto"
    assert found.tuning.n_ubatch == 512
    assert found.note == ""
    gains = {(gain.test, gain.depth): gain.after / gain.before for gain in found.gains}
    assert gains["decode", 0] == pytest.approx(1.3, rel=0.05)
    assert gains["prefill", 0] == pytest.approx(1.25, rel=0.05)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.15])
def test_where_nothing_differs_the_default_stays(seed: int, noise: float) -> None:
    assert Machine(even, noise=noise, seed=seed).run().tuning == START


@pytest.mark.parametrize("drift", [0.1, -0.08])
def test_a_machine_that_slows_down_or_speeds_up_deceives_nobody(drift: float) -> None:
    assert Machine(even, drift=drift).run().tuning == START
    assert Machine(SCALES, drift=drift).run().tuning.threads == 2


def test_a_gain_within_the_noise_is_not_taken() -> None:
    slightly = by_threads({1: 0.5, 2: 1.02, 3: 1.0, 4: 0.5}, {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0})
    assert Machine(slightly).run().tuning == START
    clearly = by_threads({1: 0.5, 2: 1.2, 3: 1.0, 4: 0.5}, {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0})
    assert Machine(clearly, noise=0.01).run().tuning.threads == 2
    chosen = [Machine(clearly, noise=0.5, seed=seed).run().tuning.threads for seed in range(20)]
    assert chosen.count(3) >= 17


def test_one_hiccup_does_not_hide_a_gain() -> None:
    taken = [
        Machine(SCALES, noise=0.01, hiccup_every=17, seed=seed).run().tuning.threads
        for seed in range(10)
    ]
    assert 4 not in taken
    assert 1 not in taken


def flash_matters(slower: str) -> Callable[[Pass], float]:
    def rate(one: Pass) -> float:
        off = one.tuning.flash_attention == "off"
        return even(one) * (0.7 if one.depth and off == (slower == "off") else 1.0)

    return rate


def test_flash_attention_is_chosen_by_what_it_does_at_depth() -> None:
    machine = Machine(flash_matters("on"), noise=0.005)
    found = machine.run()
    assert found.tuning.flash_attention == "off"
    deep = [gain for gain in found.gains if gain.depth]
    assert {gain.test for gain in deep} == {"decode", "prefill"}
    for gain in deep:
        assert gain.after / gain.before == pytest.approx(1 / 0.7, rel=0.05)
    assert all(one.depth in {0, 4096} for one in machine.asked)
    kept = Machine(flash_matters("off"), noise=0.005).run()
    assert kept.tuning == START
    assert all(gain.after == gain.before for gain in kept.gains)


def test_what_has_no_room_is_left_out() -> None:
    machine = Machine(flash_matters("on"), refuses=lambda one: one.tuning.flash_attention == "off")
    assert machine.run().tuning == START
    deep = Machine(SCALES, refuses=lambda one: one.depth > 0)
    assert deep.run().tuning.threads == 2
    assert deep.now_s < BUDGET_S


def test_a_micro_batch_is_measured_where_a_prompt_of_its_size_is_quick() -> None:
    def rate(one: Pass) -> float:
        fast = one.test == "prefill" and one.tuning.n_ubatch == 256
        return even(one) * 40 * (1.5 if fast else 1.0)

    machine = Machine(rate, noise=0.005)
    found = machine.run()
    assert found.tuning.n_ubatch == 256
    tried = {one.tokens for one in machine.asked if one.tuning.n_ubatch != 512 and not one.depth}
    assert tried >= {1024}
    slow = Machine(lambda one: rate(one) / 200, noise=0.005)
    slow.run()
    assert {one.tuning.n_ubatch for one in slow.asked} == {512}


@pytest.mark.parametrize("speed", [0.02, 0.1, 0.5, 1, 5, 50])
@pytest.mark.parametrize("overhead_s", [0.0, 0.02])
def test_the_time_is_kept(speed: float, overhead_s: float) -> None:
    machine = Machine(lambda one: SCALES(one) * speed, noise=0.02, overhead_s=overhead_s)
    machine.run()
    assert machine.now_s < BUDGET_S * 1.25
    shorter = Machine(lambda one: SCALES(one) * speed, noise=0.02, overhead_s=overhead_s)
    shorter.run(budget_s=1.0)
    longest = max(one.tokens / (SCALES(one) * speed) for one in shorter.asked)
    assert shorter.now_s < 1.5 + longest


def test_a_model_that_is_too_slow_is_left_alone_and_told() -> None:
    machine = Machine(lambda one: SCALES(one) / 300)
    found = machine.run()
    assert found.tuning == START
    assert found.note == "Writing and reading are too slow here to be measured in passing."
    assert len(machine.asked) == 1
    half = Machine(lambda one: SCALES(one) / (1 if one.test == "decode" else 20), noise=0.01)
    found = half.run()
    assert found.tuning.threads == 2
    assert found.tuning.threads_batch == 3
    assert found.note == "Reading is too slow here to be measured in passing."
    assert half.now_s < BUDGET_S


def test_what_the_user_settled_is_not_measured() -> None:
    machine = Machine(SCALES)
    found = machine.run(free=Free(threads_batch=(1, 2, 4)))
    assert found.tuning == msgspec.structs.replace(START, threads_batch=4)
    assert {one.tuning.threads for one in machine.asked} == {3}
    assert Free().nothing
    assert not FREE.nothing


def test_a_choice_that_does_not_hold_is_given_up() -> None:
    """Faster while it is tried, slower when all is measured once more."""
    first: list[Pass] = []

    def rate(one: Pass) -> float:
        first.append(one)
        tried = sum(item.tuning.threads == 2 for item in first)
        return even(one) * (1.5 if one.tuning.threads == 2 and tried <= 5 else 1.0 - tried * 0.01)

    machine = Machine(rate)
    found = machine.run(free=Free(threads=(2,)))
    assert found.tuning == START
    (gain,) = found.gains
    assert gain == Gain("decode", 0, gain.before, gain.before)


def test_faster_means_in_turn_and_beyond_the_noise() -> None:
    assert is_faster([1.0, 1.0, 1.0], [0.9, 0.9, 0.9])
    assert not is_faster([1.0, 1.0], [0.5, 0.5])  # too few
    assert not is_faster([1.0, 1.0, 1.0], [1 / (1 + LEAST_GAIN)] * 3)
    assert not is_faster([1.0, 1.0, 1.0], [0.9, 1.1, 0.9])
    assert not is_faster([1.0, 1.1, 1.0], [0.8, 1.0, 0.9])
    assert is_faster([1.0, 1.1, 1.0, 1.05, 1.0], [0.8, 0.85, 0.84, 0.83, 0.86])
    assert is_faster([1.0, 2.0, 3.0], [0.8, 1.6, 2.4])  # what slows both down is no noise

"""The worker's side of a tuning: passes of `app.engine.tuning` timed on the loaded model.

What only changes threads is measured on the model's own context. Other ways to run, and depths,
are measured on small contexts beside it, a few at a time, and only where memory allows. While a
reply would be written something else computes now and then, as the window that draws it does:
more threads than cores to spare are not faster then.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from app.engine.interface import Aborted, EngineFailure, EngineModel
from app.engine.protocol import LoadOptions, ModelInfo, Tune, TuneRow, Tuning
from app.engine.threads import clamp_threads, thread_choices
from app.engine.tuning import Found, Free, Pass, Timed, search

__all__ = ["TuneResult", "choices", "default_tuning", "run_tuning"]

_QUANTISED_OK: Final = {"f32", "f16", "bf16"}  # V caches that work without flash attention
_BASE_TOKENS: Final = 64  # really read behind which a depth is made
_MOST_TRIALS: Final = 3
_UBATCHES: Final = (128, 256, 1024)
_DEFAULT_UBATCH: Final = LoadOptions().n_ubatch
_LEAST_TOKEN: Final = 100
_DRAWN_S: Final = 0.01  # of every _FRAME_S, a share that a window needs to draw what streams in
_FRAME_S: Final = 0.04

_Key: TypeAlias = tuple[str, int, int, int]


@dataclass(frozen=True, slots=True)
class TuneResult:
    """What came out: see `protocol.Tuned`."""

    before: Tuning
    after: Tuning
    rows: tuple[TuneRow, ...]
    seconds: float
    note: str


def default_tuning(options: LoadOptions, info: ModelInfo) -> Tuning:
    """Return how a model runs if nothing was measured."""
    flash = options.flash_attention
    if flash == "off" and options.type_v not in _QUANTISED_OK:
        flash = "on"  # as the loader does
    return Tuning(
        threads=clamp_threads(options.threads),
        threads_batch=clamp_threads(options.threads_batch or options.threads),
        flash_attention=flash,
        n_ubatch=max(1, min(options.n_ubatch, options.n_batch, info.n_ctx)),
    )


def choices(options: LoadOptions, info: ModelInfo, counts: Sequence[int], depth: int) -> Free:
    """Return what may be chosen: what the options leave open and can be measured in main memory.

    Args:
        options: what the user asked for.
        info: the loaded model.
        counts: numbers of threads worth trying.
        depth: tokens behind which attention is to be measured.
    """
    default = default_tuning(options, info)
    alone = not info.devices_used
    depth = min(depth, info.n_ctx * 3 // 4) // _BASE_TOKENS * _BASE_TOKENS
    measurable = alone and info.memory == "plain" and depth >= 4 * _BASE_TOKENS
    flash = options.flash_attention == "auto" and options.type_v in _QUANTISED_OK
    ubatch = alone and options.n_ubatch == _DEFAULT_UBATCH
    return Free(
        threads=_others(counts, default.threads) if options.threads is None else (),
        threads_batch=_others(counts, default.threads_batch)
        if options.threads_batch is None and options.threads is None
        else (),
        flash=flash and measurable,
        n_ubatch=tuple(
            size for size in _UBATCHES if ubatch and size <= info.n_ctx and size != default.n_ubatch
        ),
        depth=depth if measurable else 0,
    )


def _others(counts: Sequence[int], default: int) -> tuple[int, ...]:
    """Return the counts beside the default, the nearest first: those are tried in short time."""
    others = (count for count in counts if count != default)
    return tuple(sorted(others, key=lambda count: (abs(count - default), -count)))


def run_tuning(
    model: EngineModel,
    request: Tune,
    stopped: Callable[[], bool],
    clock: Callable[[], float],
    progress: Callable[[float], None],
) -> TuneResult:
    """Find what is fastest and leave the model running so, with an empty memory.

    Raises:
        Aborted: ``stopped`` turned true; the model runs as before.
        EngineFailure: the engine failed.
    """
    began_s = clock()
    earlier = model.tuning
    default = default_tuning(request.options, model.info)
    counts = thread_choices()
    free = choices(request.options, model.info, counts, request.depth)
    note = ""
    if not request.measure:
        free = Free()
    elif model.info.layers_offloaded >= model.info.layers_total and model.info.devices_used:
        free, note = Free(), "All layers are on a GPU; the processor has nothing to choose."
    elif free.nothing:
        note = "Everything that could be measured is set by hand."
    found = Found(default, (), note)
    try:
        model.clear()
        if model.tuning != default:
            model.retune(default)
        if not free.nothing:
            found = _search(model, default, free, request.budget_s, stopped, clock, progress)
        if stopped():
            raise Aborted
        if found.tuning != model.tuning:
            model.retune(found.tuning)
    except BaseException:
        model.retune(earlier)
        raise
    finally:
        model.clear()
    rows = tuple(
        TuneRow(test=gain.test, depth=gain.depth, before=gain.before, after=gain.after)
        for gain in found.gains
    )
    return TuneResult(default, found.tuning, rows, clock() - began_s, found.note)


def _search(
    model: EngineModel,
    default: Tuning,
    free: Free,
    budget_s: float,
    stopped: Callable[[], bool],
    clock: Callable[[], float],
    progress: Callable[[float], None],
) -> Found:
    began_s = clock()
    steps = search(default, free, budget_s)
    with _timer(model, stopped, clock) as passes:
        one = next(steps)
        while True:
            seconds = passes.time(one)
            spent_s = clock() - began_s
            progress(min(spent_s / budget_s, 1.0))
            try:
                one = steps.send(Timed(seconds, spent_s))
            except StopIteration as end:
                found: Found = end.value
                return found


@contextmanager
def _timer(
    model: EngineModel, stopped: Callable[[], bool], clock: Callable[[], float]
) -> Iterator[_Timer]:
    timer = _Timer(model, stopped, clock)
    try:
        yield timer
    finally:
        timer.close()


class _Timer:
    """Times passes; keeps the contexts that were used last."""

    def __init__(
        self, model: EngineModel, stopped: Callable[[], bool], clock: Callable[[], float]
    ) -> None:
        self._model = model
        self._own = (model.tuning.flash_attention, model.tuning.n_ubatch)
        self._stopped = stopped
        self._clock = clock
        self._trials: dict[_Key, EngineModel] = {}
        self._window = _Window()
        least = min(_LEAST_TOKEN, model.info.n_vocab // 2)
        self._least, self._span = least, max(model.info.n_vocab - least, 1)

    def time(self, one: Pass) -> float | None:
        """Return the seconds of a pass, None if there is no room for it.

        Raises:
            Aborted: it was stopped.
        """
        found = self._context(one)
        if found is None:
            return None
        context, start = found
        context.retune(one.tuning)
        tokens = self._tokens(one.tokens)
        step = 1 if one.test == "decode" else one.tuning.n_ubatch
        with self._window.drawing(one.test == "decode"):
            began_s = self._clock()
            for index in range(0, len(tokens), step):
                if self._stopped():
                    raise Aborted
                context.decode(tokens[index : index + step], start + index)
            context.wait()
            seconds = self._clock() - began_s
        if start:
            context.cut(start)
        else:
            context.clear()
        return seconds

    def _context(self, one: Pass) -> tuple[EngineModel, int] | None:
        """Return where to measure, and the position to go on at."""
        way = (one.tuning.flash_attention, one.tuning.n_ubatch)
        if way == self._own and one.depth == 0:
            return self._model, 0
        start = _BASE_TOKENS if one.depth else 0
        room = one.depth + one.tokens
        key = (*way, one.depth, -(-room // 256))
        context = self._trials.pop(key, None)
        if context is None:
            while len(self._trials) >= _MOST_TRIALS:
                self._trials.pop(next(iter(self._trials))).close()
            context = self._open(one, room)
        if context is None:
            return None
        self._trials[key] = context  # the last to be given up
        return context, start

    def _open(self, one: Pass, room: int) -> EngineModel | None:
        context = self._model.trial(one.tuning, room + _BASE_TOKENS)
        if context is None:
            return None
        try:
            tokens = self._tokens(_BASE_TOKENS)
            step = one.tuning.n_ubatch
            for index in range(0, len(tokens), step):
                if self._stopped():
                    raise Aborted
                context.decode(tokens[index : index + step], index)
            context.wait()
            if one.depth == 0:
                context.clear()
            elif context.deepen(one.depth) < one.depth:
                context.close()
                return None
        except EngineFailure:
            context.close()
            return None
        except BaseException:
            context.close()
            raise
        return context

    def _tokens(self, count: int) -> list[int]:
        """Return tokens that jump about the vocabulary, the same ones every time."""
        return [self._least + (index * 7919) % self._span for index in range(count)]

    def close(self) -> None:
        """Free the contexts."""
        self._window.close()
        for context in self._trials.values():
            context.close()
        self._trials.clear()


class _Window:
    """Takes a share of a processor, as a window does that draws a reply while it is written."""

    def __init__(self) -> None:
        self._draws = threading.Event()
        self._closed = False
        self._block = bytes(1 << 18)
        self._thread = threading.Thread(target=self._run, name="window", daemon=True)
        self._thread.start()

    @contextmanager
    def drawing(self, on: bool) -> Iterator[None]:
        """Draw meanwhile, if it is to."""
        if on:
            self._draws.set()
        try:
            yield
        finally:
            self._draws.clear()

    def _run(self) -> None:
        while not self._closed:
            self._draws.wait()
            end_s = time.monotonic() + _DRAWN_S
            while time.monotonic() < end_s and not self._closed:
                hashlib.sha256(self._block)  # without Python's lock, as drawing does
            time.sleep(_FRAME_S - _DRAWN_S)

    def close(self) -> None:
        """End it."""
        self._closed = True
        self._draws.set()
        self._thread.join()

"""One measured test inside the worker: prefill or decode at a depth, of one or more sequences.

The tokens are arbitrary, nothing is drawn and nothing is sent, so the times are the engine's own.
The cache is filled to the depth outside the clock, once; each repeat is cut back to it. A first
pass warms up and is not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from app.engine.interface import Aborted, EngineFailure, EngineModel
from app.engine.protocol import Bench
from gguf_tools.units import counted

__all__ = ["run_test"]

_LEAST_TOKEN: Final = 100  # below lie special tokens in most vocabularies


def run_test(
    model: EngineModel,
    request: Bench,
    stopped: Callable[[], bool],
    *,
    filled: bool = False,
) -> tuple[float, ...]:
    """Return the seconds of each repeat.

    The memory is empty afterwards, or with `Bench.keep` as it was before the first one.
    ``filled`` tells that a test has left it so for this one.

    Raises:
        EngineFailure: the context is too small, or the engine failed.
        Aborted: ``stopped`` turned true.
    """
    info = model.info
    end = request.depth + request.tokens
    if request.tokens < 1 or request.depth < 0 or request.repeat < 1 or request.sequences < 1:
        raise EngineFailure(
            "bad_request", "A test needs at least one token, one repeat and one chat."
        )
    if end > info.n_ctx // max(request.sequences, 1):
        raise EngineFailure(
            "does_not_fit",
            f"A depth of {request.depth:,} and {counted(request.tokens, 'token')} need a context "
            f"of {end * request.sequences:,}, the model has {info.n_ctx:,}.",
        )
    tokens = _tokens(end, info.n_vocab)
    sequences = range(request.sequences)
    kept = False
    try:
        if not filled:
            model.clear()
            for sequence in sequences:
                _fill(model, tokens[: request.depth], 0, sequence, stopped)
            model.wait()
        seconds = []
        for number in range(request.repeat + 1):
            started = time.perf_counter()
            if request.test == "prefill":
                for sequence in sequences:
                    _fill(model, tokens[request.depth :], request.depth, sequence, stopped)
            else:
                for position in range(request.depth, end):
                    if stopped():
                        raise Aborted
                    model.decode_each(
                        [tokens[position]] * request.sequences,
                        [position] * request.sequences,
                        sequences,
                    )
            model.wait()
            if number:
                seconds.append(time.perf_counter() - started)
            if number < request.repeat or request.keep:
                _back(model, tokens[: request.depth], sequences, stopped)
                model.wait()
        kept = request.keep
        return tuple(seconds)
    finally:
        if not kept:
            model.clear()


def _back(
    model: EngineModel, filled: Sequence[int], sequences: range, stopped: Callable[[], bool]
) -> None:
    """Bring the memory back to the depth; what can't be cut back is filled again."""
    if filled and all(model.cut(len(filled), sequence) for sequence in sequences):
        return
    model.clear()
    for sequence in sequences:
        _fill(model, filled, 0, sequence, stopped)


def _fill(
    model: EngineModel,
    tokens: Sequence[int],
    position: int,
    sequence: int,
    stopped: Callable[[], bool],
) -> None:
    step = model.info.n_ubatch
    for start in range(0, len(tokens), step):
        if stopped():
            raise Aborted
        model.decode(tokens[start : start + step], position + start, sequence)


def _tokens(count: int, vocabulary: int) -> list[int]:
    """Return tokens that jump about the vocabulary, the same ones every time."""
    least = min(_LEAST_TOKEN, vocabulary // 2)
    span = max(vocabulary - least, 1)
    return [least + (index * 7919) % span for index in range(count)]

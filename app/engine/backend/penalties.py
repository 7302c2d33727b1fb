"""Penalties on what was said a moment ago, put on the few logits that they change.

llama.cpp's own sampler looks every entry of the vocabulary up in a table: of the 610 µs that a draw
from 150,000 entries took between real evaluations, 370 were that. Only the tokens of the window can
change, so theirs are changed in the engine's memory and put back after the draw (370 µs in all).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from app.engine.protocol import SamplingOptions

__all__ = ["Penalties", "penalises"]


def penalises(options: SamplingOptions) -> bool:
    """Tell whether options ask for penalties."""
    return bool(
        options.repeat_last_n
        and (options.repeat_penalty != 1.0 or options.frequency_penalty or options.presence_penalty)
    )


class Penalties:
    """Repeat, frequency and presence penalty over a window of drawn tokens.

    The formula is llama.cpp's (``llama_sampler_penalties_apply``, ``src/llama-sampler.cpp``): a
    logit above zero is divided by the repeat penalty, another one multiplied; then the token's
    count times the frequency penalty, and the presence penalty once, are taken off.

    Args:
        options: what was asked for; `penalises` is true of it.
        past: tokens that count as drawn before.
        size: entries of the vocabulary.
        n_ctx_train: the window that a negative ``repeat_last_n`` means.
    """

    def __init__(
        self, options: SamplingOptions, past: Iterable[int], size: int, n_ctx_train: int
    ) -> None:
        window = options.repeat_last_n if options.repeat_last_n >= 0 else n_ctx_train
        self._repeat = np.float32(options.repeat_penalty)
        self._frequency = np.float32(options.frequency_penalty)
        self._presence = np.float32(options.presence_penalty)
        self._window: deque[int] = deque()
        self._most = max(1, window)
        self._counts = np.zeros(size, np.float32)
        # The tokens of the window in any order, each once, and the place of each.
        self._tokens = np.empty(min(self._most, size), np.intp)
        self._places: dict[int, int] = {}
        for token in deque(past, self._most):
            self.accept(token)

    def accept(self, token: int) -> None:
        """Count a token as drawn; the oldest one leaves a full window."""
        if len(self._window) == self._most:
            self._forget(self._window.popleft())
        self._window.append(token)
        if token not in self._places:
            self._tokens[len(self._places)] = token
            self._places[token] = len(self._places)
        self._counts[token] += 1

    def _forget(self, token: int) -> None:
        self._counts[token] -= 1
        if self._counts[token]:
            return
        place = self._places.pop(token)
        last = len(self._places)
        if place != last:  # the last one takes its place
            moved = int(self._tokens[last])
            self._tokens[place] = moved
            self._places[moved] = place

    def apply(self, logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Change logits (vocabulary) in place; return what `restore` puts back."""
        tokens = self._tokens[: len(self._places)]
        before = logits[tokens]
        after = np.where(before <= 0, before * self._repeat, before / self._repeat)
        logits[tokens] = after - (self._counts[tokens] * self._frequency + self._presence)
        return before

    def restore(self, logits: npt.NDArray[np.float32], before: npt.NDArray[np.float32]) -> None:
        """Undo `apply`: several replies may draw from one row."""
        logits[self._tokens[: len(self._places)]] = before

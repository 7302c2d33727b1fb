"""Draws tokens: by llama.cpp's chain, from the engine's own memory; no logits come to Python.

What the chain does slowly over a large vocabulary is done here instead: penalties (see
`Penalties`), and the likeliest token, which is looked for without a list of all of them (80 µs at
150,000 entries against 270, between real evaluations). Looking for the top k so is no gain: numpy's
calls, cold after each evaluation, cost more than the list.

A grammar is checked on the drawn token first and only enforced over the whole vocabulary when
that token breaks it, as llama.cpp's own programs do: most tokens pass, and masking a vocabulary
of 150,000 entries for each would cost more than the model.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from app.engine.backend.chain import DrySamplers, make_chain, make_grammar
from app.engine.backend.library import lib
from app.engine.backend.penalties import Penalties, penalises
from app.engine.backend.vocab import LlamaVocabulary
from app.engine.protocol import SamplingOptions

__all__ = ["LlamaSampler"]

_TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class LlamaSampler:
    """`Sampler` over a llama.cpp chain; ``past`` are the tokens that penalties look back on."""

    def __init__(
        self,
        context: Any,
        vocab: LlamaVocabulary,
        options: SamplingOptions,
        past: Sequence[int],
        n_ctx_train: int,
        dry: DrySamplers,
    ) -> None:
        self._context = context
        self._size = vocab.size
        self._looks_back = options.dry_multiplier > 0  # the chain counts what is drawn
        self._greedy = options.temperature <= 0 and not self._looks_back
        self._penalties = (
            Penalties(options, past, vocab.size, n_ctx_train) if penalises(options) else None
        )
        self._grammar = make_grammar(options, vocab)
        self._chain = None if self._greedy else make_chain(options, dry, past)

    def sample(self, row: int = -1) -> int:
        """Return the next token, drawn from a row of the last batch, and count it as drawn."""
        penalties = self._penalties
        if penalties is None:
            return self._draw(row) if self._grammar is None else self._draw_allowed(row)
        logits = self._logits(row)
        before = penalties.apply(logits)
        try:
            token = self._draw(row) if self._grammar is None else self._draw_allowed(row)
        finally:
            penalties.restore(logits, before)
        penalties.accept(token)
        return token

    def _logits(self, row: int) -> npt.NDArray[np.float32]:
        """Return the logits of a row (vocabulary) as they lie in the engine's memory."""
        return np.ctypeslib.as_array(
            lib.llama_get_logits_ith(self._context, row), shape=(self._size,)
        )

    def _draw(self, row: int) -> int:
        if self._greedy:
            return int(self._logits(row).argmax())
        return int(lib.llama_sampler_sample(self._chain, self._context, row))

    def _draw_allowed(self, row: int) -> int:
        # Where the chain looks back, what is not allowed must not count as drawn.
        counted = not self._looks_back
        token = self._draw(row) if counted else self._draw_from_all(row, enforce=False)
        if not self._allowed(token):
            token = self._draw_from_all(row, enforce=True)
        lib.llama_sampler_accept(self._grammar, token)
        if self._looks_back:
            lib.llama_sampler_accept(self._chain, token)
        return token

    def _draw_from_all(self, row: int, *, enforce: bool) -> int:
        """Draw from a list of the whole vocabulary, without counting it as drawn."""
        rows = np.zeros(self._size, _TOKEN_DATA)
        rows["id"] = np.arange(self._size, dtype=np.int32)
        rows["logit"] = self._logits(row)
        candidates = _candidates(rows)
        if enforce:
            lib.llama_sampler_apply(self._grammar, ctypes.byref(candidates))
        if self._greedy:
            return int(rows["logit"].argmax())
        lib.llama_sampler_apply(self._chain, ctypes.byref(candidates))
        return int(candidates.data[candidates.selected].id)

    def _allowed(self, token: int) -> bool:
        rows = np.zeros(1, _TOKEN_DATA)
        rows["id"] = token
        rows["logit"] = 1.0
        lib.llama_sampler_apply(self._grammar, ctypes.byref(_candidates(rows)))
        return bool(np.isfinite(rows["logit"][0]))

    def close(self) -> None:
        """Free the chain."""
        for sampler in (self._grammar, self._chain):
            if sampler:
                lib.llama_sampler_free(sampler)
        self._grammar = self._chain = None


def _candidates(rows: Any) -> Any:
    array = lib.llama_token_data_array()
    array.data = rows.ctypes.data_as(lib.llama_token_data_p)
    array.size = len(rows)
    array.selected = -1
    array.sorted = False
    return array

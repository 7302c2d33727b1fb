"""The sampler chain, drawn by llama.cpp itself: no logits come to Python.

A grammar is checked on the drawn token first and only enforced over the whole vocabulary when
that token breaks it, as llama.cpp's own programs do: most tokens pass, and masking a vocabulary
of 150,000 entries for each would cost more than the model.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from app.engine.backend.library import lib
from app.engine.backend.vocab import LlamaVocabulary
from app.engine.interface import EngineFailure
from app.engine.protocol import SamplingOptions

__all__ = ["LlamaSampler"]

_DRY_BREAKERS = (b"\n", b":", b'"', b"*")
_MAX_SCHEMA_CHARS = 200_000
_TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


def _seed(options: SamplingOptions) -> int:
    return random.getrandbits(32) - 1 if options.seed is None else options.seed


class LlamaSampler:
    """`Sampler` over a llama.cpp chain: penalties, DRY, top-k, typical, top-p, min-p, XTC,
    temperature, draw, in that order.
    """

    def __init__(
        self,
        context: Any,
        vocab: LlamaVocabulary,
        options: SamplingOptions,
        past: Sequence[int],
        n_ctx_train: int,
    ) -> None:
        self._context = context
        self._vocab = vocab
        parameters = lib.llama_sampler_chain_default_params()
        parameters.no_perf = True
        self._chain = lib.llama_sampler_chain_init(parameters)
        self._grammar: Any = None
        try:
            self._fill(options, n_ctx_train)
            grammar = _grammar_text(options)
            if grammar is not None:
                self._grammar = lib.llama_sampler_init_grammar(
                    vocab.handle, grammar.encode("utf-8"), b"root"
                )
                if not self._grammar:
                    raise EngineFailure(
                        "bad_request",
                        "The grammar can't be used; correct it or remove it in the settings.",
                    )
        except BaseException:
            self.close()
            raise
        if _looks_back(options):
            for token in past[-_window(options, len(past)) :]:
                lib.llama_sampler_accept(self._chain, token)

    def _fill(self, options: SamplingOptions, n_ctx_train: int) -> None:
        add = self._add
        if (
            options.repeat_penalty != 1.0
            or options.frequency_penalty != 0.0
            or options.presence_penalty != 0.0
        ):
            last_n = options.repeat_last_n if options.repeat_last_n >= 0 else n_ctx_train
            add(
                lib.llama_sampler_init_penalties(
                    self._vocab.size,
                    last_n,
                    options.repeat_penalty,
                    options.frequency_penalty,
                    options.presence_penalty,
                )
            )
        if options.dry_multiplier > 0:
            breakers = (ctypes.c_char_p * len(_DRY_BREAKERS))(*_DRY_BREAKERS)
            last_n = options.dry_penalty_last_n if options.dry_penalty_last_n >= 0 else n_ctx_train
            add(
                lib.llama_sampler_init_dry(
                    self._vocab.handle,
                    options.dry_multiplier,
                    options.dry_base,
                    options.dry_allowed_length,
                    last_n,
                    breakers,
                    len(_DRY_BREAKERS),
                )
            )
        if options.temperature <= 0:
            add(lib.llama_sampler_init_greedy())
            return
        if options.top_k > 0:
            add(lib.llama_sampler_init_top_k(options.top_k))
        if options.typical_p < 1:
            add(lib.llama_sampler_init_typical(options.typical_p, 1))
        if options.top_p < 1:
            add(lib.llama_sampler_init_top_p(options.top_p, 1))
        if options.min_p > 0:
            add(lib.llama_sampler_init_min_p(options.min_p, 1))
        seed = _seed(options)
        if options.xtc_probability > 0:
            add(lib.llama_sampler_init_xtc(options.xtc_probability, options.xtc_threshold, 1, seed))
        add(lib.llama_sampler_init_temp(options.temperature))
        add(lib.llama_sampler_init_dist(seed))

    def _add(self, sampler: Any) -> None:
        lib.llama_sampler_chain_add(self._chain, sampler)

    def sample(self, row: int = -1) -> int:
        """Return the next token, drawn from a row of the last batch, and count it as drawn."""
        if self._grammar is None:
            return int(lib.llama_sampler_sample(self._chain, self._context, row))
        token = self._draw(row, enforce=False)
        if not self._allowed(token):
            token = self._draw(row, enforce=True)
        lib.llama_sampler_accept(self._grammar, token)
        lib.llama_sampler_accept(self._chain, token)
        return token

    def _draw(self, row: int, *, enforce: bool) -> int:
        logits = np.ctypeslib.as_array(
            lib.llama_get_logits_ith(self._context, row), (self._vocab.size,)
        )
        rows = np.zeros(self._vocab.size, _TOKEN_DATA)
        rows["id"] = np.arange(self._vocab.size, dtype=np.int32)
        rows["logit"] = logits
        candidates = _candidates(rows)
        if enforce:
            lib.llama_sampler_apply(self._grammar, ctypes.byref(candidates))
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
        if self._grammar:
            lib.llama_sampler_free(self._grammar)
            self._grammar = None
        if self._chain:
            lib.llama_sampler_free(self._chain)
            self._chain = None


def _candidates(rows: Any) -> Any:
    array = lib.llama_token_data_array()
    array.data = rows.ctypes.data_as(lib.llama_token_data_p)
    array.size = len(rows)
    array.selected = -1
    array.sorted = False
    return array


def _looks_back(options: SamplingOptions) -> bool:
    return (
        options.dry_multiplier > 0
        or options.repeat_penalty != 1.0
        or options.frequency_penalty != 0.0
        or options.presence_penalty != 0.0
    )


def _window(options: SamplingOptions, available: int) -> int:
    """Return how many past tokens the samplers look at."""
    windows = [options.repeat_last_n]
    if options.dry_multiplier > 0:
        windows.append(options.dry_penalty_last_n)
    if any(window < 0 for window in windows):
        return max(1, available)
    return max(1, *windows)


def _grammar_text(options: SamplingOptions) -> str | None:
    if options.grammar:
        return options.grammar
    if not options.json_schema:
        return None
    if len(options.json_schema) > _MAX_SCHEMA_CHARS:
        raise EngineFailure(
            "bad_request",
            f"The JSON schema has {len(options.json_schema):,} characters; "
            f"at most {_MAX_SCHEMA_CHARS:,} can be used.",
        )
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    try:
        return str(json_schema_to_gbnf(options.json_schema))
    except Exception as error:  # the converter raises whatever its input makes it trip over
        raise EngineFailure(
            "bad_request", f"The JSON schema can't be used: {type(error).__name__}: {error}"
        ) from error

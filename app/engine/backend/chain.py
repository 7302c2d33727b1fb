"""llama.cpp's samplers in their order, and the grammar that may stand beside them."""

from __future__ import annotations

import ctypes
import json
import random
from collections.abc import Sequence
from typing import Any, Final

from app.engine.backend.library import lib
from app.engine.backend.vocab import LlamaVocabulary
from app.engine.interface import EngineFailure
from app.engine.protocol import SamplingOptions

__all__ = ["DrySamplers", "make_chain", "make_grammar"]

_DRY_BREAKERS: Final = (b"\n", b":", b'"', b"*")
_MAX_SCHEMA_CHARS: Final = 200_000
_MOST_DRY: Final = 4


class DrySamplers:
    """Makes DRY samplers of one model.

    A new one searches the vocabulary for its sequence breakers (37 ms at 150,000 entries), so each
    is made once and copied (0.1 ms).
    """

    def __init__(self, vocab: LlamaVocabulary, n_ctx_train: int) -> None:
        self._vocab = vocab
        self._n_ctx_train = n_ctx_train
        self._made: dict[tuple[float, float, int, int], Any] = {}

    def make(self, options: SamplingOptions) -> Any:
        """Return a sampler of the caller's own, which has seen no tokens."""
        window = options.dry_penalty_last_n
        key = (
            options.dry_multiplier,
            options.dry_base,
            options.dry_allowed_length,
            window if window >= 0 else self._n_ctx_train,
        )
        if key not in self._made:
            if len(self._made) >= _MOST_DRY:
                self.close()
            breakers = (ctypes.c_char_p * len(_DRY_BREAKERS))(*_DRY_BREAKERS)
            self._made[key] = lib.llama_sampler_init_dry(
                self._vocab.handle, *key, breakers, len(_DRY_BREAKERS)
            )
        return lib.llama_sampler_clone(self._made[key])

    def close(self) -> None:
        """Free those that copies are made of."""
        for sampler in self._made.values():
            lib.llama_sampler_free(sampler)
        self._made.clear()


def make_chain(options: SamplingOptions, dry: DrySamplers, past: Sequence[int]) -> Any:
    """Return a chain: DRY, top-k, typical, top-p, min-p, XTC, temperature, draw, in that order.

    DRY has seen ``past``. Penalties stand before all of these and are `Penalties`' work.
    """
    parameters = lib.llama_sampler_chain_default_params()
    parameters.no_perf = True
    chain = lib.llama_sampler_chain_init(parameters)

    def add(sampler: Any) -> None:
        lib.llama_sampler_chain_add(chain, sampler)

    if options.dry_multiplier > 0:
        add(dry.make(options))
        window = options.dry_penalty_last_n
        for token in past if window < 0 else past[len(past) - min(window, len(past)) :]:
            lib.llama_sampler_accept(chain, token)
    if options.temperature <= 0:
        add(lib.llama_sampler_init_greedy())
        return chain
    if options.top_k > 0:
        add(lib.llama_sampler_init_top_k(options.top_k))
    if options.typical_p < 1:
        add(lib.llama_sampler_init_typical(options.typical_p, 1))
    if options.top_p < 1:
        add(lib.llama_sampler_init_top_p(options.top_p, 1))
    if options.min_p > 0:
        add(lib.llama_sampler_init_min_p(options.min_p, 1))
    seed = random.getrandbits(32) - 1 if options.seed is None else options.seed
    if options.xtc_probability > 0:
        add(lib.llama_sampler_init_xtc(options.xtc_probability, options.xtc_threshold, 1, seed))
    add(lib.llama_sampler_init_temp(options.temperature))
    add(lib.llama_sampler_init_dist(seed))
    return chain


def make_grammar(options: SamplingOptions, vocab: LlamaVocabulary) -> Any:
    """Return a sampler that forbids what breaks the grammar or schema, None if there is none.

    Raises:
        EngineFailure: it is no grammar, or no schema.
    """
    text = options.grammar or _schema_grammar(options)
    if not text:
        return None
    grammar = lib.llama_sampler_init_grammar(vocab.handle, text.encode("utf-8"), b"root")
    if not grammar:
        raise EngineFailure(
            "bad_request",
            "The grammar can't be read: written as llama.cpp's GBNF it must have a rule 'root' and "
            "every rule that is named in another. Correct it, or leave it out.",
        )
    return grammar


def _schema_grammar(options: SamplingOptions) -> str | None:
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
        json.loads(options.json_schema)
    except (ValueError, RecursionError) as error:
        raise EngineFailure(
            "bad_request", f"The JSON schema is not JSON: {error}. Correct it, or leave it out."
        ) from error
    try:
        return str(json_schema_to_gbnf(options.json_schema))
    except Exception as error:  # the converter raises whatever its input makes it trip over
        raise EngineFailure(
            "bad_request",
            f"The JSON schema asks for what can't be made a grammar ({error}). Simplify it, or "
            "leave it out.",
        ) from error

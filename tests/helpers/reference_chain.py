"""Draws by llama.cpp's own chain alone, beside the program's sampler, from the same rows.

A child process evaluates a prompt and goes on with what the reference draws, so that both see the
same logits at each step. The answer has both lists of tokens, and whether a draw left the engine's
logits as they were.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from app.engine.protocol import LoadOptions, SamplingOptions

__all__ = ["DrawnTwice", "draw_twice"]


@dataclass(frozen=True, slots=True)
class DrawnTwice:
    """Tokens of the program's sampler, of llama.cpp's chain, and whether logits were left alone."""

    own: list[int]
    reference: list[int]
    untouched: bool


def draw_twice(
    model: Path, options: list[SamplingOptions], *, past: list[int], tokens: int
) -> list[DrawnTwice]:
    """Return what both draw by each of ``options`` after the prompt ``past``."""
    asked = {
        "model": str(model),
        "options": msgspec.to_builtins(options),
        "past": past,
        "tokens": tokens,
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.reference_chain"],
        input=json.dumps(asked),
        text=True,
        check=True,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    return [DrawnTwice(**one) for one in json.loads(done.stdout)]


def _reference(lib: Any, model: Any, options: SamplingOptions, past: list[int]) -> Any:
    chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
    parts = []
    window = options.repeat_last_n if options.repeat_last_n >= 0 else model.info.n_ctx_train
    parts.append(
        lib.llama_sampler_init_penalties(
            model.info.n_vocab,
            window,
            options.repeat_penalty,
            options.frequency_penalty,
            options.presence_penalty,
        )
    )
    if options.dry_multiplier > 0:
        breakers = (ctypes.c_char_p * 4)(b"\n", b":", b'"', b"*")
        parts.append(
            lib.llama_sampler_init_dry(
                model.vocab.handle,
                options.dry_multiplier,
                options.dry_base,
                options.dry_allowed_length,
                model.info.n_ctx_train,
                breakers,
                4,
            )
        )
    if options.temperature <= 0:
        parts.append(lib.llama_sampler_init_greedy())
    else:
        if options.top_k > 0:
            parts.append(lib.llama_sampler_init_top_k(options.top_k))
        parts.append(lib.llama_sampler_init_top_p(options.top_p, 1))
        parts.append(lib.llama_sampler_init_min_p(options.min_p, 1))
        parts.append(lib.llama_sampler_init_temp(options.temperature))
        parts.append(lib.llama_sampler_init_dist(options.seed))
    for part in parts:
        lib.llama_sampler_chain_add(chain, part)
    for token in past:
        lib.llama_sampler_accept(chain, token)
    return chain


def _main() -> None:
    from app.engine.backend.engine import LlamaEngine
    from app.engine.backend.library import lib

    asked = json.load(sys.stdin)
    engine = LlamaEngine(())
    # Without the buffers that stop some processors; see `app.engine.backend.repacking`.
    load = LoadOptions(n_ctx=1024, threads=1, compatibility=True)
    model: Any = engine.load(asked["model"], load, lambda _fraction: True)
    answers = []
    for options in msgspec.convert(asked["options"], list[SamplingOptions]):
        past = list(asked["past"])
        model.clear()
        model.decode(past, 0)
        reference, own = _reference(lib, model, options, past), model.sampler(options, past)
        answer = DrawnTwice([], [], untouched=True)
        for position in range(len(past), len(past) + asked["tokens"]):
            row = np.ctypeslib.as_array(
                lib.llama_get_logits_ith(model._context, -1), (model.info.n_vocab,)
            )
            before = row.copy()
            answer.own.append(own.sample())
            same = answer.untouched and bool((row == before).all())
            token = lib.llama_sampler_sample(reference, model._context, -1)
            answer = DrawnTwice(answer.own, [*answer.reference, token], untouched=same)
            model.decode((token,), position)
        lib.llama_sampler_free(reference)
        own.close()
        answers.append(
            {"own": answer.own, "reference": answer.reference, "untouched": answer.untouched}
        )
    model.close()
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    _main()

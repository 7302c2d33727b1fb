"""Logits of every position of a text, straight from llama.cpp: what figures are checked against.

Nothing of the program is used but the file's path: a child process loads the model, cuts the text
into chunks as llama.cpp's perplexity tool does, evaluates each chunk in one batch and writes tokens
and logits to an .npz file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["RawLogits", "raw_logits"]


@dataclass(frozen=True, slots=True)
class RawLogits:
    """``tokens`` (chunks, chunk) and ``logits`` (chunks, chunk, vocabulary)."""

    tokens: npt.NDArray[np.int32]
    logits: npt.NDArray[np.float32]


def raw_logits(model: Path, text: str, chunk: int, chunks: int, scratch: Path) -> RawLogits:
    """Return the logits of a text's first chunks."""
    asked = {"model": str(model), "text": text, "chunk": chunk, "chunks": chunks}
    asked["out"] = str(scratch / "logits.npz")
    subprocess.run(
        [sys.executable, "-m", "tests.helpers.raw_logits"],
        input=json.dumps(asked),
        text=True,
        check=True,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    with np.load(scratch / "logits.npz") as found:
        return RawLogits(found["tokens"], found["logits"])


def _main() -> None:
    import llama_cpp as lib

    asked = json.load(sys.stdin)
    size, count = asked["chunk"], asked["chunks"]
    parameters = lib.llama_model_default_params()
    parameters.use_extra_bufts = False
    model = lib.llama_model_load_from_file(asked["model"].encode(), parameters)
    vocab = lib.llama_model_get_vocab(model)
    data = asked["text"].encode()
    buffer = (lib.llama_token * (len(data) + 8))()
    found = lib.llama_tokenize(vocab, data, len(data), buffer, len(buffer), True, False)
    tokens = np.array(buffer[: size * count], dtype=np.int32).reshape(count, size)
    assert found >= size * count, "the text is too short"
    if lib.llama_vocab_get_add_bos(vocab):
        tokens[:, 0] = lib.llama_vocab_bos(vocab)
    context_parameters = lib.llama_context_default_params()
    context_parameters.n_ctx = size
    context_parameters.n_batch = context_parameters.n_ubatch = size
    context_parameters.n_outputs_max = size
    context_parameters.flash_attn_type = 0  # off: see test_scoring
    context_parameters.n_threads = context_parameters.n_threads_batch = 1
    context = lib.llama_init_from_model(model, context_parameters)
    vocabulary = lib.llama_vocab_n_tokens(vocab)
    logits = np.empty((count, size, vocabulary), dtype=np.float32)
    batch = lib.llama_batch_init(size, 0, 1)
    for index in range(count):
        lib.llama_memory_clear(lib.llama_get_memory(context), True)
        batch.n_tokens = size
        for place in range(size):
            batch.token[place] = int(tokens[index, place])
            batch.pos[place] = place
            batch.n_seq_id[place] = 1
            batch.seq_id[place][0] = 0
            batch.logits[place] = 1
        assert lib.llama_decode(context, batch) == 0
        for place in range(size):
            row = lib.llama_get_logits_ith(context, place)
            logits[index, place] = np.ctypeslib.as_array(row, shape=(vocabulary,))
    np.savez(asked["out"], tokens=tokens, logits=logits)


if __name__ == "__main__":
    _main()

"""The loop of a reply over llama.cpp, in this process: what no message can show."""

from __future__ import annotations

import time
from pathlib import Path

from app.engine.backend.engine import LlamaEngine
from app.engine.cache import PrefixCache
from app.engine.generation import Generation
from app.engine.protocol import LoadOptions, SamplingOptions
from app.engine.reply import Listener
from app.engine.text.reply import ReplyText
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model


class _Reads(Listener):
    """Notes how far the prompt was read."""

    def __init__(self) -> None:
        self.done: list[int] = []

    def prefilled(self, done_tokens: int, total_tokens: int) -> None:
        self.done.append(done_tokens)


def test_stop_is_heard_between_micro_batches_of_a_device_that_cannot_be_interrupted(
    tmp_path: Path,
) -> None:
    """llama.cpp leaves a computation early on the CPU alone; here nobody asks it to."""
    path = write_tiny_model(tmp_path / "tiny.gguf", TinyModel())
    options = LoadOptions(n_ctx=1024, n_batch=32, n_ubatch=32)
    model = LlamaEngine().load(str(path), options, lambda _fraction: True)
    try:
        cache, listener = PrefixCache(model), _Reads()
        (outcome,) = Generation(model, cache, listener, lambda: len(listener.done) >= 2).run(
            list(range(5, 305)),
            [ReplyText()],
            SamplingOptions(),
            is_markup=lambda _token: False,
            received_s=time.monotonic(),
            render_s=0.0,
        )
    finally:
        model.close()
    assert listener.done == [32, 64]
    assert outcome.stop == "stopped"
    assert outcome.stats.evaluated_tokens == len(cache) == 64
    assert outcome.kept_tokens == []

"""A loaded model: one context, its memory, and small contexts beside it to measure with."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from app.engine.backend.chain import DrySamplers
from app.engine.backend.context import Settled
from app.engine.backend.library import give_back_memory, lib
from app.engine.backend.retuning import (
    Contexts,
    as_settled,
    fits,
    retuned_info,
    trial_settings,
    tuning_of,
)
from app.engine.backend.sampler import LlamaSampler
from app.engine.backend.vocab import LlamaVocabulary
from app.engine.interface import Aborted, Checkpoint, EngineFailure, MemoryKind
from app.engine.protocol import ModelInfo, SamplingOptions, Tuning

__all__ = ["LlamaModel", "memory_kind", "metadata"]

_SEQUENCE = 0
_COPIED = 1  # sequence that copies of the first one pass through
_ABORTED = 2
_NO_SLOT = 1
_NO_MEMORY = -2
_PARTIAL = 1  # LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY: the sliding or recurrent part


def metadata(model: Any, key: str) -> str | None:
    """Return a metadata value as text, None if the file has no such key.

    Bytes that are no UTF-8 become replacement marks: one bad byte must not lose the rest.
    """
    size = 256
    while True:
        buffer = ctypes.create_string_buffer(size)
        length = lib.llama_model_meta_val_str(model, key.encode("utf-8"), buffer, size)
        if length < 0:
            return None
        if length < size:
            return buffer.raw[:length].decode("utf-8", "replace")
        size = length + 1


def memory_kind(model: Any, *, swa_full: bool) -> MemoryKind:
    """Return how a model's memory behaves when it is cut back."""
    if lib.llama_model_is_hybrid(model):
        return "hybrid"
    if lib.llama_model_is_recurrent(model):
        return "recurrent"
    if lib.llama_model_n_swa(model) > 0 and not swa_full:
        return "sliding"
    return "plain"


class LlamaModel:
    """`EngineModel` over llama.cpp. ``owns`` False leaves the weights to another one."""

    def __init__(
        self,
        model: Any,
        context: Any,
        vocab: LlamaVocabulary,
        info: ModelInfo,
        template_source: str | None,
        settled: Settled,
        contexts: Contexts,
        *,
        owns: bool = True,
    ) -> None:
        self._model = model
        self._settled = settled
        self._contexts = contexts
        self._owns = owns
        self._flag = contexts.flag
        self.vocab = vocab
        self.info = info
        self.memory: MemoryKind = info.memory
        self.template_source = template_source
        self._dry = DrySamplers(vocab, info.n_ctx_train)
        self._take(context)

    def _take(self, context: Any) -> None:
        """Work with a context, and with a batch of its size."""
        self.outputs = self._settled.outputs
        self._context = context
        self._memory = lib.llama_get_memory(context)
        room = max(1, self._settled.n_ubatch, lib.llama_n_seq_max(context))
        self._batch = lib.llama_batch_init(room, 0, 1)
        for index in range(room):
            self._batch.n_seq_id[index] = 1
            self._batch.seq_id[index][0] = _SEQUENCE
            self._batch.logits[index] = 0
        self._room = room
        self._sequence = _SEQUENCE  # that the batch is labelled with

    # --- other ways to run

    @property
    def tuning(self) -> Tuning:
        """How it runs now."""
        return tuning_of(self._settled)

    def retune(self, tuning: Tuning) -> None:
        """Run it another way. See `EngineModel.retune`."""
        before, wanted = self._settled, as_settled(self._settled, tuning)
        self._settled = wanted
        if (wanted.options, wanted.n_ubatch) == (before.options, before.n_ubatch):
            lib.llama_set_n_threads(self._context, wanted.threads, wanted.threads_batch)
            self.info = retuned_info(self.info, wanted, None)
            return
        self._free_context()
        context = self._contexts.make(self._model, wanted)
        if context is None:
            self._settled = before
            context = self._contexts.make(self._model, before)
            if context is None:
                raise EngineFailure("out_of_memory", "There is no memory for the context any more.")
            self._take(context)
            raise EngineFailure("out_of_memory", "There is not enough memory to run it so.")
        self._take(context)
        self.info = retuned_info(self.info, wanted, self._contexts)

    def trial(self, tuning: Tuning, n_ctx: int) -> LlamaModel | None:
        """Return a second context over the same weights. See `EngineModel.trial`."""
        settled = trial_settings(self._settled, tuning, n_ctx)
        if self.info.devices_used or not fits(self._model, self.info, settled):
            return None
        context = self._contexts.make(self._model, settled)
        if context is None:
            return None
        info = msgspec.structs.replace(
            retuned_info(self.info, settled, self._contexts), n_ctx=settled.n_ctx
        )
        return LlamaModel(
            self._model, context, self.vocab, info, None, settled, self._contexts, owns=False
        )

    def deepen(self, tokens: int) -> int:
        """Fill the memory by repeating what it holds. See `EngineModel.deepen`.

        A copy of the state goes to another sequence, whose cells are then given to the first one:
        the same positions again, which all later tokens attend to.
        """
        size = lib.llama_state_seq_get_size(self._context, _SEQUENCE)
        state = (ctypes.c_uint8 * size)()
        held = copied = int(lib.llama_memory_seq_pos_max(self._memory, _SEQUENCE)) + 1
        if lib.llama_state_seq_get_data(self._context, state, size, _SEQUENCE) != size:
            return held
        while copied and held + copied <= tokens:
            if not lib.llama_state_seq_set_data(self._context, state, size, _COPIED):
                break
            lib.llama_memory_seq_cp(self._memory, _COPIED, _SEQUENCE, -1, -1)
            self.drop(_COPIED)
            held += copied
        return held

    def decode(self, tokens: Sequence[int], position: int, sequence: int = 0) -> None:
        """Evaluate tokens (at most ``info.n_ubatch``) at a position; logits of the last one."""
        batch = self._fill(tokens, position, sequence)
        count = len(tokens)
        batch.logits[count - 1] = 1
        code = lib.llama_decode(self._context, batch)
        batch.logits[count - 1] = 0
        self._check(code)

    def _fill(self, tokens: Sequence[int], position: int, sequence: int) -> Any:
        """Return the batch with tokens of one sequence in a row."""
        batch = self._batch
        batch.n_tokens = len(tokens)
        for index, token in enumerate(tokens):
            batch.token[index] = token
            batch.pos[index] = position + index
        if sequence != self._sequence:
            self._sequence = sequence
            for index in range(self._room):
                batch.seq_id[index][0] = sequence
        return batch

    def decode_each(
        self, tokens: Sequence[int], positions: Sequence[int], sequences: Sequence[int]
    ) -> None:
        """Evaluate one token of each of some sequences in one batch; logits of every row."""
        batch = self._batch
        count = len(tokens)
        batch.n_tokens = count
        for index in range(count):
            batch.token[index] = tokens[index]
            batch.pos[index] = positions[index]
            batch.seq_id[index][0] = sequences[index]
            batch.logits[index] = 1
        code = lib.llama_decode(self._context, batch)
        for index in range(count):
            batch.seq_id[index][0] = self._sequence
            batch.logits[index] = 0
        self.wait()  # as whoever draws from the logits would
        self._check(code)

    def fork(self, count: int) -> None:
        """Let sequences 1 to ``count`` - 1 begin with everything that sequence 0 holds."""
        for sequence in range(1, count):
            self.drop(sequence)
            lib.llama_memory_seq_cp(self._memory, _SEQUENCE, sequence, -1, -1)

    def drop(self, sequence: int) -> None:
        """Forget a sequence."""
        lib.llama_memory_seq_rm(self._memory, sequence, -1, -1)

    def logits(self, tokens: Sequence[int], position: int) -> npt.NDArray[np.float32]:
        """Evaluate tokens (at most `outputs`) at a position; return the logits of every one."""
        batch = self._fill(tokens, position, _SEQUENCE)
        count = len(tokens)
        for index in range(count):
            batch.logits[index] = 1
        code = lib.llama_decode(self._context, batch)
        for index in range(count):
            batch.logits[index] = 0
        self._check(code)
        return np.ctypeslib.as_array(
            lib.llama_get_logits(self._context), shape=(count, self.info.n_vocab)
        )

    def wait(self) -> None:
        """Return when everything asked so far is computed."""
        lib.llama_synchronize(self._context)

    def _check(self, code: int) -> None:
        """Turn a return code of ``llama_decode`` into an exception."""
        if code == 0:
            return
        if code == _ABORTED:
            raise Aborted
        if code == _NO_SLOT:
            raise EngineFailure(
                "does_not_fit",
                "The KV cache has no room for more tokens; raise the context or start a new chat.",
            )
        if code == _NO_MEMORY:
            raise EngineFailure(
                "out_of_memory",
                "The engine ran out of memory while evaluating.",
                ("Use a smaller context", "Put fewer layers on the GPU", "Use a smaller KV type"),
            )
        raise EngineFailure("engine", f"llama.cpp could not evaluate the prompt (code {code}).")

    def cut(self, tokens: int, sequence: int = 0) -> bool:
        """Forget everything from a position on; False if this memory can't."""
        return bool(lib.llama_memory_seq_rm(self._memory, sequence, tokens, -1))

    def oldest_position(self) -> int:
        """Return the lowest position that the memory still holds."""
        return int(lib.llama_memory_seq_pos_min(self._memory, _SEQUENCE))

    def clear(self) -> None:
        """Forget everything."""
        lib.llama_memory_clear(self._memory, False)

    def checkpoint(self, tokens: int) -> Checkpoint | None:
        """Return the state of the part that can't be cut back, None if there is none."""
        if self.memory in {"plain", "none"}:
            return None
        size = lib.llama_state_seq_get_size_ext(self._context, _SEQUENCE, _PARTIAL)
        if size == 0:
            return None
        buffer = (ctypes.c_uint8 * size)()
        written = lib.llama_state_seq_get_data_ext(self._context, buffer, size, _SEQUENCE, _PARTIAL)
        return Checkpoint(tokens, bytes(buffer)) if written == size else None

    def restore(self, checkpoint: Checkpoint) -> bool:
        """Go back to a checkpoint; False if the engine refused."""
        size = len(checkpoint.data)
        buffer = (ctypes.c_uint8 * size).from_buffer_copy(checkpoint.data)
        read = lib.llama_state_seq_set_data_ext(self._context, buffer, size, _SEQUENCE, _PARTIAL)
        return read == size and self.cut(checkpoint.tokens)

    def sampler(self, options: SamplingOptions, context: Sequence[int]) -> LlamaSampler:
        """Build a chain over the last decoded position."""
        return LlamaSampler(
            self._context, self.vocab, options, context, self.info.n_ctx_train, self._dry
        )

    def abort(self, on: bool) -> None:
        """Make a running `decode` (of another thread) and later ones end early."""
        self._flag.set(on)

    @property
    def closed(self) -> bool:
        """Tell whether context and model are freed."""
        return self._context is None

    def close(self) -> None:
        """Free context and model; calls after this do nothing."""
        if self._context is None:
            return
        self._dry.close()
        self._free_context()
        if self._owns:
            lib.llama_model_free(self._model)
        self._model = None
        give_back_memory()

    def _free_context(self) -> None:
        lib.llama_batch_free(self._batch)
        lib.llama_free(self._context)
        self._context = None

"""The fake engine's model: a memory that behaves like a real one, at the pace of the script."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from app.engine.fake.script import Script, ScriptClock
from app.engine.fake.vocabulary import FakeSampler, FakeVocabulary
from app.engine.interface import (
    Aborted,
    Checkpoint,
    EngineFailure,
    MemoryKind,
)
from app.engine.protocol import (
    ModelInfo,
    SamplingOptions,
    Tuning,
)

__all__ = ["FakeModel"]


class FakeModel:
    """`EngineModel` that follows a script."""

    def __init__(self, script: Script, info: ModelInfo, tuning: Tuning, clock: ScriptClock) -> None:
        self._script = script
        self.info = info
        self.tuning = tuning
        self._clock = clock
        self._trials: list[FakeModel] = []
        self.vocab = FakeVocabulary()
        self.memory: MemoryKind = script.memory
        self.template_source = script.template
        self._tokens: list[int] = []
        self._oldest = 0
        self._abort = False
        self._replies = 0
        self._decoded = 0
        self._due_s = 0.0

    def decode(self, tokens: Sequence[int], position: int, sequence: int = 0) -> None:
        """Take tokens into the memory at the pace of the script."""
        if sequence:
            return  # the other sequences of a benchmark are not kept
        if position != len(self._tokens):
            raise EngineFailure(
                "engine", f"position {position} does not follow {len(self._tokens)} cached tokens"
            )
        if position + len(tokens) > self.info.n_ctx:
            raise EngineFailure("does_not_fit", "The KV cache has no room for more tokens.")
        script = self._script
        self._decoded += len(tokens)
        if script.decode_fails_after is not None and self._decoded > script.decode_fails_after:
            raise EngineFailure("out_of_memory", "The engine ran out of memory while evaluating.")
        rate = script.decode_per_s if len(tokens) == 1 else script.prefill_per_s
        if rate:
            rate *= self._speed()
        if rate and self._clock.pass_by(len(tokens) / rate):
            pass
        elif rate:
            # Against a schedule, or the sleeps' overshoot would add up.
            now = time.monotonic()
            self._due_s = max(self._due_s, now - 0.05) + len(tokens) / rate
            while (now := time.monotonic()) < self._due_s:
                if self._abort:
                    raise Aborted
                time.sleep(min(0.01, self._due_s - now))
        if self._abort:
            raise Aborted
        self._tokens.extend(tokens)
        if self.memory == "sliding":
            kept = script.swa_window + self.info.n_ubatch
            self._oldest = max(self._oldest, len(self._tokens) - kept)

    def _speed(self) -> float:
        values = msgspec.to_builtins(self.tuning)
        speed = 1.0
        for setting, factor in self._script.speeds.items():
            name, _, value = setting.partition("=")
            speed *= factor if str(values.get(name)) == value else 1.0
        return speed

    def retune(self, tuning: Tuning) -> None:
        """Run another way; `info` says so."""
        self.tuning = tuning
        self.info = msgspec.structs.replace(
            self.info,
            threads=tuning.threads,
            threads_batch=tuning.threads_batch,
            flash_attention=tuning.flash_attention != "off",
            n_ubatch=tuning.n_ubatch,
        )

    def trial(self, tuning: Tuning, n_ctx: int) -> FakeModel:
        """Return a second model that follows the same script."""
        trial = FakeModel(self._script, self.info, tuning, self._clock)
        self._trials.append(trial)
        return trial

    def deepen(self, tokens: int) -> int:
        """Return the depth asked for: nothing is copied."""
        return tokens

    def decode_each(
        self, tokens: Sequence[int], positions: Sequence[int], sequences: Sequence[int]
    ) -> None:
        """Take one token of each sequence; those beside the first take no memory."""
        if 0 in sequences:
            row = list(sequences).index(0)
            self.decode((tokens[row],), positions[row])
        elif self._script.decode_per_s:
            time.sleep(1 / self._script.decode_per_s)
        if self._abort:
            raise Aborted

    outputs = 1

    def logits(self, tokens: Sequence[int], position: int) -> npt.NDArray[np.float32]:
        """Refuse: nothing is computed."""
        raise EngineFailure("engine", "The scripted engine has no logits.")

    def fork(self, count: int) -> None:
        """Do nothing: other sequences are not kept."""
        return

    def drop(self, sequence: int) -> None:
        """Do nothing: other sequences are not kept."""
        return

    def wait(self) -> None:
        """Return at once: nothing runs beside."""
        return

    def cut(self, tokens: int, sequence: int = 0) -> bool:
        """Forget from a position on, where this kind of memory can."""
        if self.memory in {"recurrent", "hybrid"} and tokens < len(self._tokens):
            return False
        self._tokens = self._tokens[:tokens]
        return True

    def oldest_position(self) -> int:
        """Return the lowest position still held."""
        return self._oldest

    def clear(self) -> None:
        """Forget everything."""
        self._tokens = []
        self._oldest = 0

    def checkpoint(self, tokens: int) -> Checkpoint | None:
        """Return what the memory holds, where it needs checkpoints."""
        if self.memory == "plain" or tokens != len(self._tokens):
            return None
        return Checkpoint(tokens, msgspec.json.encode([self._oldest, self._tokens]))

    def restore(self, checkpoint: Checkpoint) -> bool:
        """Hold what a checkpoint held."""
        self._oldest, self._tokens = msgspec.json.decode(
            checkpoint.data, type=tuple[int, list[int]]
        )
        return True

    def sampler(self, options: SamplingOptions, context: Sequence[int]) -> FakeSampler:
        """Return draws of the script's next reply."""
        reply = self._script.replies[self._replies % len(self._script.replies)]
        self._replies += 1
        if isinstance(reply, str):
            tokens = self.vocab.words(reply)
        else:
            tokens = [
                self.vocab.token(
                    piece.encode() if isinstance(piece, str) else bytes.fromhex(piece["hex"])
                )
                for piece in reply
            ]
        return FakeSampler(tokens, repeat=self._script.repeat)

    def abort(self, on: bool) -> None:
        """Make evaluations end early, or no longer."""
        self._abort = on
        for trial in self._trials:
            trial.abort(on)

    def close(self) -> None:
        """Forget everything."""
        self._tokens = []

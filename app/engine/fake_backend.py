"""A scripted engine behind the same worker: for tests, and to try the window without a model.

It replaces llama.cpp alone. Templates, prefix reuse, trimming, the decode loop, text and the
protocol are the real ones. The script is a JSON file named by ``PLIMSOLL_FAKE_ENGINE``; see
`Script` for what it can say.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from app.engine.interface import (
    Aborted,
    Checkpoint,
    DryRunResult,
    EngineFailure,
    MemoryKind,
    QuantizeJob,
)
from app.engine.protocol import (
    DeviceInfo,
    EngineBuffer,
    LoadOptions,
    ModelInfo,
    RemoteInfo,
    SamplingOptions,
    Tuning,
)

__all__ = ["FakeEngine", "Script"]

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_SPECIALS = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
_END = 1
_WORDS = re.compile(r"\s?\S{1,6}|\s")


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """What the fake does. Rates of None take no time.

    ``replies`` are given in turn; each is a text, or a list of token pieces (a text, or bytes as
    ``{"hex": "f09f"}``). ``repeat`` goes on with the reply until the token limit.

    ``speeds`` multiplies both rates where a setting has a value, as {"flash_attention=off": 2}.
    ``own_time`` lets time pass by the rates alone, for measurements that are exact.
    ``repack_kills`` ends the process where repacked kernels are tried in compatibility mode.
    """

    n_ctx: int = 4096
    n_ctx_train: int = 32768
    n_ubatch: int = 64
    memory: MemoryKind = "plain"
    swa_window: int = 0
    template: str | None = CHATML
    replies: tuple[str | tuple[str | dict[str, str], ...], ...] = ("The fake engine says hello.",)
    repeat: bool = False
    load_s: float = 0.0
    load_fails: str | None = None
    out_of_memory: bool = False
    prefill_per_s: float | None = None
    decode_per_s: float | None = None
    decode_fails_after: int | None = None
    remotes: tuple[RemoteInfo, ...] = ()
    speeds: dict[str, float] = {}
    own_time: bool = False
    repack_kills: bool = False


class _Clock:
    """The time as the script has it."""

    def __init__(self, script: Script) -> None:
        self._own_s: float | None = 0.0 if script.own_time else None

    def now(self) -> float:
        return time.perf_counter() if self._own_s is None else self._own_s

    def pass_by(self, seconds: float) -> bool:
        """Let time pass without waiting; False if it is the real one."""
        if self._own_s is None:
            return False
        self._own_s += seconds
        return True


class _Vocabulary:
    """Gives every piece of text it meets a number."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = [text.encode() for text in _SPECIALS]
        self._ids: dict[bytes, int] = {piece: i for i, piece in enumerate(self._pieces)}
        self.specials: Mapping[str, int] = {text: i for i, text in enumerate(_SPECIALS)}
        self.user_defined: Mapping[str, int] = {}
        self.strips_left: frozenset[str] = frozenset()
        self.bos_text = ""
        self.eos_text = "<|im_end|>"
        self._split = re.compile("(" + "|".join(re.escape(text) for text in _SPECIALS) + ")")

    def token(self, piece: bytes) -> int:
        """Return the number of a piece that is no special token, even if it looks like one."""
        known = self._ids.get(piece)
        if known is None or known < len(_SPECIALS):
            known = len(self._pieces)
            self._pieces.append(piece)
            self._ids[piece] = known
        return known

    def words(self, text: str) -> list[int]:
        return [self.token(word.encode("utf-8", "replace")) for word in _WORDS.findall(text)]

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        if not parse_special:
            return self.words(text)
        tokens: list[int] = []
        for part in self._split.split(text):
            if part in self.specials:
                tokens.append(self.specials[part])
            elif part:
                tokens.extend(self.words(part))
        return tokens

    def with_bos(self, tokens: list[int]) -> list[int]:
        return tokens

    def piece(self, token: int) -> bytes:
        return self._pieces[token]

    def is_control(self, token: int) -> bool:
        return token < len(_SPECIALS)

    def is_end(self, token: int) -> bool:
        return token in {1, 2}


class _Sampler:
    def __init__(self, tokens: Sequence[int], *, repeat: bool) -> None:
        self._tokens = tokens
        self._repeat = repeat
        self._next = 0

    def sample(self, row: int = -1) -> int:
        if self._next >= len(self._tokens):
            if not self._repeat:
                return _END
            self._next = 0
        token = self._tokens[self._next]
        self._next += 1
        return token

    def close(self) -> None:
        self._tokens = ()


class _Model:
    def __init__(self, script: Script, info: ModelInfo, tuning: Tuning, clock: _Clock) -> None:
        self._script = script
        self.info = info
        self.tuning = tuning
        self._clock = clock
        self._trials: list[_Model] = []
        self.vocab = _Vocabulary()
        self.memory: MemoryKind = script.memory
        self.template_source = script.template
        self._tokens: list[int] = []
        self._oldest = 0
        self._abort = False
        self._replies = 0
        self._decoded = 0
        self._due_s = 0.0

    def decode(self, tokens: Sequence[int], position: int, sequence: int = 0) -> None:
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
        self.tuning = tuning
        self.info = msgspec.structs.replace(
            self.info,
            threads=tuning.threads,
            threads_batch=tuning.threads_batch,
            flash_attention=tuning.flash_attention != "off",
            n_ubatch=tuning.n_ubatch,
        )

    def trial(self, tuning: Tuning, n_ctx: int) -> _Model:
        trial = _Model(self._script, self.info, tuning, self._clock)
        self._trials.append(trial)
        return trial

    def deepen(self, tokens: int) -> int:
        return tokens

    def decode_each(
        self, tokens: Sequence[int], positions: Sequence[int], sequences: Sequence[int]
    ) -> None:
        if 0 in sequences:
            row = list(sequences).index(0)
            self.decode((tokens[row],), positions[row])
        elif self._script.decode_per_s:
            time.sleep(1 / self._script.decode_per_s)
        if self._abort:
            raise Aborted

    outputs = 1

    def logits(self, tokens: Sequence[int], position: int) -> npt.NDArray[np.float32]:
        raise EngineFailure("engine", "The scripted engine has no logits.")

    def fork(self, count: int) -> None:
        return

    def drop(self, sequence: int) -> None:
        return

    def wait(self) -> None:
        return

    def cut(self, tokens: int, sequence: int = 0) -> bool:
        if self.memory in {"recurrent", "hybrid"} and tokens < len(self._tokens):
            return False
        self._tokens = self._tokens[:tokens]
        return True

    def oldest_position(self) -> int:
        return self._oldest

    def clear(self) -> None:
        self._tokens = []
        self._oldest = 0

    def checkpoint(self, tokens: int) -> Checkpoint | None:
        if self.memory == "plain" or tokens != len(self._tokens):
            return None
        return Checkpoint(tokens, msgspec.json.encode([self._oldest, self._tokens]))

    def restore(self, checkpoint: Checkpoint) -> bool:
        self._oldest, self._tokens = msgspec.json.decode(
            checkpoint.data, type=tuple[int, list[int]]
        )
        return True

    def sampler(self, options: SamplingOptions, context: Sequence[int]) -> _Sampler:
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
        return _Sampler(tokens, repeat=self._script.repeat)

    def abort(self, on: bool) -> None:
        self._abort = on
        for trial in self._trials:
            trial.abort(on)

    def close(self) -> None:
        self._tokens = []


class FakeEngine:
    """`Engine` that follows a script."""

    name = "fake engine"
    system_info = "scripted"

    def __init__(self, script_path: str) -> None:
        self._script = msgspec.json.decode(Path(script_path).read_bytes(), type=Script)
        self._clock = _Clock(self._script)

    def clock(self) -> float:
        """Return the script's time."""
        return self._clock.now()

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Return one pretended processor of 16 GiB."""
        gib = 1 << 30
        return (
            DeviceInfo(
                name="CPU",
                description="Fake CPU",
                kind="cpu",
                backend="CPU",
                total_bytes=16 * gib,
                free_bytes=12 * gib,
            ),
        )

    @property
    def remotes(self) -> tuple[RemoteInfo, ...]:
        """Return what the script says of servers."""
        return self._script.remotes

    def dry_run(self, path: str, options: LoadOptions) -> DryRunResult:
        """Return figures that mean nothing."""
        sizes = {"weights": 1 << 30, "cache": 1 << 28, "compute": 1 << 26, "output": 1 << 18}
        return DryRunResult(
            n_ctx=options.n_ctx or self._script.n_ctx,
            buffers=tuple(
                EngineBuffer(device="CPU", what=what, size_bytes=size)
                for what, size in sizes.items()
            ),
            exact=True,
            seconds=0.0,
        )

    def quantize(self, job: QuantizeJob, on_tensor: Callable[[int, int], None]) -> None:
        """Refuse: there are no weights."""
        raise EngineFailure("engine", "The scripted engine makes no variants.")

    def last_words(self) -> str:
        """Return what the script says about a failed load."""
        return self._script.load_fails or ""

    def load(self, path: str, options: LoadOptions, progress: Callable[[float], bool]) -> _Model:
        """Pretend to load, at the script's pace."""
        script = self._script
        repacked = options.compatibility and options.repack
        if repacked and script.repack_kills:
            os.kill(os.getpid(), signal.SIGILL)
        steps = max(1, round(script.load_s / 0.02))
        for step in range(steps):
            if not progress(step / steps):
                raise Aborted
            time.sleep(script.load_s / steps)
        if not progress(1.0):
            raise Aborted
        if script.load_fails is not None:
            kind = "out_of_memory" if script.out_of_memory else "bad_model"
            raise EngineFailure(
                kind,  # type: ignore[arg-type]
                script.load_fails,
                ("Use a smaller context",),
                script.load_fails,
            )
        n_ctx = options.n_ctx or script.n_ctx
        info = ModelInfo(
            path=path,
            name=Path(path).stem,
            architecture="fake",
            description="fake 1B F16",
            size_bytes=1 << 30,
            parameters=1_000_000_000,
            n_ctx=n_ctx,
            n_ctx_train=script.n_ctx_train,
            n_batch=script.n_ubatch,
            n_ubatch=script.n_ubatch,
            n_vocab=50_000,
            layers=16,
            layers_offloaded=0,
            layers_total=17,
            type_k=options.type_k,
            type_v=options.type_v,
            flash_attention=True,
            swa_window=script.swa_window,
            swa_full=False,
            mmap=True,
            threads=1,
            threads_batch=1,
            compatibility=options.compatibility,
            repacked=repacked,
            sequences=options.sequences,
            memory=script.memory,
            template="file",
            template_notice=None,
            thinking=False,
            devices=self.devices(),
            buffers=(EngineBuffer(device="CPU", what="kv", size_bytes=1 << 28),),
            load_s=script.load_s,
        )
        threads = options.threads or 1
        tuning = Tuning(
            threads=threads,
            threads_batch=options.threads_batch or threads,
            flash_attention=options.flash_attention,
            n_ubatch=script.n_ubatch,
        )
        model = _Model(script, info, tuning, self._clock)
        model.retune(tuning)
        return model

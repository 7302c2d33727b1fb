"""The fake engine itself: devices, loads and failures as its script has them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from app.engine.fake.model import FakeModel
from app.engine.fake.script import Script, ScriptClock
from app.engine.interface import (
    Aborted,
    DryRunResult,
    EngineFailure,
    QuantizeJob,
)
from app.engine.protocol import (
    DeviceInfo,
    EngineBuffer,
    LoadOptions,
    ModelInfo,
    RemoteInfo,
    Tuning,
)

__all__ = ["FakeEngine"]


class FakeEngine:
    """`Engine` that follows a script."""

    name = "fake engine"
    system_info = "scripted"

    def __init__(self, script_path: str) -> None:
        self._script = msgspec.json.decode(Path(script_path).read_bytes(), type=Script)
        self._clock = ScriptClock(self._script)

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

    def load(self, path: str, options: LoadOptions, progress: Callable[[float], bool]) -> FakeModel:
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
        model = FakeModel(script, info, tuning, self._clock)
        model.retune(tuning)
        return model

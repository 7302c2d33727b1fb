"""The blocking client: for the command line, benchmarks and tests.

It starts a worker, sends requests and yields their messages. A worker that dies becomes a
`WorkerDied` with the cause in words; an illegal instruction is met once by a restart in
compatibility mode, with the model loaded again.
"""

from __future__ import annotations

import itertools
import queue
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Final, Self, TypeVar

import msgspec

from app.engine.client_errors import EngineError, RequestFailed, WorkerDied
from app.engine.oom import killed_since, oom_kills
from app.engine.outcome import Phase, WorkerEnd, recovery_after, remote_devices
from app.engine.protocol import (
    PROTOCOL_VERSION,
    Bench,
    Cancel,
    Chunk,
    DeviceInfo,
    DryRun,
    EngineMessage,
    Failed,
    Generate,
    Hello,
    Load,
    Loaded,
    LoadOptions,
    ModelInfo,
    Progress,
    ProtocolError,
    Quantize,
    Request,
    Score,
    Started,
    Tune,
    encode_line,
    is_final,
)
from app.engine.worker_process import Heard, WorkerProcess

__all__ = ["EngineClient", "EngineError", "RequestFailed", "WorkerDied"]

_KEPT_LINES = 200
_START_S = 120.0
# What a worker that dies over a request was at; the messages tell of a reply's own phases.
_PHASES: Final[Mapping[type, Phase]] = {
    Bench: "bench",
    DryRun: "load",
    Generate: "prefill",
    Load: "load",
    Quantize: "quantize",
    Score: "score",
    Tune: "tune",
}

_Final = TypeVar("_Final", bound=EngineMessage)


class EngineClient:
    """One worker process and what was asked of it. Use as a context manager.

    ``needs_compatibility`` tells from the hello whether compatibility mode is known to be needed.
    ``on_notice`` gets sentences that a person should see (a restart in compatibility mode).
    ``remember_compatibility`` is called when that mode turned out to be needed. ``may_repack``
    tells whether repacked kernels may be tried in it, and ``repack_failed`` is called when the
    engine died of them; a load goes on without. ``remotes`` are addresses of RPC servers to use,
    None those of the environment. ``host_memory`` gives free and total bytes of main memory, which
    tell an end from outside from a shortage.
    """

    def __init__(
        self,
        *,
        needs_compatibility: Callable[[Hello], bool] | None = None,
        on_notice: Callable[[str], None] | None = None,
        remember_compatibility: Callable[[Hello], None] | None = None,
        may_repack: Callable[[Hello], bool] | None = None,
        repack_failed: Callable[[Hello], None] | None = None,
        stderr: Callable[[str], None] | None = None,
        remotes: Sequence[str] | None = None,
        host_memory: Callable[[], tuple[int, int]] | None = None,
    ) -> None:
        self.compatibility = False
        self._remotes = remotes
        self._in_use: tuple[DeviceInfo, ...] = ()
        self._needs_compatibility = needs_compatibility
        self._on_notice = on_notice
        self._remember = remember_compatibility
        self._may_repack = may_repack
        self._repack_failed = repack_failed
        self._repacks = False  # the model that is loaded, or being loaded
        self._stderr_sink = stderr
        self._host_memory = host_memory
        self._oom_kills: int | None = None
        self._ids = itertools.count(1)
        self._process: WorkerProcess | None = None
        self._messages: Heard = queue.Queue()
        self._kept: dict[int, deque[EngineMessage]] = {}  # by request, not taken yet
        self._last_lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._phase: Phase = "starting"
        self._phase_id = 0  # of the request that brought it there
        self._loaded: tuple[str, LoadOptions] | None = None
        self.hello: Hello | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """Process id of the worker, None before `start` and after `close`."""
        return None if self._process is None else self._process.pid

    @property
    def last_lines(self) -> tuple[str, ...]:
        """The end of the worker's stderr."""
        return tuple(self._last_lines)

    def start(self) -> Hello:
        """Start the worker and wait for its hello.

        Raises:
            WorkerDied: it ended instead.
            EngineError: it speaks another protocol.
        """
        self._phase = "starting"
        self._oom_kills = oom_kills()
        try:
            process = WorkerProcess(self._remotes, self._last_lines, self._stderr_sink)
        except OSError as error:
            end = WorkerEnd(1, "starting", not_started=f"{error.filename}: {error.strerror}")
            raise WorkerDied(end, recovery_after(end, compatibility=self.compatibility)) from error
        self._process, self._messages = process, process.messages
        self._kept.clear()
        hello = self._next_message(_START_S)
        if not isinstance(hello, Hello) or hello.protocol != PROTOCOL_VERSION:
            self.close()
            raise EngineError("The engine process is of another version; install Plimsoll again.")
        self.hello = hello
        names = {device.name for device in hello.devices}
        self._in_use = remote_devices(hello.devices, names)
        for server in hello.remotes:
            if server.problem and self._on_notice is not None:
                self._on_notice(f"{server.problem} It is left out.")
        if self._needs_compatibility is not None and self._needs_compatibility(hello):
            self.compatibility = True
        self._phase = "idle"
        return hello

    def _next_message(self, timeout_s: float | None = None) -> EngineMessage:
        try:
            message = self._messages.get(timeout=timeout_s)
        except queue.Empty:
            self.close()
            raise EngineError("The engine did not answer; try again.") from None
        if message is None:
            raise self._died()
        if isinstance(message, ProtocolError):
            self.close()
            words = str(message)[:200]
            raise EngineError(f"The engine sent something unreadable and was ended: {words}.")
        return message

    def _died(self) -> WorkerDied:
        assert self._process is not None
        code = self._process.ended()
        self._process = None
        killed = killed_since(self._oom_kills, oom_kills())
        # What is free now tells nothing of then, but where the system counts what it kills.
        host = None if killed is None or self._host_memory is None else self._host_memory()
        end = WorkerEnd(
            code,
            self._phase,
            last_lines=tuple(self._last_lines),
            remotes=self._in_use,
            memory=host,
            oom_kills=killed,
        )
        recovery = recovery_after(
            end, compatibility=self.compatibility, can_repeat=self._phase != "decode"
        )
        if recovery.compatibility and not self.compatibility:
            self.compatibility = True
            if self._remember is not None and self.hello is not None:
                self._remember(self.hello)
        if self._repacks and end.crashed:
            self._repacks = False
            if self._repack_failed is not None and self.hello is not None:
                self._repack_failed(self.hello)
        return WorkerDied(end, recovery)

    def new_id(self) -> int:
        """Return an id for a request."""
        return next(self._ids)

    def send(self, request: Request) -> None:
        """Send a request; its answers come from `messages`."""
        process = self._process
        if process is None:
            raise EngineError("The engine is not running.")
        try:
            line = encode_line(request)
        except ProtocolError as error:
            raise EngineError(f"This can't be sent to the engine: {error}.") from error
        if not isinstance(request, Cancel):  # which is not answered
            self._kept[request.id] = deque()
        if (phase := _PHASES.get(type(request))) is not None:
            self._enter(phase, request.id)
        process.write(line)

    def messages(self, request_id: int) -> Iterator[EngineMessage]:
        """Yield the messages of a request up to its final one.

        What comes meanwhile for other requests is kept until it is asked for.

        Raises:
            WorkerDied: the worker ended.
        """
        while True:
            message = self._next_of(request_id)
            yield message
            if is_final(message):
                self._kept.pop(request_id, None)
                return

    def _next_of(self, request_id: int) -> EngineMessage:
        kept = self._kept.get(request_id)
        if kept:
            return kept.popleft()
        while True:
            message = self._next_message()
            self._follow_phase(message)
            message_id = getattr(message, "id", 0)
            if message_id == request_id:
                return message
            if message_id in self._kept:
                self._kept[message_id].append(message)

    def _follow_phase(self, message: EngineMessage) -> None:
        if isinstance(message, Progress):
            self._enter(message.phase, message.id)
        elif isinstance(message, Started):
            self._enter("prefill", message.id)
        elif isinstance(message, Chunk):
            self._enter("decode", message.id)
        elif is_final(message) and getattr(message, "id", 0) == self._phase_id:
            self._phase = "idle"

    def _enter(self, phase: Phase, request_id: int) -> None:
        self._phase, self._phase_id = phase, request_id

    def call(self, request: Request, kind: type[_Final]) -> _Final:
        """Send a request and return its final message.

        Raises:
            RequestFailed: it was answered with `Failed`.
            WorkerDied: the worker ended.
        """
        self.send(request)
        for message in self.messages(request.id):
            if isinstance(message, kind):
                return message
            if isinstance(message, Failed):
                raise RequestFailed(message)
        raise EngineError("The engine answered with another message than was asked for.")

    def load(
        self,
        path: str,
        options: LoadOptions | None = None,
        on_progress: Callable[[float], None] | None = None,
    ) -> ModelInfo:
        """Load a model, once more in compatibility mode if this processor needs it.

        Raises:
            RequestFailed, WorkerDied: it can't be loaded.
        """
        options = options or LoadOptions()
        while True:
            wanted = self._as_needed(options)
            self._repacks = wanted.repack
            try:
                info = self._load_once(path, wanted, on_progress)
                break
            except WorkerDied as death:
                # Without what it died of; each can be left out once.
                if not (wanted.repack and death.end.crashed):
                    if wanted.compatibility or not death.recovery.restart:
                        raise
                    if self._on_notice is not None:
                        self._on_notice(death.recovery.sentence)
                self.start()
        self._loaded = (path, options)
        self._in_use = remote_devices(info.devices, info.devices_used)
        return info

    def _as_needed(self, options: LoadOptions) -> LoadOptions:
        """Return options in compatibility mode where this computer needs it."""
        if not self.compatibility or options.compatibility or self.hello is None:
            return options
        repack = self._may_repack is not None and self._may_repack(self.hello)
        return msgspec.structs.replace(options, compatibility=True, repack=repack)

    def _load_once(
        self, path: str, options: LoadOptions, on_progress: Callable[[float], None] | None
    ) -> ModelInfo:
        request = Load(id=self.new_id(), path=path, options=options)
        self.send(request)
        for message in self.messages(request.id):
            if isinstance(message, Progress) and on_progress is not None:
                on_progress(message.fraction)
            elif isinstance(message, Failed):
                raise RequestFailed(message)
            elif isinstance(message, Loaded):
                return message.model
        raise EngineError("The engine answered with another message than was asked for.")

    def generate(self, request: Generate) -> Iterator[EngineMessage]:
        """Yield the messages of a reply: started, progress, chunks, done or failed.

        A prompt that meets an illegal instruction before any text came is sent once more to a
        worker in compatibility mode.

        Raises:
            WorkerDied: the worker ended.
        """
        began = False
        self.send(request)
        try:
            for message in self.messages(request.id):
                began = began or isinstance(message, Chunk)
                yield message
        except WorkerDied as death:
            if began or not death.recovery.restart or self._loaded is None:
                raise
            if self._on_notice is not None:
                self._on_notice(death.recovery.sentence)
            self.start()
            self.load(*self._loaded)
            self.send(request)
            yield from self.messages(request.id)

    def cancel(self, request_id: int) -> None:
        """Ask for a request to end early; any thread."""
        self.send(Cancel(id=self.new_id(), target=request_id))

    def kill(self) -> None:
        """End the worker at once, in the middle of anything; any thread.

        Whoever waits for it gets `WorkerDied`.
        """
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the worker: close its stdin, then terminate, then kill."""
        process = self._process
        if process is not None:
            process.close()
            self._process = None

"""The window's client: the worker behind a QProcess, everything by signals, nothing waits.

The same protocol and the same rules as `app.engine.client`: a death becomes a sentence, an
illegal instruction is met once by a restart in compatibility mode, and messages of a worker that
was replaced never arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.engine.engine_state import PHASES, EngineState, EngineStatus, followed, remotes_in_use
from app.engine.outcome import Recovery, WorkerEnd, recovery_after
from app.engine.protocol import (
    PROTOCOL_VERSION,
    Cancel,
    ChatPrompt,
    Chunk,
    Done,
    EngineMessage,
    Failed,
    Generate,
    Hello,
    Load,
    Loaded,
    LoadOptions,
    ProtocolError,
    SamplingOptions,
    Tune,
    decode_message,
    is_final,
)
from app.engine.qt_memory import MemoryLooks
from app.engine.qt_requests import EngineRequests
from app.engine.qt_stops import StopWatch
from app.engine.qt_worker import QtWorker

__all__ = ["EngineProcess", "EngineState", "EngineStatus"]

_RENEW_MS: Final = 1500


class EngineProcess(EngineRequests):
    """One engine for the window.

    Signals, besides those of `EngineRequests`:
        notice(str): a sentence a person should see.
        compatibility_needed(Hello): this computer and build need compatibility mode.
        repack_failed(Hello): the engine died of repacked kernels in that mode.
        log_line(str): a line of the worker's stderr.
        closed(): after `close`, when no process is left.
    """

    notice = Signal(str)
    compatibility_needed = Signal(object)
    repack_failed = Signal(object)
    log_line = Signal(str)
    closed = Signal()

    def __init__(self, parent: QObject | None = None, *, compatibility: bool = False) -> None:
        super().__init__(parent, EngineState(compatibility=compatibility))
        self._leaving: set[QtWorker] = set()
        self._waiting_load: Load | None = None
        self._load: Load | None = None
        self._resend: Generate | None = None
        self._began = False
        self.memory = MemoryLooks(self)
        self._stops = StopWatch(self)
        self._stops.overdue.connect(self._on_overdue)
        self._closing = False
        self._remotes: tuple[str, ...] | None = None
        self._settle: Callable[[Load, Hello], LoadOptions] | None = None
        self._renewal = QTimer(self)
        self._renewal.setSingleShot(True)
        self._renewal.setInterval(_RENEW_MS)
        self._renewal.timeout.connect(self._renew)

    # --- orders ---

    def settle_with(self, settle: Callable[[Load, Hello], LoadOptions]) -> None:
        """Ask for the options of a load again, once the engine has said what it is."""
        self._settle = settle

    def use_remotes(self, endpoints: Sequence[str]) -> None:
        """Use these RPC servers; a model that is loaded stays as it is until the next load."""
        self._remotes = tuple(endpoints)
        self._renewal.start()  # an address is typed letter by letter

    @Slot()
    def _renew(self) -> None:
        """Start an idle worker again if it was told of other servers."""
        if self._worker is None or self._closing or self._worker.remotes == self._remotes:
            return
        if self._load is None and self._state.status in {"starting", "idle"}:
            self._fail_pending("The engine was started again.", "cancelled")
            self._retire()
            self._set(status="stopped")
            self.start()

    def start(self) -> None:
        """Start a worker, without a model, if there is none."""
        if self._worker is None and not self._closing:
            self._spawn()
            self._set(status="starting", sentence="", advice=(), detail="")

    def load(self, path: str, options: LoadOptions) -> int:
        """Load a model into a process of its own, so that the memory of the one before is free."""
        if self._state.compatibility and not options.compatibility:
            options = msgspec.structs.replace(options, compatibility=True)
        request = Load(id=next(self._ids), path=path, options=options)
        if self._closing:
            return request.id
        self._fail_pending("The model was replaced.", "cancelled")
        used = self._load is not None or self._state.status not in {"starting", "idle"}
        if self._worker is not None and (used or self._worker.remotes != self._remotes):
            self._retire()
        self._load = request
        self._pending[request.id] = request
        self._set(
            status="loading",
            path=path,
            model=None,
            fraction=0.0,
            sentence="",
            advice=(),
            detail="",
            lost_remotes=(),
        )
        if self._worker is None:
            self._spawn()
            self._waiting_load = request
        elif self._state.hello is None:
            self._waiting_load = request
        else:
            self._write_load(request, self._state.hello)
        return request.id

    def unload(self) -> None:
        """Free the model by ending its process; a fresh one stands by."""
        self._fail_pending("The model was unloaded.", "cancelled")
        self._retire()
        self._load = None
        self._set(status="stopped", model=None, path=None, pid=None, hello=None)
        self.start()

    def generate(
        self, conversation: str, chat: ChatPrompt, sampling: SamplingOptions, *, replies: int = 1
    ) -> int:
        """Ask for a reply, or for several at once."""
        request = Generate(
            id=next(self._ids),
            conversation=conversation,
            chat=chat,
            sampling=sampling,
            replies=replies,
        )
        if self._worker is not None and self._state.hello is not None:
            self._began = False
            self._resend = request
            self._set(status="prefill")
        return self._ask(request)  # fails where the engine died while the message was stored

    def tune(self, options: LoadOptions, *, measure: bool = True) -> int:
        """Ask what is fastest, or with ``measure`` False go back to the engine's defaults.

        ``options`` are those that the user asked for.
        """
        if self._state.status == "ready":
            self._set(status="measuring")
        return self._ask(Tune(id=next(self._ids), options=options, measure=measure))

    def cancel(self, request_id: int) -> None:
        """Ask for a request to end early."""
        if request_id in self._pending:
            if self._waiting_load is not None and self._waiting_load.id == request_id:
                self._waiting_load = None
                self._load = None
                self._fail_pending("Loading was cancelled.", "cancelled")
                self._set(status="starting", path=None)
                return
            self._write(Cancel(id=next(self._ids), target=request_id))
            self._stops.asked(request_id)

    def wait(self) -> None:
        """Give an engine that does not answer more time, before that is told again."""
        self._stops.wait()

    def end(self) -> None:
        """End an engine that does not answer, at once; told as a loss, what it wrote stays."""
        if self._worker is not None:
            self._worker.end()

    def close(self) -> None:
        """End the worker by the ladder; `closed` follows."""
        self._closing = True
        self._renewal.stop()
        self._pending.clear()
        self._retire()
        if not self._leaving:
            QTimer.singleShot(0, self, self.closed.emit)

    # --- the way out ---

    def _write_load(self, request: Load, hello: Hello) -> None:
        if self._settle is not None:
            options = self._settle(request, hello)
            if self._state.compatibility:
                options = msgspec.structs.replace(options, compatibility=True)
            request = msgspec.structs.replace(request, options=options)
            self._load = request
            self._pending[request.id] = request
        self._write(request)

    def _spawn(self) -> None:
        worker = QtWorker(self, self._remotes)
        self._worker = worker
        self.memory.start()
        worker.line.connect(self._on_line)
        worker.log.connect(self._on_log)
        worker.gone.connect(self._on_gone)
        worker.start()

    def _retire(self) -> None:
        """Let go of the worker: nothing it still says is heard."""
        worker, self._worker = self._worker, None
        self._waiting_load = None
        self.memory.stop()
        self._stops.clear()
        if worker is None:
            return
        worker.line.disconnect(self._on_line)
        worker.log.disconnect(self._on_log)
        self._leaving.add(worker)
        self._set(hello=None, pid=None)
        worker.leave()

    # --- the way in ---

    @Slot(object)
    def _on_line(self, line: bytes) -> None:
        try:
            message = decode_message(line)
        except ProtocolError as error:
            # An answer is missing now that somebody waits for; nothing after it can be trusted.
            if self._worker is not None:
                self._worker.distrust(str(error))
            return
        if isinstance(message, Hello):
            self._on_hello(message)
        elif message.id in self._pending:
            self._follow(message)
            if is_final(message):
                self._pending.pop(message.id, None)
            self._stops.heard(message.id, final=is_final(message))
            self.message.emit(message)

    def _on_hello(self, hello: Hello) -> None:
        if hello.protocol != PROTOCOL_VERSION:
            sentence = self.tr("The engine process is of another version; install Plimsoll again.")
            self.notice.emit(sentence)
            self._load = None
            self._retire()
            self._set(status="lost", path=None, sentence=sentence)
            self._fail_pending(sentence)
            return
        self.memory.look()
        self._set(hello=hello, pid=hello.pid)
        for server in hello.remotes:
            if server.problem:
                self.notice.emit(self.tr("{0} It is left out.").format(server.problem))
        if self._waiting_load is not None:
            request, self._waiting_load = self._waiting_load, None
            self._write_load(request, hello)
        elif self._state.status == "starting":
            self._set(status="idle")

    def _follow(self, message: EngineMessage) -> None:
        request = self._pending.get(getattr(message, "id", -1))
        if isinstance(message, Chunk):
            self._began = True
        elif isinstance(message, Done):
            self._resend = None
            self._began = False
        elif isinstance(message, Failed) and isinstance(request, Load):
            self._load = None
        elif isinstance(message, Failed) and isinstance(request, Generate):
            self._resend = None
        self._become(followed(self._state, message, request))
        resend = self._resend
        if isinstance(message, Loaded) and resend is not None and resend.id in self._pending:
            self._set(status="prefill")
            self._write(resend)

    @Slot(float)
    def _on_overdue(self, silent_s: float) -> None:
        self._set(silent_s=silent_s)

    @Slot(str)
    def _on_log(self, line: str) -> None:
        self.log_line.emit(line)

    @Slot(object)
    def _on_gone(self, worker: QtWorker) -> None:
        if worker in self._leaving:
            self._leaving.discard(worker)
            worker.deleteLater()
            if self._closing and not self._leaving and self._worker is None:
                self.closed.emit()
            return
        if worker is not self._worker:
            return
        self._worker = None
        self.memory.stop()
        self._stops.clear()
        memory = self.memory.at_the_end(self._state)
        end = WorkerEnd(
            worker.exit_code,
            PHASES.get(self._state.status, "idle"),
            asked=worker.asked,
            last_lines=tuple(worker.last_lines),
            remotes=remotes_in_use(self._state),
            unreadable=worker.unreadable,
            not_started=worker.not_started,
            memory=memory.memory,
            may_take_bytes=memory.may_take_bytes,
            oom_kills=memory.oom_kills,
        )
        worker.deleteLater()
        recovery = recovery_after(
            end, compatibility=self._state.compatibility, can_repeat=not self._began
        )
        if self._load is not None and self._load.options.repack and end.crashed:
            hello = self._state.hello
            if hello is not None:
                self.repack_failed.emit(hello)
            if end.phase == "load":
                self._load_again(repack=False)
                return
        if recovery.compatibility and not self._state.compatibility:
            hello = self._state.hello
            self._set(compatibility=True)
            if hello is not None:
                self.compatibility_needed.emit(hello)
        if recovery.restart and self._load is not None:
            self._restart_compatible(recovery)
        else:
            self._lose(end, recovery)

    def _restart_compatible(self, recovery: Recovery) -> None:
        assert self._load is not None
        self.notice.emit(recovery.sentence)
        self._load_again(compatibility=True)

    def _load_again(self, **changes: bool) -> None:
        """Load the same model into a new process; a request that waits is sent again after it."""
        assert self._load is not None
        options = msgspec.structs.replace(self._load.options, **changes)
        self._load = msgspec.structs.replace(self._load, options=options)
        self._pending[self._load.id] = self._load
        if self._resend is not None and self._resend.id not in self._pending:
            self._resend = None
        self._set(status="loading", hello=None, pid=None, fraction=0.0)
        self._spawn()
        self._waiting_load = self._load

    def _lose(self, end: WorkerEnd, recovery: Recovery) -> None:
        self._waiting_load = None
        self._load = None
        self._resend = None
        detail = "\n".join(end.last_lines[-40:])
        self._set(
            status="lost",
            model=None,
            hello=None,
            pid=None,
            sentence=recovery.sentence,
            advice=recovery.advice,
            detail=detail,
            lost_remotes=end.lost_remotes,
            from_outside=end.asked or end.ended_from_outside,
        )
        kind: Literal["out_of_memory", "engine"] = (
            "out_of_memory" if end.out_of_memory else "engine"
        )
        for request_id in list(self._pending):
            self._pending.pop(request_id, None)
            self.message.emit(
                Failed(
                    id=request_id,
                    kind=kind,
                    message=recovery.sentence,
                    advice=recovery.advice,
                    detail=detail,
                )
            )

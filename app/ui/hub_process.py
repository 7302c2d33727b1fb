"""A hub process behind a QProcess: requests in, answers by signals, ended at any moment."""

from __future__ import annotations

import itertools
import logging
from typing import Final

import msgspec
from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QTimer, Signal, Slot

from app.data.hub.child import child_argv
from app.data.hub.protocol import (
    FINAL,
    Access,
    Answer,
    Cancel,
    Fetch,
    LookUp,
    ReadHeads,
    Refused,
    Search,
    decode_answer,
    encode_line,
)
from app.engine.launch import worker_environment

__all__ = ["HubProcess"]

log = logging.getLogger(__name__)

_END_MS: Final = 3000
_ids = itertools.count(1)


class HubProcess(QObject):
    """One process that speaks `app.data.hub.protocol`, started with the first request.

    Signals:
        answered(Answer): every answer; a request whose process died gets a `Refused`.
        ended(): the process is gone, after `end` or by itself.
    """

    answered = Signal(object)
    ended = Signal()

    def __init__(self, access: Access, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pending: set[int] = set()
        self._buffer = b""
        self._ending = False
        self._process = QProcess(self)
        environment = QProcessEnvironment()
        for name, value in worker_environment().items():
            environment.insert(name, value)
        self._process.setProcessEnvironment(environment)
        program, *arguments = child_argv()
        self._process.setProgram(program)
        self._process.setArguments(arguments)
        self._process.readyReadStandardOutput.connect(self._on_output)
        self._process.readyReadStandardError.connect(self._on_log)
        self._process.finished.connect(self._on_finished)
        self._process.errorOccurred.connect(self._on_error)
        self._process.start()
        # Written to the pipe rather than given as an argument, which others could read.
        self._process.write(encode_line(access))

    @property
    def is_running(self) -> bool:
        """Tell whether requests can be made."""
        return not self._ending and self._process.state() != QProcess.ProcessState.NotRunning

    def search(self, text: str) -> int:
        """Look for repositories; return the request's id."""
        return self._ask(Search(id=next(_ids), text=text))

    def look_up(self, repository: str) -> int:
        """List a repository's models."""
        return self._ask(LookUp(id=next(_ids), repository=repository))

    def ask(self, request: Search | LookUp | ReadHeads | Fetch) -> int:
        """Make a request with an id from `new_id`."""
        return self._ask(request)

    @staticmethod
    def new_id() -> int:
        """Return an id for `ask`."""
        return next(_ids)

    def cancel(self, request_id: int) -> None:
        """Let a request end early; nothing more is heard of it."""
        if request_id in self._pending:
            self._pending.discard(request_id)
            self._process.write(encode_line(Cancel(target=request_id)))

    def end(self) -> None:
        """End the process at once; `ended` follows, and no answer any more."""
        self._ending = True
        self._pending.clear()
        if self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.kill()

    def wait_ended(self) -> None:
        """Wait until the process is gone, at the end of the program."""
        self.end()
        if self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.waitForFinished(_END_MS)

    # --- inner ---

    def _ask(self, request: Search | LookUp | ReadHeads | Fetch) -> int:
        self._pending.add(request.id)
        if self.is_running:
            self._process.write(encode_line(request))
        else:  # it could not be started, or has just ended: said once the caller has the id
            QTimer.singleShot(0, self, self._lose)
        return request.id

    @Slot()
    def _on_output(self) -> None:
        self._buffer += bytes(self._process.readAllStandardOutput().data())
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            try:
                answer = decode_answer(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                log.warning("the hub process sent something unreadable")
                continue
            self._deliver(answer)

    def _deliver(self, answer: Answer) -> None:
        if answer.id not in self._pending:
            return
        if isinstance(answer, FINAL):
            self._pending.discard(answer.id)
        self.answered.emit(answer)

    @Slot()
    def _on_log(self) -> None:
        text = bytes(self._process.readAllStandardError().data()).decode("utf-8", "replace")
        for line in text.splitlines():
            log.info("hub: %s", line)

    @Slot()
    def _on_finished(self) -> None:
        self._on_output()
        self._lose()

    @Slot(QProcess.ProcessError)
    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self._lose()

    @Slot()
    def _lose(self) -> None:
        pending, self._pending = sorted(self._pending), set()
        for request_id in pending:
            sentence = self.tr("The process that reaches the hub ended; the log may say why.")
            self.answered.emit(Refused(id=request_id, kind="stopped", sentence=sentence))
        self.ended.emit()

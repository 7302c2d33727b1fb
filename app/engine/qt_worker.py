"""A worker as a QProcess that speaks lines."""

from __future__ import annotations

from collections import deque
from typing import Final

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QTimer, Signal, Slot

from app.engine import launch
from app.engine.protocol import LineSplitter, ProtocolError

__all__ = ["QtWorker"]

_GRACE_MS: Final = 2000
_KEPT_LINES: Final = 200


class QtWorker(QObject):
    """A QProcess that speaks lines and leaves by the ladder.

    Signals:
        line(bytes): one line of the protocol.
        log(str): one line of stderr.
        gone(QtWorker): the process is no more.
    """

    line = Signal(object)
    log = Signal(str)
    gone = Signal(object)

    def __init__(self, parent: QObject, remotes: tuple[str, ...] | None) -> None:
        super().__init__(parent)
        self.remotes = remotes
        self.process = QProcess(self)
        self.last_lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self.exit_code = 0
        self.unreadable = ""  # what was wrong with a line, after which nothing is read
        self.asked = False  # we ended it, since it did not answer
        self.not_started = ""  # why there is no process
        self._splitter = LineSplitter()
        self._errors = LineSplitter()
        self._orders = iter((self.process.terminate, self.process.kill))
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_GRACE_MS)
        self._timer.timeout.connect(self._press)
        environment = QProcessEnvironment()
        for name, value in launch.worker_environment(remotes=remotes).items():
            environment.insert(name, value)
        self.process.setProcessEnvironment(environment)
        self.process.readyReadStandardOutput.connect(self._on_output)
        self.process.readyReadStandardError.connect(self._on_error_output)
        self.process.finished.connect(self._on_finished)
        self.process.errorOccurred.connect(self._on_error)

    def start(self) -> None:
        """Start the process."""
        program, *arguments = launch.worker_argv()
        self.process.start(program, arguments)

    def distrust(self, why: str) -> None:
        """Read nothing more and end the process; `gone` follows."""
        self.unreadable = self.unreadable or why
        self.process.kill()

    def end(self) -> None:
        """End the process at once, whatever it does; `gone` follows."""
        self.asked = True
        self.process.kill()

    def _is_trusted(self) -> bool:
        return not self.unreadable

    def leave(self) -> None:
        """Close stdin; terminate after 2 s, kill after 2 s more."""
        if self.process.state() == QProcess.ProcessState.NotRunning:
            QTimer.singleShot(0, self, lambda: self.gone.emit(self))
            return
        self.process.closeWriteChannel()
        self._timer.start()

    @Slot()
    def _press(self) -> None:
        order = next(self._orders, None)
        if order is not None:
            order()
            self._timer.start()

    @Slot()
    def _on_output(self) -> None:
        data = self.process.readAllStandardOutput().data()
        if not self._is_trusted():
            return
        try:
            for line in self._splitter.feed(bytes(data)):
                if self._is_trusted():
                    self.line.emit(line)
        except ProtocolError as error:
            self.distrust(str(error))

    @Slot()
    def _on_error_output(self) -> None:
        data = self.process.readAllStandardError().data()
        try:
            lines = self._errors.feed(bytes(data))
        except ProtocolError:
            self._errors = LineSplitter()
            return
        for raw in lines:
            text = raw.decode("utf-8", "replace").rstrip()
            self.last_lines.append(text)
            self.log.emit(text)

    @Slot(int, QProcess.ExitStatus)
    def _on_finished(self, code: int, status: QProcess.ExitStatus) -> None:
        self._timer.stop()
        self._on_output()
        self._on_error_output()
        # Qt gives the signal as the exit code of a crash; an NTSTATUS arrives as it is.
        crashed = status == QProcess.ExitStatus.CrashExit and 0 < code < 128
        self.exit_code = -code if crashed else code
        self.gone.emit(self)

    @Slot(QProcess.ProcessError)
    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self.not_started = f"{self.process.program()}: {self.process.errorString()}"
            self.exit_code = 1
            self.gone.emit(self)

"""One window a data folder: a second start raises the first one and hands over its file.

A local socket in the data folder, which nobody else can enter; nothing listens on a network. Where
a socket can't lie there (a path too long for one, a file system without sockets), and on Windows,
it is the system's own place under a name made from the folder's. A socket that a killed program
left behind is taken over.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

__all__ = ["SingleInstance"]

_WAIT_MS = 1500
# Who takes the connection is alive, and may be busy: a window that opens a model on a slow machine.
_ANSWER_MS = 15_000
_MAX_BYTES = 64 * 1024
_MAX_PATH_BYTES = 100  # of a socket: 104 on macOS, 108 on Linux


class SingleInstance(QObject):
    """Signals:
    asked(str): another start wants this window; the path of a model, or nothing.
    """

    asked = Signal(str)

    def __init__(self, data: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        digest = hashlib.sha256(str(data).encode("utf-8", "surrogateescape")).hexdigest()
        self._names = [f"plimsoll-{digest[:24]}"]
        inside = data.absolute() / "window.socket"
        if sys.platform != "win32" and len(os.fsencode(inside)) <= _MAX_PATH_BYTES:
            self._names.insert(0, str(inside))
        self._server: QLocalServer | None = None

    def hand_over(self, model: str) -> bool:
        """Ask a running window to come forward; False if there is none."""
        return any(self._hand_over(name, model) for name in self._names)

    def _hand_over(self, name: str, model: str) -> bool:
        socket = QLocalSocket()
        socket.connectToServer(name)
        if not socket.waitForConnected(_WAIT_MS):
            return False
        socket.write(json.dumps({"model": model}).encode("utf-8") + b"\n")
        socket.waitForBytesWritten(_WAIT_MS)
        answered = socket.waitForReadyRead(_ANSWER_MS)
        socket.disconnectFromServer()
        return bool(answered)

    def listen(self) -> bool:
        """Be the window that others hand over to."""
        server = QLocalServer(self)
        server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        server.newConnection.connect(self._on_connection)
        for name in self._names:
            if server.listen(name):
                break
            QLocalServer.removeServer(name)
            if server.listen(name):
                break
        else:
            return False
        self._server = server
        return True

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            self._server = None

    @Slot()
    def _on_connection(self) -> None:
        assert self._server is not None
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.readyRead.connect(lambda socket=socket: self._read(socket))
            socket.disconnected.connect(socket.deleteLater)

    def _read(self, socket: QLocalSocket) -> None:
        if socket.bytesAvailable() > _MAX_BYTES:
            socket.abort()
            return
        if not socket.canReadLine():
            return
        try:
            asked = json.loads(bytes(socket.readLine().data()).decode("utf-8"))
            model = asked["model"]
        except (ValueError, KeyError, TypeError, RecursionError):
            socket.abort()
            return
        socket.write(b"ok\n")
        socket.flush()
        self.asked.emit(model if isinstance(model, str) else "")

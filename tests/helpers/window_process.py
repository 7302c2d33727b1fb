"""A window as a process of its own: it tells what it shows, line by line, and does what it's told.

`WindowProcess` is the side that attacks it; run as a module, this file is the window.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

from app.paths import DATA_DIR_VARIABLE

__all__ = ["WindowProcess"]

_ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_S = 60.0


class WindowProcess:
    """A window that runs, offscreen, on a data folder."""

    def __init__(self, data: Path, model: Path, environment: Mapping[str, str | None]) -> None:
        known = os.environ | {DATA_DIR_VARIABLE: str(data), "QT_QPA_PLATFORM": "offscreen"}
        changed = {name: value for name, value in environment.items() if value is not None}
        self.state: dict[str, Any] = {"status": "starting", "pid": None, "sentence": ""}
        self.shown = 0  # characters of the running reply that were on screen
        self._looks: list[dict[str, Any]] = []
        self.complaints: list[str] = []  # its stderr
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.window_process", str(model)],
            cwd=_ROOT,
            env={name: known[name] for name in known if environment.get(name, "") is not None}
            | changed,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._threads = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_complaints, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        """Process id of the window."""
        return self._process.pid

    @property
    def status(self) -> str:
        """Status of its engine."""
        return str(self.state["status"])

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            if "shown" in event:
                self.shown = event["shown"]
            elif "path" in event:
                self._looks.append(event)
            else:
                self.state = event

    def _read_complaints(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.complaints.append(line.rstrip())

    def until(self, done: Callable[[], bool], what: str, patience_s: float = _PATIENCE_S) -> None:
        """Wait until something is so.

        Raises:
            TimeoutError: it does not come to be.
            ChildProcessError: the window ended meanwhile.
        """
        end_s = time.monotonic() + patience_s
        while not done():
            if self._process.poll() is not None:
                said = self._end_of_complaints()
                raise ChildProcessError(f"the window ended, waiting for {what}: {said}")
            if time.monotonic() > end_s:
                raise TimeoutError(f"no {what} in {patience_s:g} s; the engine is {self.state}")
            time.sleep(0.005)

    def _end_of_complaints(self) -> str:
        return f"code {self._process.poll()}, {' | '.join(self.complaints[-12:])}"

    def until_status(self, *wanted: str) -> None:
        """Wait for a status of the engine."""
        self.until(lambda: self.status in wanted, " or ".join(wanted))

    def tell(self, order: str, **values: Any) -> None:
        """Have it do something."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": order, **values}) + "\n")
        self._process.stdin.flush()

    def look(self) -> dict[str, Any]:
        """Return what it shows: ``path`` (role, text, state), ``notices`` by key, ``chats``."""
        seen = len(self._looks)
        self.tell("look")
        self.until(lambda: len(self._looks) > seen, "answer")
        return self._looks[-1]

    def send(self, text: str) -> None:
        """Ask something in a new chat, and wait until it is being answered."""
        self.shown = 0
        self.tell("send", text=text)

    def until_looks(
        self, done: Callable[[dict[str, Any]], bool], what: str, patience_s: float = _PATIENCE_S
    ) -> dict[str, Any]:
        """Look until something is to be seen, and return the last look."""
        end_s = time.monotonic() + patience_s
        while not done(look := self.look()):
            if time.monotonic() > end_s:
                raise TimeoutError(f"no {what} in {patience_s:g} s; it shows {str(look)[:600]}")
            time.sleep(0.03)
        return look

    def kill(self) -> None:
        """End it at once; its engine is to follow by itself.

        Raises:
            TimeoutError: the engine goes on without its window.
        """
        if self._process.poll() is not None:
            self._drain()
            raise ChildProcessError("the window ended by itself: " + self._end_of_complaints())
        children = psutil.Process(self.pid).children(recursive=True)
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._drain()
        _gone, alive = psutil.wait_procs(children, timeout=15)
        for child in alive:
            child.kill()
        if alive:
            raise TimeoutError(f"left running without a window: {alive}")

    def close(self) -> None:
        """Close the window as a user does."""
        if self._process.poll() is None:
            self.tell("close")
            try:
                self._process.wait(timeout=_PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
                raise
        self._drain()

    def _drain(self) -> None:
        for thread in self._threads:
            thread.join(timeout=10)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass


# --- the window itself


def _main() -> int:
    from PySide6.QtCore import QObject, Signal
    from PySide6.QtWidgets import QApplication

    from app.paths import default_paths
    from app.ui.application import Application

    app = QApplication(["plimsoll"])
    paths = default_paths()
    paths.make()
    program = Application(paths, sys.argv[1])
    program.window.show()

    def say(**values: Any) -> None:
        print(json.dumps(values), flush=True)

    def state_changed(state: Any) -> None:
        say(status=state.status, pid=state.pid, sentence=state.sentence)

    def text_arrived(*_values: object) -> None:
        live = program.controller.runner.live
        if live is not None:
            say(shown=len(live.text))

    def look() -> None:
        notices = program.window.chat.notices
        say(
            path=[
                {"id": item.id, "role": item.role, "text": item.text, "state": item.state}
                for item in program.controller.path
            ],
            notices={key: notices.bar(key).text for key in notices.notices()},
            chats=[chat.id for chat in program.chats.conversations],
            running=program.controller.runner.is_running,
        )

    def ask(text: str) -> None:
        program.chats.new_chat()
        program.window.chat.composer.set_text(text)
        program.window.chat.composer.send_requested.emit(text)

    def obey(order: dict[str, Any]) -> None:
        match order["do"]:
            case "look":
                # What the store was handed before comes first, and so do its answers.
                program.store.do(lambda _store: None, lambda _none: look(), lambda _error: look())
            case "send":
                ask(order["text"])
            case "open":
                program.chats.open(order["chat"])
            case "load":
                program.models.load(order["path"])
            case "retry":
                program.window.chat.notices.chosen.emit("store", "retry")
            case "clock":
                _set_clock(order["ahead_s"])
            case "close":
                program.window.close()

    class Orders(QObject):
        came = Signal(object)

        def read(self) -> None:
            for line in sys.stdin:
                self.came.emit(json.loads(line))
            os._exit(0)  # whoever gave orders is gone

    orders = Orders()
    orders.came.connect(obey)
    threading.Thread(target=orders.read, daemon=True).start()
    program.engine.state_changed.connect(state_changed)
    program.controller.runner.text_arrived.connect(text_arrived)
    code = app.exec()
    program.release()
    sys.stdout.flush()
    # The thread that reads orders holds stdin; an orderly end would wait for it.
    os._exit(code)


_true_time, _true_time_ns = time.time, time.time_ns


def _set_clock(ahead_s: float) -> None:
    """Let the window's wall clock jump, as a wrong battery or a time server's answer does."""
    time.time = lambda: _true_time() + ahead_s
    time.time_ns = lambda: _true_time_ns() + int(ahead_s * 1e9)


if __name__ == "__main__":
    sys.exit(_main())

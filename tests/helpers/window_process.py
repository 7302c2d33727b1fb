"""A window as a process of its own: it tells what it shows, line by line, and does what it's told.

The window itself is `tests.helpers.window_child`. It is started as a new interpreter, or split off
from a `Nursery`, which has read all modules already: that spares two seconds of work a start.
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
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import psutil

from app.paths import DATA_DIR_VARIABLE
from tests.helpers.patience import PATIENCE_S
from tests.helpers.window_nursery import Nursery, SplitOff

__all__ = ["WindowProcess"]

_ROOT = Path(__file__).resolve().parents[2]


class WindowProcess:
    """A window that runs, offscreen, on a data folder."""

    def __init__(
        self,
        data: Path,
        model: Path | None,
        environment: Mapping[str, str | None],
        nursery: Nursery | None = None,
    ) -> None:
        known = os.environ | {DATA_DIR_VARIABLE: str(data), "QT_QPA_PLATFORM": "offscreen"}
        changed = {name: value for name, value in environment.items() if value is not None}
        kept = {name: known[name] for name in known if environment.get(name, "") is not None}
        self.state: dict[str, Any] = {"status": "starting", "pid": None, "sentence": ""}
        self.statuses: list[str] = []  # of its engine, in order
        self.shown = 0  # characters of the running reply that were on screen
        self.done: list[Any] = []  # what it told to have done, in order
        self._looks: list[dict[str, Any]] = []
        self.complaints: list[str] = []  # its stderr
        arguments = [] if model is None else [str(model)]
        self._process = _start(arguments, kept | changed, nursery)
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

    @property
    def children(self) -> list[psutil.Process]:
        """The processes it has started, and theirs."""
        return psutil.Process(self.pid).children(recursive=True)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with suppress(ValueError):  # a line that was cut by the window's end
                self._take(json.loads(line))

    def _take(self, event: dict[str, Any]) -> None:
        if "shown" in event:
            self.shown = event["shown"]
        elif "path" in event:
            self._looks.append(event)
        elif "did" in event:
            self.done.append(event["did"])
        else:
            self.state = event
            self.statuses.append(event["status"])

    def _read_complaints(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.complaints.append(line.rstrip())

    def until(self, done: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
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
            time.sleep(0.004)

    def _end_of_complaints(self) -> str:
        return f"code {self._process.poll()}, {' | '.join(self.complaints[-12:])}"

    def until_status(self, *wanted: str) -> None:
        """Wait for a status of the engine."""
        self.until(lambda: self.status in wanted, " or ".join(wanted))

    def tell(self, order: str, **values: Any) -> None:
        """Have it do something."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended; whoever waits for it finds that out
            self._process.stdin.write(json.dumps({"do": order, **values}) + "\n")
            self._process.stdin.flush()

    def look(self) -> dict[str, Any]:
        """Return what it shows, see `tests.helpers.window_child`."""
        seen = len(self._looks)
        self.tell("look")
        self.until(lambda: len(self._looks) > seen, "answer")
        return self._looks[-1]

    def send(self, text: str, *, new_chat: bool = True) -> None:
        """Ask something, in a new chat or the one on screen."""
        self.shown = 0
        self.tell("send", text=text, new_chat=new_chat)

    def until_looks(
        self, done: Callable[[dict[str, Any]], bool], what: str, patience_s: float = PATIENCE_S
    ) -> dict[str, Any]:
        """Look until something is to be seen, and return the last look."""
        end_s = time.monotonic() + patience_s
        while not done(look := self.look()):
            if time.monotonic() > end_s:
                shown = f"{look['notices']}, {str(look)[:600]}"
                raise TimeoutError(f"no {what} in {patience_s:g} s; it shows {shown}")
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
        children = self.children
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._drain()
        _gone, alive = psutil.wait_procs(children, timeout=PATIENCE_S)
        for child in alive:
            child.kill()
        if alive:
            raise TimeoutError(f"left running without a window: {alive}")

    def close(self) -> None:
        """Close the window as a user does."""
        if self._process.poll() is None:
            self.tell("close")
            try:
                self._process.wait(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
                raise
        self._drain()

    def _drain(self) -> None:
        for thread in self._threads:
            thread.join(timeout=10)
        streams: tuple[IO[str] | None, ...] = (
            self._process.stdin, self._process.stdout, self._process.stderr,
        )  # fmt: skip
        for stream in streams:
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


def _start(
    arguments: list[str], environment: Mapping[str, str], nursery: Nursery | None
) -> subprocess.Popen[str] | SplitOff:
    if nursery is not None:
        return nursery.split_off(arguments, environment)
    return subprocess.Popen(
        [sys.executable, "-m", "tests.helpers.window_child", *arguments],
        cwd=_ROOT,
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

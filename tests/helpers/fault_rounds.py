"""The faults of `tests.bench.faults`: each begins a reply, breaks something, and looks again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from app.engine.launch import FAKE_ENGINE_VARIABLE
from app.paths import Paths
from app.settings import Settings
from tests.helpers.network import Network
from tests.helpers.rpc_server import rpc_server
from tests.helpers.store_damage import damage
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window_process import WindowProcess

__all__ = ["KINDS", "Attack", "Outcome"]

_TOKENS_PER_S = 250
_REPLY = " ".join(f"w{i:04}" for i in range(400))  # 1.6 s
_CHARACTERS_PER_S = _TOKENS_PER_S * 6
_TINY_WORDS = tuple(f" t{i}" for i in range(900))
_DISK_BYTES = 24 << 20
_REAL_EVERY = 5
_FAR_S = 40 * 365 * 86_400


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a round. ``problem`` says what did not work, if anything didn't.

    ``held_to_goal`` is False where a loss can't be helped: what lies in memory alone because the
    disk is full ends with the process.
    """

    kind: str
    lost_characters: int = 0
    lost_s: float = 0.0
    problem: str = ""
    held_to_goal: bool = True


class _Wrong(Exception):  # noqa: N818 - what a round found
    """Something that should work did not."""


def _check(so: bool, what: str) -> None:
    if not so:
        raise _Wrong(what)


def _names(look: dict[str, Any], model: Path) -> bool:
    """Tell whether a notice says that a model's file is not there."""
    return any("no file" in text and model.name in text for text in look["notices"].values())


class Attack:
    """One data folder and the window on it, through all rounds. Use as a context manager."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._folder = folder
        self._chance = chance
        self._data = folder / "data"
        self._data.mkdir()
        self._stack = ExitStack()
        self._window: WindowProcess | None = None
        self._model = folder / "Fake-1B-Q4_0.gguf"
        self._model.write_bytes(b"fake")
        shape = TinyModel(layers=4, script=(*_TINY_WORDS, "<|im_end|>"))
        self._tiny = write_tiny_model(folder / "Tiny-Chat-F32.gguf", shape)
        self._tiny_bytes = self._tiny.read_bytes()
        script = folder / "script.json"
        script.write_text(
            json.dumps(
                {
                    "replies": [_REPLY],
                    "decode_per_s": _TOKENS_PER_S,
                    "prefill_per_s": 200,
                    "load_s": 0.1,
                }
            )
        )
        self._fake: dict[str, str | None] = {FAKE_ENGINE_VARIABLE: str(script)}
        self._rounds = 0
        self._real = False
        self._expected = _REPLY
        self._characters_per_s: float = _CHARACTERS_PER_S
        self.impossible: set[str] = set()

    def __enter__(self) -> Self:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs", str(self._data)],
            check=False,
            capture_output=True,
        )
        if mounted.returncode:
            self.impossible |= {"disk full", "disk full and window killed"}
        else:
            unmount = ["umount", "-l", str(self._data)]
            self._stack.callback(lambda: subprocess.run(unmount, check=False))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._window is not None:
                self._window.kill()
        finally:
            self._stack.close()

    def round(self, kind: str) -> Outcome:
        """Do one fault and look what became of it."""
        self._rounds += 1
        try:
            return _ROUNDS[kind](self, kind)
        except (_Wrong, TimeoutError, OSError) as error:
            with suppress(OSError, TimeoutError):  # told already
                self._drop()
            self._tiny.write_bytes(self._tiny_bytes)
            (self._data / "ballast").unlink(missing_ok=True)
            return Outcome(kind, problem=str(error) or type(error).__name__)

    # --- windows

    def _start(self, *, loads: bool = True) -> WindowProcess:
        model, environment = self._engine()
        self._window = WindowProcess(self._data, model, environment)
        self._window.until_status(*(("ready", "lost") if loads else ("idle",)))
        return self._window

    def _ready(self, *, real: bool | None = None) -> WindowProcess:
        """Return a window with a loaded model, now and then the real engine's."""
        want_real = self._rounds % _REAL_EVERY == 0 if real is None else real
        window = self._window
        if window is not None and (want_real != self._real or window.status != "ready"):
            self._drop()
            window = None
        self._real = want_real
        if window is None:
            window = self._start()
        _check(window.status == "ready", f"no model after a start: {window.state}")
        self._expected = "".join(_TINY_WORDS) if want_real else _REPLY
        return window

    def _engine(self) -> tuple[Path, dict[str, str | None]]:
        if not self._real:
            return self._model, self._fake
        return self._tiny, {FAKE_ENGINE_VARIABLE: None}

    def _drop(self) -> None:
        window, self._window = self._window, None
        if window is not None:
            window.kill()

    # --- replies

    def _begin(self, window: WindowProcess) -> str:
        """Ask, wait for a random moment of the reply, and return the question."""
        question = f"Question {self._rounds}, {self._chance.random()}"
        window.send(question)
        window.until(lambda: window.shown > 0, "text of a reply")
        begun_s = time.monotonic()
        time.sleep(self._chance.uniform(0.0, 0.3 if self._real else 1.5))
        # llama.cpp with a tiny model writes faster than the script does.
        seen_per_s = window.shown / max(time.monotonic() - begun_s, 0.1)
        self._characters_per_s = max(_CHARACTERS_PER_S, seen_per_s if self._real else 0.0)
        return question

    def _ended(self, window: WindowProcess) -> dict[str, Any]:
        """Wait until the reply on screen is as the store has it."""
        return window.until_looks(
            lambda look: (
                len(look["path"]) == 2
                and not look["running"]
                and look["path"][1]["state"] != "streaming"
            ),
            "end of a reply",
        )

    def _finished(self, window: WindowProcess, question: str) -> None:
        look = self._ended(window)
        self._loss(look, question, 0, "complete")

    def _loss(
        self, look: dict[str, Any], question: str, shown: int, *states: str
    ) -> tuple[int, float]:
        """Check the chat on screen; return what is missing of a reply, in characters and time."""
        _check(len(look["path"]) == 2, f"the chat has {len(look['path'])} messages, not two")
        asked, reply = look["path"]
        _check(asked["text"] == question, f"the question became {asked['text'][:80]!r}")
        _check(
            self._expected.startswith(reply["text"]), f"the reply became {reply['text'][-80:]!r}"
        )
        _check(reply["state"] in states, f"the reply's state is {reply['state']}")
        if "complete" in states and reply["state"] == "complete":
            _check(reply["text"] == self._expected, "a whole reply lacks its end")
        lost = max(0, shown - len(reply["text"]))
        return lost, lost / self._characters_per_s

    def _again(self, window: WindowProcess) -> None:
        """Check that a new message is answered."""
        question = f"Again {self._rounds}"
        window.send(question)
        window.until(lambda: window.shown > 0, "text of a reply after the fault")
        self._finished(window, question)

    def _restarted(
        self, question: str, *, loads: bool = True
    ) -> tuple[WindowProcess, dict[str, Any]]:
        """Start the window again and open the chat that begins with a question."""
        window = self._start(loads=loads)
        look = window.until_looks(lambda look: bool(look["chats"]), "list of chats")
        for chat in look["chats"]:
            window.tell("open", chat=chat)
            look = window.until_looks(
                lambda look, chat=chat: bool(look["path"]),  # type: ignore[misc]
                "a chat",
            )
            if look["path"][0]["text"] == question:
                return window, look
        raise _Wrong("the chat is gone")

    # --- faults

    def worker_killed(self, kind: str) -> Outcome:
        """End the engine while it loads, reads, writes or idles; load again."""
        window = self._ready()
        phase = self._chance.choice(["load", "prefill", "decode", "decode", "idle"])
        signal_ = self._chance.choice([signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
        question = ""
        if phase == "load":
            before = window.state["pid"]
            window.tell("load", path=str(self._engine()[0]))
            window.until(lambda: window.state["pid"] not in {before, None}, "another engine")
            time.sleep(self._chance.uniform(0.0, 0.15))
        elif phase == "prefill":
            question = "word " * 60
            window.send(question)
            window.until_status("prefill", "decode", "ready")
        elif phase == "decode":
            question = self._begin(window)
        pid = window.state["pid"]
        if pid is not None:
            os.kill(pid, signal_)
        window.until_status("lost")
        _check(window.state["sentence"].startswith("The engine "), f"said: {window.state}")
        lost, lost_s = 0, 0.0
        if question:
            look = self._ended(window)
            states = ("interrupted", "complete") if window.shown else ("interrupted", "failed")
            lost, lost_s = self._loss(look, question.strip(), window.shown, *states)
            _check("engine-lost" in look["notices"], f"no notice of the loss: {look['notices']}")
        window.tell("load", path=str(self._engine()[0]))
        window.until_status("ready")
        self._again(window)
        return Outcome(kind, lost, lost_s)

    def window_killed(self, kind: str) -> Outcome:
        """End the window; the next start shows what there was, marked as interrupted."""
        window = self._ready()
        question = self._begin(window)
        self._drop()
        shown = window.shown
        window, look = self._restarted(question)
        lost, lost_s = self._loss(look, question, shown, "interrupted", "complete")
        return Outcome(kind, lost, lost_s)

    def disk_full(self, kind: str) -> Outcome:
        """Fill the disk in mid-reply, make room again, and kill the window after that."""
        window = self._ready(real=False)
        question = self._begin(window)
        ballast = self._fill()
        self._finished(window, question)
        said = window.look()["notices"].get("store")  # none if it went into room of the store's own
        _check(said is None or "disk is full" in said, f"said: {said}")
        ballast.unlink()
        window.tell("retry")
        window.until_looks(lambda look: "store" not in look["notices"], "end of the notice")
        self._drop()
        window, look = self._restarted(question)
        lost, lost_s = self._loss(look, question, len(_REPLY), "complete")
        return Outcome(kind, lost, lost_s)

    def disk_full_and_killed(self, kind: str) -> Outcome:
        """The same, but the window dies before there is room: what was said to be in memory."""
        window = self._ready(real=False)
        question = self._begin(window)
        ballast = self._fill()
        window.until_looks(
            lambda look: "store" in look["notices"] or not look["running"], "notice of the disk"
        )
        time.sleep(self._chance.uniform(0.0, 0.5))
        self._drop()
        shown = window.shown
        window = self._start()  # with the disk still full
        window.look()
        self._drop()
        ballast.unlink()
        window, look = self._restarted(question)
        lost, lost_s = self._loss(look, question, shown, "interrupted", "complete")
        return Outcome(kind, lost, lost_s, held_to_goal=False)

    def _fill(self) -> Path:
        ballast = self._data / "ballast"
        with ballast.open("wb", buffering=0) as file:
            for size in (1 << 16, 1 << 10, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    pass
        return ballast

    def store_corrupt(self, kind: str) -> Outcome:
        """Damage the store behind a killed window; what can be read of it comes back."""
        window = self._ready(real=False)
        question = self._begin(window)
        self._drop()
        what = damage(Paths(self._data, self._data / "cache").store, self._chance)
        window = self._start()
        look = window.look()
        said = look["notices"].get("store", "")
        _check("in memory" not in said, f"{what}: {said}")
        window.send(question + " again")
        window.until(lambda: window.shown > 0, f"text after {what}")
        self._drop()
        window, _look = self._restarted(question + " again")
        return Outcome(kind)

    def model_removed(self, kind: str) -> Outcome:
        """Remove the model file while it answers; the next start says that it is gone."""
        window = self._ready(real=True)  # the scripted engine needs no file
        model = self._engine()[0]
        question = self._begin(window)
        model.unlink()
        self._finished(window, question)
        window.tell("load", path=str(model))
        window.until_looks(lambda look: _names(look, model), "notice that the file is gone")
        _check(window.status == "ready", f"the loaded model went, too: {window.state}")
        self._drop()
        window, look = self._restarted(question, loads=False)
        lost, lost_s = self._loss(look, question, len(self._expected), "complete")
        window.until_looks(lambda look: _names(look, model), "notice at the start")
        model.write_bytes(self._tiny_bytes)
        window.tell("load", path=str(model))
        window.until_status("ready")
        return Outcome(kind, lost, lost_s)

    def device_taken(self, kind: str) -> Outcome:
        """Cut the network to a device in mid-reply; the model loads again without it."""
        self._drop()
        self._real = True
        settings = Settings(self._data / "settings.json")
        try:
            with rpc_server() as server, Network(server.endpoint, delay_s=0.004) as network:
                settings.set("rpc", (network.endpoint,))
                window = self._ready(real=True)
                question = self._begin(window)
                network.cut()
                window.until_status("lost", "ready")
                look = self._ended(window)
                lost, lost_s = self._loss(look, question, window.shown, "interrupted", "complete")
                _check(network.endpoint in str(look["notices"]), f"said: {look['notices']}")
                server.stop()
            self._drop()
            window, look = self._restarted(question)
            window.until_looks(lambda look: "engine" in look["notices"], "notice of the device")
            window.until_status("ready")
            self._again(window)
        finally:
            settings.set("rpc", ())
            self._drop()
        return Outcome(kind, lost, lost_s)

    def worker_stopped(self, kind: str) -> Outcome:
        """Suspend the engine for a while."""
        window = self._ready()
        question = self._begin(window)
        return self._suspended(kind, window, window.state["pid"], question)

    def window_stopped(self, kind: str) -> Outcome:
        """Suspend the window for a while; the engine waits for somebody to listen."""
        window = self._ready()
        question = self._begin(window)
        return self._suspended(kind, window, window.pid, question)

    def _suspended(self, kind: str, window: WindowProcess, pid: int, question: str) -> Outcome:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self._chance.uniform(0.1, 1.0))
        os.kill(pid, signal.SIGCONT)
        self._finished(window, question)
        return Outcome(kind)

    def clock_jumped(self, kind: str) -> Outcome:
        """Let the wall clock jump by up to decades, also back; what follows stays in order."""
        window = self._ready()
        question = self._begin(window)
        ahead_s = self._chance.choice([-1, 1]) * 10 ** self._chance.uniform(0, 9)
        window.tell("clock", ahead_s=max(-_FAR_S, min(ahead_s, _FAR_S)))
        self._finished(window, question)
        self._again(window)
        self._drop()
        _window, look = self._restarted(question)
        lost, lost_s = self._loss(look, question, len(self._expected), "complete")
        return Outcome(kind, lost, lost_s)


_ROUNDS: Final[dict[str, Callable[[Attack, str], Outcome]]] = {
    "worker killed": Attack.worker_killed,
    "window killed": Attack.window_killed,
    "disk full": Attack.disk_full,
    "disk full and window killed": Attack.disk_full_and_killed,
    "store corrupt": Attack.store_corrupt,
    "model file removed": Attack.model_removed,
    "RPC device taken away": Attack.device_taken,
    "worker suspended": Attack.worker_stopped,
    "window suspended": Attack.window_stopped,
    "clock jumps": Attack.clock_jumped,
}
KINDS: Final = tuple(_ROUNDS)

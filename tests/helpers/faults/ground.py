"""Where the rounds happen: one data folder through all of them, and the window on it."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from app.engine.launch import FAKE_ENGINE_VARIABLE
from app.paths import Paths
from tests.helpers.faults.ledger import Ledger
from tests.helpers.faults.outcome import Wrong, check
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window_nursery import Nursery
from tests.helpers.window_process import WindowProcess

__all__ = ["REPLY", "Ground"]

_TOKENS_PER_S: Final = 250
REPLY: Final = " ".join(f"w{i:04}" for i in range(300))  # 1.2 s
_CHARACTERS_PER_S: Final = _TOKENS_PER_S * 6
_TINY_WORDS: Final = tuple(f" t{i}" for i in range(900))
_DISK_BYTES: Final = 24 << 20
# A fifth of the rounds, three at a time: a window that goes over to the other engine starts anew.
_REAL_ROUNDS: Final = 3
_REAL_EVERY: Final = 5
_NEW_INTERPRETER_EVERY: Final = 8


class Ground:
    """One data folder and the window on it. Use as a context manager.

    Attributes:
        folder: of everything that lies outside the data folder, such as models.
        data: the data folder, on a small file system of its own where one can be mounted.
        chance: decides what is left to chance.
        ledger: what has to be in the store.
        window: the window, None while there is none.
        own_disk: whether the data folder has a disk of its own to fill.
        real: whether the window runs over llama.cpp with a tiny model.
        expected: the reply that the engine in use gives.
    """

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder = folder
        self.chance = chance
        self.data = folder / "data"
        self.data.mkdir()
        self.paths = Paths(self.data, self.data / "cache")
        self.ledger = Ledger(self.paths.store)
        self.window: WindowProcess | None = None
        self.own_disk = False
        self.real = False
        self.expected = REPLY
        self.rounds = 0
        self._starts = 0
        self._stack = ExitStack()
        self._nursery: Nursery | None = None
        self._model = folder / "Fake-1B-Q4_0.gguf"
        self._model.write_bytes(b"fake")
        shape = TinyModel(layers=4, script=(*_TINY_WORDS, "<|im_end|>"))
        self.tiny = write_tiny_model(folder / "Tiny-Chat-F32.gguf", shape)
        self.tiny_bytes = self.tiny.read_bytes()
        self._script = folder / "script.json"
        self.set_script()
        self._characters_per_s: float = _CHARACTERS_PER_S
        self._environment: dict[str, str | None] = {"HOME": str(folder / "home")}

    def __enter__(self) -> Self:
        mounted = (
            sys.platform == "linux"
            and not subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs", str(self.data)],
                check=False,
                capture_output=True,
            ).returncode
        )
        if mounted:
            self.own_disk = True
            unmount = ["umount", "-l", str(self.data)]
            self._stack.callback(lambda: subprocess.run(unmount, check=False))
        if hasattr(os, "fork"):
            self._nursery = self._stack.enter_context(Nursery())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self.window is not None:
                self.window.kill()
        finally:
            self._stack.close()

    def set_script(self, **values: Any) -> None:
        """Say how the scripted engine behaves from its next start on."""
        script = {
            "replies": [REPLY],
            "decode_per_s": _TOKENS_PER_S,
            "prefill_per_s": 200,
            "load_s": 0.1,
        }
        self._script.write_text(json.dumps(script | values))

    def clean_up(self) -> None:
        """Bring models and disk back to what they were, after a round that went wrong."""
        with suppress(OSError, TimeoutError):  # told already
            self.drop()
        if self.own_disk:
            subprocess.run(
                ["mount", "-o", "remount,rw", str(self.data)], check=False, capture_output=True
            )
        (self.data / "ballast").unlink(missing_ok=True)
        self.restore_tiny()
        self.set_script()
        with suppress(OSError, sqlite3.Error):
            self.ledger.start_again()

    def restore_tiny(self) -> None:
        """Put the tiny model's file back, as another file under its name."""
        fresh = self.tiny.with_suffix(".fresh")
        fresh.write_bytes(self.tiny_bytes)
        if self.tiny.is_dir():
            self.tiny.rmdir()
        fresh.replace(self.tiny)

    # --- windows

    def open(
        self,
        *,
        data: Path | None = None,
        environment: dict[str, str | None] | None = None,
        model: Path | None = None,
    ) -> WindowProcess:
        """Open a window and return it at once."""
        self._starts += 1
        usual, engine = self.engine()
        nursery = None if self._starts % _NEW_INTERPRETER_EVERY == 0 else self._nursery
        settled = self._environment | engine | (environment or {})
        self.window = WindowProcess(data or self.data, model or usual, settled, nursery)
        return self.window

    def start(self, *, loads: bool = True, **options: Any) -> WindowProcess:
        """Open a window and wait until its engine stands."""
        window = self.open(**options)
        window.until_status(*(("ready", "lost") if loads else ("idle",)))
        return window

    def ready(self, *, real: bool | None = None) -> WindowProcess:
        """Return a window with a loaded model, now and then the real engine's."""
        in_turn = self.rounds // _REAL_ROUNDS % _REAL_EVERY == 1
        want_real = in_turn if real is None else real
        window = self.window
        if window is not None and (want_real != self.real or window.status != "ready"):
            self.drop()
            window = None
        self.real = want_real
        if window is None:
            window = self.start()
        check(window.status == "ready", f"no model after a start: {window.state}")
        self.expected = "".join(_TINY_WORDS) if want_real else REPLY
        return window

    def load(self, window: WindowProcess) -> None:
        """Have the model loaded once more."""
        seen = len(window.statuses)
        window.tell("load", path=str(self.engine()[0]))
        window.until(
            lambda: "loading" in window.statuses[seen:] and window.status == "ready",
            "model after a load",
        )

    def engine(self) -> tuple[Path, dict[str, str | None]]:
        """Return the model in use and the environment of its engine."""
        if not self.real:
            return self._model, {FAKE_ENGINE_VARIABLE: str(self._script)}
        return self.tiny, {FAKE_ENGINE_VARIABLE: None}

    def drop(self) -> None:
        """Kill the window, if there is one."""
        window, self.window = self.window, None
        if window is not None:
            window.kill()

    # --- replies

    def ask(self, window: WindowProcess, question: str) -> None:
        """Ask something in a chat of its own."""
        self.ledger.asked(question, self.expected)
        window.send(question)

    def begin(self, window: WindowProcess, *, wait: bool = True) -> str:
        """Ask, wait for a random moment of the reply, and return the question."""
        question = f"Question {self.rounds}, {self.chance.random()}"
        self.ask(window, question)
        window.until(lambda: window.shown > 0, "text of a reply")
        begun_s = time.monotonic()
        if wait:
            time.sleep(self.chance.uniform(0.0, 0.3 if self.real else 1.1))
        # llama.cpp with a tiny model writes faster than the script does.
        seen_per_s = window.shown / max(time.monotonic() - begun_s, 0.1)
        self._characters_per_s = max(_CHARACTERS_PER_S, seen_per_s if self.real else 0.0)
        return question

    def ended(self, window: WindowProcess) -> dict[str, Any]:
        """Wait until the reply on screen is as the store has it."""
        return window.until_looks(
            lambda look: (
                len(look["path"]) == 2
                and not look["running"]
                and look["path"][1]["state"] != "streaming"
            ),
            "end of a reply",
        )

    def finished(self, window: WindowProcess, question: str) -> None:
        """Check that the reply on screen comes to its whole end."""
        self.loss(self.ended(window), question, 0, "complete")

    def loss(
        self, look: dict[str, Any], question: str, shown: int, *states: str
    ) -> tuple[int, float]:
        """Check the chat on screen; return what is missing of a reply, in characters and time."""
        check(len(look["path"]) == 2, f"the chat has {len(look['path'])} messages, not two")
        asked, reply = look["path"]
        check(asked["text"] == question, f"the question became {asked['text'][:80]!r}")
        check(self.expected.startswith(reply["text"]), f"the reply became {reply['text'][-80:]!r}")
        check(reply["state"] in states, f"the reply's state is {reply['state']}")
        if "complete" in states and reply["state"] == "complete":
            check(reply["text"] == self.expected, "a whole reply lacks its end")
        self.ledger.seen(question, reply["text"])
        lost = max(0, shown - len(reply["text"]))
        return lost, lost / self._characters_per_s

    def answers(self, window: WindowProcess, what: str = "Again") -> None:
        """Check that a new message is answered, and that an answer can be stopped."""
        question = f"{what} {self.rounds}, {self.chance.random()}"
        self.ask(window, question)
        window.until(lambda: window.shown > 0, "text of a reply after the fault")
        window.tell("stop")
        self.loss(self.ended(window), question, 0, "stopped", "complete")

    def restarted(
        self, question: str, *, loads: bool = True
    ) -> tuple[WindowProcess, dict[str, Any]]:
        """Start the window again, check its store and open the chat of a question."""
        window = self.start(loads=loads)
        return window, self.find(window, question)

    def find(self, window: WindowProcess, question: str) -> dict[str, Any]:
        """Open the chat that begins with a question and return what is shown of it."""
        chat = self.ledger.chat_of(question)
        if chat is None:
            raise Wrong(f"the chat of {question[:60]!r} is gone")
        window.until_looks(lambda look: chat in look["chats"], "chat in the list")
        window.tell("open", chat=chat)
        look = window.until_looks(
            lambda look: bool(look["path"]) and look["path"][0]["text"] == question, "a chat"
        )
        self.ledger.audit()
        return look

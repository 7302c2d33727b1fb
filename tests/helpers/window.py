"""A whole program in a test: window, store, engine process; and a way to run one to be killed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtWidgets import QApplication

from app.data.conversations import ConversationStore
from app.data.records import Conversation
from app.paths import Paths, default_paths
from app.ui.application import Application
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

__all__ = ["Program", "twice_answered"]

T = TypeVar("T")


class Program:
    """An `Application` with what tests ask of it."""

    def __init__(self, qtbot: Any, paths: Paths, model: Path | None = None) -> None:
        self.qtbot = qtbot
        self.app = Application(paths, None if model is None else str(model))
        self.app.tuning.enabled = False  # a test says when something is measured
        self.app.window.resize(1440, 900)  # the offscreen platform's screen is a small one
        self.app.window.show()
        self._open = True

    def until(self, done: Any) -> None:
        """Let the window run until something is so."""
        self.qtbot.waitUntil(done)

    def ready(self) -> Program:
        """Wait for a loaded model."""
        self.until(lambda: self.app.engine.state.status == "ready")
        return self

    def settle(self) -> None:
        """Wait until the store has done what was handed in."""
        done: list[bool] = []
        self.app.store.do(lambda _store: True, done.append)
        self.until(lambda: bool(done))

    def read(self, work: Callable[[ConversationStore], T]) -> T:
        """Return what the store gives."""
        found: list[T] = []
        self.app.store.do(work, found.append)
        self.until(lambda: bool(found))
        return found[0]

    def send(self, text: str) -> None:
        """Type a message and press Send; wait until it is being answered."""
        before = len(self.app.controller.path)
        self.app.window.chat.composer.set_text(text)
        self.app.window.chat.composer.send_requested.emit(text)
        self.until(lambda: len(self.app.controller.path) > before)

    @property
    def is_answered(self) -> bool:
        """Whether the last message on screen is a finished reply."""
        path = self.app.controller.path
        return bool(path) and path[-1].role == "assistant" and path[-1].state != "streaming"

    def answered(self) -> None:
        """Wait for the end of the reply, and until it was read back from the store."""
        self.until(lambda: not self.app.controller.runner.is_running)
        self.until(lambda: self.is_answered)

    def answered_chat(self, text: str) -> Conversation:
        """Send a message, wait for its reply and return the chat they are in."""
        self.send(text)
        self.answered()
        chat = self.app.controller.conversation
        assert chat is not None
        return chat

    def written(self) -> int:
        """Return how many characters of the running reply there are."""
        live = self.app.controller.runner.live
        return 0 if live is None else len(live.text)

    def texts(self) -> list[str]:
        """Return the texts on screen, the user's and the replies."""
        return [message.text for message in self.app.controller.path]

    def notices(self) -> list[str]:
        """Return the keys of the notices on screen."""
        return list(self.app.window.chat.notices.notices())

    def close(self) -> None:
        """Close the window as a user does."""
        if not self._open:
            return
        self._open = False
        with self.qtbot.waitSignal(self.app.engine.closed):
            self.app.window.close()
        self.app.release()
        self.app.deleteLater()


def twice_answered(open_program: Callable[..., Program], folder: Path) -> Program:
    """Return a program whose chat has two answered messages, eight tokens of a long story each."""
    story = (f" word{i}" for i in range(400))
    model = TinyModel(script=(*story, "<|im_end|>"))
    program = open_program(write_tiny_model(folder / "tiny.gguf", model)).ready()
    program.app.controller.set_chat_values(None, None, {"max_tokens": 8})
    program.answered_chat("Hello")
    program.answered_chat("More")
    return program


def _main() -> int:
    """Answer one message and print what is on screen, until somebody kills this process."""
    app = QApplication(["plimsoll"])
    model, text = sys.argv[1:3]
    paths = default_paths()
    paths.make()
    program = Application(paths, model)
    program.window.show()

    def loaded(_model: object) -> None:
        program.chat.send(text)

    def changed(*_values: object) -> None:
        live = program.controller.runner.live
        if live is not None:
            print(json.dumps({"chars": len(live.text), "at_s": time.monotonic()}), flush=True)

    program.models.model_loaded.connect(loaded)
    program.controller.runner.text_arrived.connect(changed)
    return app.exec()


if __name__ == "__main__":
    sys.exit(_main())

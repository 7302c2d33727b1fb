"""One way to talk to a worker through either client, so that one suite holds for both."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from app.engine.client import EngineClient, RequestFailed
from app.engine.protocol import (
    Cancel,
    ChatMessage,
    ChatPrompt,
    Chunk,
    Done,
    EngineMessage,
    Failed,
    Generate,
    Loaded,
    LoadOptions,
    Request,
    SamplingOptions,
    Started,
    is_final,
)
from app.engine.qt_client import EngineProcess

__all__ = ["BlockingDriver", "Driver", "QtDriver", "answer_of", "chat", "generate", "turn"]


class Driver(Protocol):
    """A worker and what was asked of it."""

    def new_id(self) -> int: ...

    def load(self, path: Path | str, options: LoadOptions | None = None) -> Loaded | Failed: ...

    def send(self, request: Request) -> None: ...

    def receive(self, request_id: int) -> Iterator[EngineMessage]: ...

    def close(self) -> None: ...

    @property
    def pid(self) -> int: ...

    @property
    def notices(self) -> list[str]: ...


class BlockingDriver:
    """Over `EngineClient`."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.client = EngineClient(on_notice=self.notices.append)
        self.client.start()

    @property
    def pid(self) -> int:
        assert self.client.pid is not None
        return self.client.pid

    def new_id(self) -> int:
        return self.client.new_id()

    def load(self, path: Path | str, options: LoadOptions | None = None) -> Loaded | Failed:
        try:
            return Loaded(id=0, model=self.client.load(str(path), options))
        except RequestFailed as error:
            return error.failed

    def send(self, request: Request) -> None:
        self.client.send(request)

    def receive(self, request_id: int) -> Iterator[EngineMessage]:
        return self.client.messages(request_id)

    def close(self) -> None:
        self.client.close()


class QtDriver:
    """Over `EngineProcess`."""

    def __init__(self, qtbot: Any) -> None:
        self.qtbot = qtbot
        self.notices: list[str] = []
        self.engine = EngineProcess()
        self._closed = False
        self._heard: list[EngineMessage] = []
        self.engine.message.connect(self._heard.append)
        self.engine.notice.connect(self.notices.append)
        self.engine.start()
        qtbot.waitUntil(lambda: self.engine.state.hello is not None)

    @property
    def pid(self) -> int:
        assert self.engine.state.pid is not None
        return self.engine.state.pid

    def new_id(self) -> int:
        return self.engine.new_id()

    def load(self, path: Path | str, options: LoadOptions | None = None) -> Loaded | Failed:
        request_id = self.engine.load(str(path), options or LoadOptions())
        *_, last = self.receive(request_id)
        assert isinstance(last, Loaded | Failed)
        return last

    def send(self, request: Request) -> None:
        if isinstance(request, Cancel):
            self.engine.cancel(request.target)
        else:
            self.engine.ask(request)

    def receive(self, request_id: int) -> Iterator[EngineMessage]:
        for seen in itertools.count():
            self.qtbot.waitUntil(lambda seen=seen: len(self._heard) > seen)
            message = self._heard[seen]
            if getattr(message, "id", None) == request_id:
                yield message
                if is_final(message):
                    return

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        with self.qtbot.waitSignal(self.engine.closed):
            self.engine.close()
        self.engine.deleteLater()


def chat(*turns: str, system: str | None = None, **options: Any) -> ChatPrompt:
    """Return a conversation of alternating turns, the user's first."""
    messages = [] if system is None else [ChatMessage(id="s", role="system", content=system)]
    messages += [
        ChatMessage(id=str(index), role="assistant" if index % 2 else "user", content=text)
        for index, text in enumerate(turns)
    ]
    return ChatPrompt(messages=tuple(messages), **options)


def generate(driver: Driver, prompt: ChatPrompt, **sampling: Any) -> Generate:
    """Return a request for a reply."""
    return Generate(
        id=driver.new_id(),
        conversation="c",
        chat=prompt,
        sampling=SamplingOptions(**({"temperature": 0.0} | sampling)),
    )


def turn(driver: Driver, prompt: ChatPrompt, **sampling: Any) -> list[EngineMessage]:
    """Return all messages of a reply."""
    request = generate(driver, prompt, **sampling)
    driver.send(request)
    return list(driver.receive(request.id))


def answer_of(messages: list[EngineMessage]) -> tuple[str, Started, Done]:
    """Return the text of a reply, its beginning and its end."""
    started = next(m for m in messages if isinstance(m, Started))
    done = messages[-1]
    assert isinstance(done, Done), done
    return "".join(m.answer for m in messages if isinstance(m, Chunk)), started, done

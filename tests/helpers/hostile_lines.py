"""Hostile lines of the protocol: to a real worker, and from a scripted one to both clients."""

from __future__ import annotations

import json
import os
import queue
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from app.engine import launch
from app.engine.client import EngineClient, EngineError
from app.engine.protocol import (
    Chunk,
    Done,
    EngineMessage,
    Hello,
    Load,
    Progress,
    QueryMemory,
    Request,
    encode_line,
)
from app.engine.protocol.requests import (
    Bench,
    Cancel,
    CountTokens,
    DryRun,
    Generate,
    Measure,
    Render,
    Score,
    Tune,
    Unload,
)
from app.engine.protocol.values import LoadOptions
from inspector.records import TurnStats
from tests.helpers.engine import chat
from tests.helpers.hostile_values import nasty_bytes
from tests.helpers.patience import PATIENCE_S

__all__ = ["attack_blocking_client", "attack_qt_client", "attack_worker", "scripted_worker"]


# --- towards the worker


def _requests() -> list[Request]:
    prompt = chat("hello", "hi", "and?")
    return [
        Load(id=1, path="/m.gguf", options=LoadOptions()),
        DryRun(id=1, path="/m.gguf"),
        Unload(id=1),
        CountTokens(id=1, text="how many"),
        Measure(id=1, chat=prompt, max_tokens=5),
        Render(id=1, chat=prompt),
        Generate(id=1, conversation="c", chat=prompt),
        Bench(id=1, test="decode", depth=4, tokens=2, repeat=1),
        Score(id=1, text="some words " * 30, chunk_tokens=8, chunks=1),
        Tune(id=1, options=LoadOptions(), budget_s=0.2, depth=16),
        Cancel(id=1, target=1),
    ]


class _RawWorker:
    """A worker without a client between."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            launch.worker_argv(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=launch.worker_environment(),
        )
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self.complaints: list[str] = []
        self._threads = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_complaints, daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._next(time.monotonic() + PATIENCE_S)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _read_complaints(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.complaints.append(line.decode("utf-8", "replace").rstrip())

    def _next(self, end_s: float) -> dict[str, Any] | None:
        line = self.lines.get(timeout=max(0.01, end_s - time.monotonic()))
        return None if line is None else dict(json.loads(line))

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def answers(self, number: int) -> str:
        """Ask something small; return what is wrong, if anything is."""
        self.write(encode_line(QueryMemory(id=number)))
        end_s = time.monotonic() + PATIENCE_S
        try:
            while (message := self._next(end_s)) is not None:
                if message.get("id") == number and message["type"] == "memory_now":
                    return ""
        except queue.Empty:
            return f"no answer in {PATIENCE_S:g} s"
        return f"ended with {self.process.wait()}: {' | '.join(self.complaints[-3:])}"

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(timeout=5)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                pass


def attack_worker(rounds: int, chance: random.Random, model: Path | None = None) -> list[str]:
    """Send hostile requests to a worker; return what went wrong, a sentence each.

    The worker is as the environment has it. After each line it has to answer a small question.
    ``model`` is loaded first.
    """
    problems: list[str] = []
    like = [json.loads(encode_line(request)) for request in _requests()]
    worker = _RawWorker()
    number = 1_000_000

    def prepare() -> None:
        if model is not None:
            options = LoadOptions(n_ctx=256, threads=1)
            worker.write(encode_line(Load(id=1, path=str(model), options=options)))

    prepare()
    try:
        for index in range(rounds):
            number += 1
            line = nasty_bytes(chance, chance.choice(like)).replace(b"\n", b" ")
            # Real memory is not to be asked for by the terabyte.
            if model is not None and (b'"load"' in line or b'"dry_run"' in line):
                continue
            worker.write(line + b"\n")
            worker.write(b'{"type":"cancel","id":1,"target":1}\n')
            wrong = worker.answers(number)
            if wrong:
                problems.append(f"request {index}: {wrong}; after {line[:300]!r}")
                worker.close()
                worker = _RawWorker()
                prepare()
        worker.write(b"x" * (33 << 20) + b"\n")
        try:
            worker.process.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            problems.append("an endless line does not end the worker")
    finally:
        worker.close()
    return problems


# --- towards the clients

_SCRIPTED = """
import base64, json, os, select, sys
steps = json.load(open(sys.argv[1]))
out = sys.stdout.buffer
for index, step in enumerate(steps):
    # Silence is no bad input: who is asked nothing more for a while ends.
    if index and not (select.select([0], [], [], 1.0)[0] and os.read(0, 1 << 20)):
        break
    for piece in step:
        try:
            out.write(base64.b64decode(piece)); out.flush()
        except OSError:
            os._exit(0)
os._exit(int(sys.argv[2]))
"""


@contextmanager
def scripted_worker(folder: Path, steps: list[list[bytes]], code: int = 0) -> Iterator[None]:
    """Have clients start a process that writes these bytes: at once, then a step per request."""
    import base64

    script = folder / "steps.json"
    script.write_text(
        json.dumps([[base64.b64encode(piece).decode() for piece in step] for step in steps])
    )
    before = launch.worker_argv
    launch.worker_argv = lambda: [sys.executable, "-c", _SCRIPTED, str(script), str(code)]
    try:
        yield
    finally:
        launch.worker_argv = before


def _hello() -> Hello:
    return Hello(protocol=1, pid=os.getpid(), engine="e", devices=(), system_info="", cpu="c")


def _answers() -> list[Any]:
    stats = TurnStats(n_ctx=8, prompt_tokens=1, reused_tokens=0, evaluated_tokens=1, reply_tokens=1)
    made = [
        _hello(),
        Progress(id=1, phase="load", fraction=0.5),
        Chunk(id=1, conversation="c", answer="a"),
        Chunk(id=2, conversation="c", answer="b", reply=7),
        Done(id=1, conversation="c", stop="end_of_turn", stop_detail=None, stats=stats),
    ]
    return [json.loads(msgspec.json.encode(item)) for item in made]


def _steps(chance: random.Random) -> list[list[bytes]]:
    """Return what a mad worker says: mostly a good hello first, then anything."""
    like = _answers()
    loaded = b'{"type":"failed","id":1,"kind":"bad_model","message":"No."}\n'
    hello = msgspec.json.encode(_hello()) + b"\n"
    first = [hello] if chance.random() < 0.8 else [nasty_bytes(chance, like[0]) + b"\n"]
    steps = [first]
    for _ in range(chance.randint(1, 3)):
        step = [
            nasty_bytes(chance, chance.choice(like)) + chance.choice([b"\n", b"\n", b""])
            for _ in range(chance.choice([1, 3, 20]))
        ]
        if chance.random() < 0.3:
            step = [msgspec.json.encode(chance.choice(like)) + b"\n" for _ in range(5)]
        if chance.random() < 0.1:
            step.append(b"y" * (33 << 20))
        if chance.random() < 0.3:
            step.insert(chance.randrange(len(step) + 1), loaded)
        steps.append(step)
    return steps


def attack_blocking_client(rounds: int, chance: random.Random, folder: Path) -> list[str]:
    """Let a mad worker talk to `EngineClient`; return what went wrong, a sentence each."""
    problems = []
    for number in range(rounds):
        steps = _steps(chance)
        with scripted_worker(folder, steps, chance.choice([0, 1, 7])):
            client = EngineClient()
            late = threading.Event()

            def end(client: EngineClient = client, late: threading.Event = late) -> None:
                late.set()
                client.kill()

            timer = threading.Timer(PATIENCE_S, end)
            timer.start()
            try:
                client.start()
                client.load("/m.gguf")
                client.call(QueryMemory(id=client.new_id()), type(_hello()))
            except EngineError as error:
                if late.is_set():
                    problems.append(f"client {number}: no end in {PATIENCE_S:g} s")
                elif "\n" in str(error) or len(str(error)) > 500:
                    problems.append(f"client {number}: no sentence: {str(error)[:600]!r}")
            except Exception as error:
                problems.append(f"client {number}: {type(error).__name__}: {str(error)[:300]}")
            finally:
                timer.cancel()
                client.close()
    return problems


def _has_status(engine: Any, *wanted: str) -> bool:
    return engine.state.status in wanted


def attack_qt_client(
    rounds: int, chance: random.Random, folder: Path, until: Callable[[Callable[[], bool]], bool]
) -> list[str]:
    """Let a mad worker talk to the window's client; return what went wrong, a sentence each.

    ``until`` lets the window run until something is so, and returns False if it never is.
    """
    from app.engine.qt_client import EngineProcess

    problems: list[str] = []
    raised: list[str] = []
    before = sys.excepthook
    sys.excepthook = lambda kind, error, _trace: raised.append(f"{kind.__name__}: {error}")
    try:
        for number in range(rounds):
            steps = _steps(chance)
            with scripted_worker(folder, steps, chance.choice([0, 1, 7])):
                engine = EngineProcess()
                sentences: list[str] = []
                engine.notice.connect(sentences.append)
                finals: list[EngineMessage] = []
                engine.message.connect(finals.append)
                engine.start()
                request_id = engine.load("/m.gguf", LoadOptions())
                ended = until(partial(_has_status, engine, "lost", "ready", "idle"))
                if ended and engine.state.status != "lost":
                    engine.ask(QueryMemory(id=engine.new_id()))
                    engine.ask(QueryMemory(id=engine.new_id()))
                    ended = until(partial(_has_status, engine, "lost"))
                if not ended:
                    problems.append(f"window {number}: still {engine.state.status}")
                if ended and all(getattr(item, "id", 0) != request_id for item in finals):
                    problems.append(f"window {number}: the load was never answered")
                sentences.append(engine.state.sentence)
                if any("\n" in text or len(text) > 500 for text in sentences):
                    problems.append(f"window {number}: no sentence: {str(sentences)[:600]}")
                if ended and not engine.state.sentence:
                    problems.append(f"window {number}: lost without a sentence")
                closed: list[bool] = []
                engine.closed.connect(partial(closed.append, True))
                engine.close()
                if not until(partial(bool, closed)):
                    problems.append(f"window {number}: does not close")
                engine.deleteLater()
            problems += [f"window {number}: {text[:300]}" for text in raised]
            raised.clear()
    finally:
        sys.excepthook = before
    return problems

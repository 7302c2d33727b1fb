"""Damaged and forged model files, through the engine's worker as the command line uses it."""

from __future__ import annotations

import random
import threading
from collections import Counter
from pathlib import Path

from app.engine.client import EngineClient, EngineError, RequestFailed
from app.engine.protocol import ChatMessage, ChatPrompt, Generate, LoadOptions, SamplingOptions
from gguf_tools.header import open_header
from tests.helpers.hostile_values import spoiled
from tests.helpers.patience import PATIENCE_S
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

__all__ = ["attack_models"]

_SHAPES = (
    TinyModel(layers=1),
    TinyModel(layers=1, vocabulary="spm"),
    TinyModel(architecture="gemma3"),
    TinyModel(architecture="mamba"),
    TinyModel(architecture="lfm2"),
)


class _Worker:
    """A client whose worker is started again after each death, and ended where it hangs."""

    def __init__(self) -> None:
        self.client: EngineClient | None = None

    def started(self) -> EngineClient:
        if self.client is None or self.client.pid is None:
            self.client = EngineClient()
            self.client.start()
        return self.client

    def close(self) -> None:
        if self.client is not None:
            self.client.close()


def _try(client: EngineClient, path: Path) -> str:
    """Load a file and have it write a little; return what came of it in a word."""
    client.load(str(path), LoadOptions(n_ctx=256, n_batch=64, n_ubatch=64, threads=1))
    request = Generate(
        id=client.new_id(),
        conversation="c",
        chat=ChatPrompt(messages=(ChatMessage(id="0", role="user", content="Hello"),)),
        sampling=SamplingOptions(max_tokens=4),
    )
    client.send(request)
    *_, last = client.messages(request.id)
    return type(last).__name__.lower()


def attack_models(
    rounds: int, chance: random.Random, folder: Path, ends: Counter[str] | None = None
) -> list[str]:
    """Spoil tiny models in header and tensor data; return what went wrong, a sentence each.

    A worker may refuse a file, run it as it is, or die of it; each end but a good one has to be
    one sentence. ``ends`` gets how often which came.
    """
    problems: list[str] = []
    counts = Counter[str]() if ends is None else ends
    worker = _Worker()
    sound = []
    for number, shape in enumerate(_SHAPES):
        path = write_tiny_model(folder / f"sound-{number}.gguf", shape)
        sound.append((path.read_bytes(), open_header(path).header_bytes))
    target = folder / "hostile.gguf"
    try:
        for number in range(rounds):
            seed = chance.random()
            own = random.Random(seed)
            data, header = own.choice(sound)
            head, rest = data[:header], data[header:]
            where = own.choice(["head", "head", "rest", "all"])
            for _ in range(own.choice([1, 1, 3])):
                if where == "head":
                    head = spoiled(head, own)
                elif where == "rest":
                    rest = spoiled(rest, own)
                else:
                    whole = spoiled(head + rest, own)
                    head, rest = whole[:header], whole[header:]
            target.write_bytes(head + rest)
            problem, end = _one(worker, target)
            counts[end] += 1
            if problem:
                problems.append(f"model {number}, seed {seed}, {where}: {problem}")
    finally:
        worker.close()
    return problems


def _one(worker: _Worker, path: Path) -> tuple[str, str]:
    client = worker.started()
    hung = threading.Event()

    def end() -> None:
        hung.set()
        client.kill()

    timer = threading.Timer(PATIENCE_S, end)
    timer.start()
    try:
        return "", _try(client, path)
    except RequestFailed as error:
        return _is_no_sentence(error), "refused"
    except EngineError as error:
        if hung.is_set():
            return f"no end in {PATIENCE_S:g} s", "hung"
        return _is_no_sentence(error), "died"
    except Exception as error:
        return f"{type(error).__name__}: {error}", "other error"
    finally:
        timer.cancel()


def _is_no_sentence(error: EngineError) -> str:
    text = str(error)
    bad = not 10 < len(text) < 500 or "\n" in text or "Traceback" in text or not text.endswith(".")
    return f"no sentence: {text[:600]!r}" if bad else ""

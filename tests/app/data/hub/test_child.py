from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import psutil
import pytest

from app.data.hub.child import child_argv
from app.data.hub.client import Hub
from app.data.hub.places import kept_bytes
from app.data.hub.protocol import (
    Access,
    Answer,
    Fetch,
    Fetched,
    Found,
    Listed,
    LookUp,
    Moved,
    Refused,
    Search,
    decode_answer,
    encode_line,
)
from app.data.hub.values import HubAccess, Job, job_of
from app.engine.launch import worker_environment
from tests.helpers.hub_server import HubServer
from tests.helpers.patience import PATIENCE_S


class Child:
    """A hub process as the window runs it."""

    def __init__(self, access: HubAccess) -> None:
        self.process = subprocess.Popen(
            child_argv(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=worker_environment(),
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._requests: IO[bytes] = self.process.stdin
        self._answers: IO[bytes] = self.process.stdout
        self.send(Access(access=access))

    def send(self, message: object) -> None:
        self._requests.write(encode_line(message))  # type: ignore[arg-type]
        self._requests.flush()

    def next(self) -> Answer:
        line = self._answers.readline()
        assert line, self.process.stderr.read().decode() if self.process.stderr else ""
        return decode_answer(line)

    def last(self) -> Answer:
        while isinstance(answer := self.next(), Moved):
            pass
        return answer

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self._requests, self._answers, self.process.stderr):
            assert pipe is not None
            pipe.close()


@pytest.fixture
def child(server: HubServer) -> Iterator[Child]:
    child = Child(HubAccess(endpoint=server.endpoint))
    yield child
    child.end()


@pytest.fixture
def job(server: HubServer, hub: Hub, blob: Path, tmp_path: Path) -> Job:
    server.add("one/Small", [("Small-Q4_0.gguf", blob)])
    listing = hub.listing("one/Small")
    return job_of(listing, listing.variants[0], str(tmp_path / "models"))


def test_questions_of_several_threads_share_a_session(server: HubServer, child: Child) -> None:
    server.add("one/Small")
    for number in range(1, 9):
        child.send(Search(id=number, text="small"))
        child.send(LookUp(id=100 + number, repository="one/Small"))
    answers = [child.next() for _ in range(16)]
    assert sum(isinstance(answer, Found) for answer in answers) == 8
    assert sum(isinstance(answer, Listed) for answer in answers) == 8


def test_a_refusal_is_one_sentence(child: Child) -> None:
    child.send(LookUp(id=1, repository="no/body"))
    answer = child.next()
    assert isinstance(answer, Refused)
    assert (answer.id, answer.kind) == (1, "missing")


def test_nonsense_is_passed_over(server: HubServer, child: Child) -> None:
    assert child.process.stdin is not None
    child.process.stdin.write(b'{"type":"dance"}\nnot json\n')
    child.send(Search(id=2, text="x"))
    assert child.next() == Found(id=2, repositories=())


def test_a_killed_download_goes_on_in_another_process(
    server: HubServer, child: Child, job: Job, blob: Path
) -> None:
    server.bytes_per_s = 1_500_000
    child.send(Fetch(id=1, job=job))
    while True:
        moved = child.next()
        if isinstance(moved, Moved) and moved.transfer.done_bytes > 500_000:
            break
    child.process.kill()
    child.process.wait(PATIENCE_S)
    kept = kept_bytes(job)
    assert 500_000 < kept < job.size_bytes
    server.bytes_per_s = None
    server.requests.clear()
    other = Child(HubAccess(endpoint=server.endpoint))
    try:
        other.send(Fetch(id=1, job=job))
        answer = other.last()
    finally:
        other.end()
    assert isinstance(answer, Fetched)
    assert Path(answer.paths[0]).read_bytes() == blob.read_bytes()
    fetched = [seen for seen in server.requests if seen.host == "localhost"]
    assert [seen.headers["range"] for seen in fetched] == [f"bytes={kept}-"]


def test_a_transfer_ends_with_the_window(server: HubServer, child: Child, job: Job) -> None:
    server.bytes_per_s = 300_000
    child.send(Fetch(id=1, job=job))
    assert isinstance(child.next(), Moved)
    assert child.process.stdin is not None
    child.process.stdin.close()
    assert child.process.wait(PATIENCE_S) == 0


def test_the_token_is_seen_by_nobody(server: HubServer, blob: Path) -> None:
    server.add("one/Gated", [("a.gguf", blob)], gated=True)
    child = Child(HubAccess(endpoint=server.endpoint, token="hf_good"))
    try:
        child.send(LookUp(id=1, repository="one/Gated"))
        assert isinstance(child.next(), Listed)
        shown = psutil.Process(child.process.pid)
        assert "hf_good" not in " ".join(shown.cmdline())
        assert "hf_good" not in str(shown.environ())
        child.send(LookUp(id=2, repository="no/body"))
        assert "hf_good" not in str(child.next())
        child.process.kill()
        assert child.process.stderr is not None
        assert b"hf_good" not in child.process.stderr.read()
    finally:
        child.end()


def test_hf_token_of_the_environment_is_used(
    server: HubServer, blob: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.add("one/Private", [("a.gguf", blob)], private=True)
    monkeypatch.delenv("HF_HUB_DISABLE_IMPLICIT_TOKEN")
    monkeypatch.setenv("HF_TOKEN", "hf_good")
    child = Child(HubAccess(endpoint=server.endpoint))
    try:
        child.send(LookUp(id=1, repository="one/Private"))
        assert isinstance(child.next(), Listed)
    finally:
        child.end()


def test_offline_mode_of_the_environment_is_respected(
    server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "HF_HUB_OFFLINE", "1")
    child = Child(HubAccess(endpoint=server.endpoint))
    try:
        child.send(Search(id=1, text="a"))
        answer = child.next()
    finally:
        child.end()
    assert isinstance(answer, Refused)
    assert answer.kind == "offline"
    assert server.requests == []

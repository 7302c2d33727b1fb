"""A mad hub: answers that mean harm to the process that asks it, and lines that do."""

from __future__ import annotations

import json
import queue
import random
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any, Final

from app.data.hub.child import child_argv
from app.data.hub.client import Hub
from app.data.hub.errors import HubError
from app.data.hub.fetch import download
from app.data.hub.protocol import Access, Fetch, LookUp, ReadHeads, Search, encode_line
from app.data.hub.values import HubAccess, Job, Listing, RemoteFile
from app.engine.launch import worker_environment
from tests.helpers.hostile_values import nasty_bytes
from tests.helpers.patience import PATIENCE_S

__all__ = ["attack_hub_answers", "attack_hub_requests"]

_SEARCH: Final[Any] = [
    {
        "id": "a/B-GGUF", "modelId": "a/B-GGUF", "downloads": 5, "likes": 1, "private": False,
        "gated": False, "tags": ["gguf", "license:mit"],
        "lastModified": "2026-01-01T00:00:00.000Z",
        "gguf": {"total": 1, "architecture": "llama", "context_length": 4096},
    }
]  # fmt: skip
_INFO: Final[Any] = _SEARCH[0] | {
    "sha": "0" * 40,
    "siblings": [
        {
            "rfilename": name, "size": 1000, "blobId": "1" * 40,
            "lfs": {"sha256": "2" * 64, "size": 1000, "pointerSize": 134},
        }
        for name in ("B-Q4_0.gguf", "B-Q8_0-00001-of-00002.gguf", "B-Q8_0-00002-of-00002.gguf")
    ],
}  # fmt: skip


class _MadHub:
    """A server whose next answers are `body` and `status`."""

    def __init__(self) -> None:
        self.body = b""
        self.status = 200
        self.headers: dict[str, str] = {}
        mad = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(mad.status)
                for name, value in mad.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(mad.body)))
                self.end_headers()
                try:
                    self.wfile.write(mad.body)
                except OSError:
                    pass

            do_HEAD = do_GET  # noqa: N815 - the name that is called

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


def attack_hub_answers(rounds: int, chance: random.Random) -> list[str]:
    """Let a mad hub answer; return what went wrong, a sentence each.

    Anything but an answer or a `HubError` of one sentence is wrong, and so is a file that was
    fetched to a place outside of its folder or kept under its name with wrong bytes.
    """
    problems = []
    hub = _MadHub()
    with hub.running(), tempfile.TemporaryDirectory(prefix="plimsoll-hostile-") as folder:
        client = Hub(HubAccess(endpoint=hub.endpoint))
        for number in range(rounds):
            seed = chance.random()
            own = random.Random(seed)
            what = own.choice(["search", "listing", "download"])
            hub.status = own.choice([200] * 6 + [404, 401, 403, 416, 418, 206])
            hub.headers = _headers(own)
            hub.body = nasty_bytes(own, {"search": _SEARCH, "listing": _INFO}.get(what))
            try:
                _ask(client, what, own, Path(folder))
            except HubError as error:
                if not 10 < len(str(error)) < 700 or "\n" in str(error):
                    problems.append(f"hub {number}, seed {seed}: no sentence: {str(error)[:700]!r}")
            except Exception as error:
                said = f"{type(error).__name__}: {str(error)[:200]}"
                problems.append(f"hub {number}, seed {seed}, {what}: {said}")
        outside = [path for path in Path(folder).rglob("*.gguf") if path.is_file()]
        problems += [f"wrong bytes were kept as {path.name}" for path in outside]
    return problems


def _headers(chance: random.Random) -> dict[str, str]:
    if chance.random() < 0.5:
        return {}
    return chance.choice([
        {"Content-Type": "application/json"},
        {"Content-Encoding": "gzip"},
        {"Content-Range": "bytes 5-2/1"},
        {"Content-Range": "bytes 0-999/99999999999999999999"},
        {"ETag": "x" * 5000},
        {"X-Linked-Size": "-1"},
        {"X-Error-Code": "GatedRepo", "X-Error-Message": "no\x0b" * 50},
        {"Retry-After": "yesterday"},
        {"Location": "file:///etc/passwd"},
        {"Link": '<http://127.0.0.1:1/>; rel="next"'},
    ])  # fmt: skip


def _ask(client: Hub, what: str, chance: random.Random, folder: Path) -> None:
    if what == "search":
        found = client.search("b")
        assert all(isinstance(item.id, str) for item in found)
    elif what == "listing":
        client.listing("a/B-GGUF")
    else:
        path = chance.choice(["x.gguf", "../x.gguf", "/x.gguf", "a/../../x.gguf", "con.gguf", ""])
        size = chance.choice([1000, 1, 0, 2**40])
        file = RemoteFile(path=path, size_bytes=size, sha256="2" * 64)
        job = Job(
            id=f"{chance.randrange(16**16):016x}", repository="a/B", revision="0" * 40,
            title="B", files=(file,), folder=str(folder),
        )  # fmt: skip
        download(job, client, lambda _transfer: None, (0.0,))


def attack_hub_requests(rounds: int, chance: random.Random) -> list[str]:
    """Send hostile lines to the hub's process; return what went wrong, a sentence each."""
    problems: list[str] = []
    access = Access(access=HubAccess(endpoint="http://127.0.0.1:9", offline=True), cache="")
    like = [json.loads(encode_line(item)) for item in _requests()]
    process = subprocess.Popen(
        child_argv(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=worker_environment(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    lines: queue.Queue[bytes] = queue.Queue()
    reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
    reader.start()
    try:
        for number in range(rounds):
            bad = nasty_bytes(chance, chance.choice(like)).replace(b"\n", b" ")
            asked = 1_000_000 + number
            process.stdin.write(bad + b"\n" + encode_line(access))
            process.stdin.write(encode_line(Search(id=asked, text="x")))
            process.stdin.flush()
            if not _answered(lines, asked):
                problems.append(f"hub request {number}: no answer after {bad[:300]!r}")
                break
    except BrokenPipeError:
        problems.append(f"the hub's process ended with {process.poll()}")
    finally:
        process.kill()
        process.wait()
        reader.join(timeout=5)
        process.stdin.close()
        process.stdout.close()
    return problems


def _read(stream: IO[bytes], lines: queue.Queue[bytes]) -> None:
    for line in stream:
        lines.put(line)


def _answered(lines: queue.Queue[bytes], asked: int) -> bool:
    end_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < end_s:
        try:
            answer = json.loads(lines.get(timeout=1.0))
        except queue.Empty:
            continue
        if answer.get("id") == asked:
            return True
    return False


def _requests() -> list[Any]:
    file = RemoteFile(path="x.gguf", size_bytes=10, sha256="2" * 64)
    job = Job(
        id="0" * 16, repository="a/B", revision="0" * 40, title="B", files=(file,),
        folder=str(Path(tempfile.gettempdir()) / "plimsoll-hostile-fetch"),
    )  # fmt: skip
    listing = Listing(repository="a/B", revision="0" * 40, variants=())
    return [
        Search(id=1, text="b"),
        LookUp(id=1, repository="a/B"),
        ReadHeads(id=1, listing=listing, variants=()),
        Fetch(id=1, job=job),
    ]

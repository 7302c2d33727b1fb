"""A hub on this computer that speaks the calls of Hugging Face's, with faults on demand.

Search and model info are JSON, ``/OWNER/NAME/resolve/COMMIT/FILE`` redirects to another origin
with the headers that the real one sends, and that other origin gives out ranges. What was asked
is kept in `HubServer.requests`, so that a test can tell what went over the network.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

__all__ = ["HubFile", "HubRepository", "HubServer", "Seen"]

_BLOCK_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived; ``host`` tells the hub (127.0.0.1) from its store (localhost)."""

    method: str
    host: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]


@dataclass
class HubFile:
    """A file of a repository. The checksum may be a lie, for a file too long to sum up."""

    path: str
    source: Path
    sha256: str
    lfs: bool = True

    @property
    def size_bytes(self) -> int:
        return self.source.stat().st_size

    @property
    def blob_id(self) -> str:
        data = self.source.read_bytes()
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@dataclass
class HubRepository:
    """A repository; ``info`` are further keys of what the hub tells of it."""

    id: str
    files: dict[str, HubFile] = field(default_factory=dict)
    gated: bool = False
    private: bool = False
    info: dict[str, Any] = field(default_factory=dict)

    @property
    def sha(self) -> str:
        names = "".join(f"{file.path}{file.sha256}" for file in self.files.values())
        return hashlib.sha1(names.encode()).hexdigest()


class HubServer:
    """The server, running from `start` (or entering it) to `close`.

    Attributes:
        tokens: access tokens that open gated and private repositories.
        bytes_per_s: how fast bytes of files flow, None for as fast as they can.
        break_after: for each coming transfer, the bytes after which it breaks off.
        statuses: statuses with which the coming requests are refused, and a Retry-After.
        ranges: whether a transfer may begin in the middle.
        damage: whether the bytes are other ones than promised.
        requests: what was asked, in order.
    """

    def __init__(self) -> None:
        self.repositories: dict[str, HubRepository] = {}
        self.tokens: set[str] = {"hf_good"}
        self.bytes_per_s: float | None = None
        self.break_after: list[int] = []
        self.statuses: list[tuple[int, str]] = []
        self.ranges = True
        self.damage = False
        self.requests: list[Seen] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def store(self) -> str:
        """Address of the other origin, which is the same server by another name."""
        return f"http://localhost:{self._server.server_address[1]}"

    def start(self) -> Self:
        self._thread.start()
        return self

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(
        self,
        repository: str,
        files: Iterable[tuple[str, Path]] = (),
        *,
        sums: dict[str, str] | None = None,
        lfs: bool = True,
        **options: Any,
    ) -> HubRepository:
        """Add a repository with files given as (path in it, file here)."""
        entry = HubRepository(repository, **options)
        for path, source in files:
            digest = (sums or {}).get(path) or hashlib.sha256(source.read_bytes()).hexdigest()
            entry.files[path] = HubFile(path, source, digest, lfs)
        self.repositories[repository] = entry
        return entry

    def sent_paths(self) -> list[str]:
        return [seen.path for seen in self.requests]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(_Handler):
            server_hub = hub

        return Handler


class _Handler(BaseHTTPRequestHandler):
    server_hub: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def do_HEAD(self) -> None:
        self._serve(body=False)

    def do_GET(self) -> None:
        self._serve(body=True)

    def _serve(self, *, body: bool) -> None:
        hub = self.server_hub
        address = urlsplit(self.path)
        path, query = unquote(address.path), parse_qs(address.query)
        headers = {key.lower(): value for key, value in self.headers.items()}
        host = headers.get("host", "").partition(":")[0]
        hub.requests.append(Seen(self.command, host, path, query, headers))
        try:
            if hub.statuses:
                status, wait = hub.statuses.pop(0)
                self._refuse(status, "", "Not now.", {"Retry-After": wait} if wait else {})
            elif path == "/api/models":
                self._search(query)
            elif path.startswith("/api/models/"):
                self._info(path.removeprefix("/api/models/"), query)
            elif path.startswith("/store/"):
                self._bytes(path.removeprefix("/store/"), body=body)
            elif match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
                self._resolve(*match.groups(), body=body)
            else:
                self._refuse(404, "RepoNotFound", "Repository not found")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    # --- JSON

    def _search(self, query: dict[str, list[str]]) -> None:
        text = query.get("search", [""])[0].casefold()
        limit = int(query.get("limit", ["1000"])[0])
        found = [
            repository
            for repository in self.server_hub.repositories.values()
            if text in repository.id.casefold() and not repository.private
        ]
        found.sort(key=lambda item: -int(item.info.get("downloads", 0)))
        self._json([self._told(item) for item in found[:limit]])

    def _info(self, name: str, query: dict[str, list[str]]) -> None:
        repository = self._allowed(name.partition("/revision/")[0], files=False)
        if repository is None:
            return
        told = self._told(repository)
        told["siblings"] = [
            self._sibling(file, blobs="blobs" in query) for file in repository.files.values()
        ]
        self._json(told)

    def _told(self, repository: HubRepository) -> dict[str, Any]:
        return {
            "_id": "0",
            "id": repository.id,
            "modelId": repository.id,
            "private": repository.private,
            "gated": "manual" if repository.gated else False,
            "sha": repository.sha,
            "lastModified": "2026-03-14T09:26:53.000Z",
            "tags": ["gguf"],
            **repository.info,
        }

    def _sibling(self, file: HubFile, *, blobs: bool) -> dict[str, Any]:
        told: dict[str, Any] = {"rfilename": file.path}
        if blobs:
            told |= {"size": file.size_bytes, "blobId": "0" * 40 if file.lfs else file.blob_id}
            if file.lfs:
                told["lfs"] = {
                    "sha256": file.sha256,
                    "size": file.size_bytes,
                    "pointerSize": 134,
                }
        return told

    def _json(self, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    # --- files

    def _allowed(self, name: str, *, files: bool) -> HubRepository | None:
        hub = self.server_hub
        repository = hub.repositories.get(name)
        given = self.headers.get("authorization", "").removeprefix("Bearer ")
        if given and given not in hub.tokens:
            self._refuse(401, "", "Invalid credentials in Authorization header")
            return None
        known = given in hub.tokens
        if repository is None or (repository.private and not known):
            self._refuse(401 if not known else 404, "RepoNotFound", "Repository not found")
            return None
        if repository.gated and files and not known:
            self._refuse(401, "GatedRepo", f"Access to model {name} is restricted.")
            return None
        return repository

    def _resolve(self, name: str, revision: str, path: str, *, body: bool) -> None:
        repository = self._allowed(name, files=True)
        if repository is None:
            return
        file = repository.files.get(path)
        if file is None:
            self._refuse(404, "EntryNotFound", "Entry not found")
            return
        if not file.lfs:
            self.send_response(200)
            self.send_header("X-Repo-Commit", repository.sha)
            self.send_header("ETag", f'"{file.blob_id}"')
            self._send_bytes(file, body=body)
            return
        self.send_response(302)
        self.send_header("X-Repo-Commit", repository.sha)
        self.send_header("X-Linked-Etag", f'"{file.sha256}"')
        self.send_header("X-Linked-Size", str(file.size_bytes))
        self.send_header("Location", f"{self.server_hub.store}/store/{name}/{path}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _bytes(self, name: str, *, body: bool) -> None:
        owner, repository, path = name.split("/", 2)
        file = self.server_hub.repositories[f"{owner}/{repository}"].files[path]
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("range", ""))
        if asked is None or not self.server_hub.ranges:
            self.send_response(200)
            self._send_bytes(file, body=body)
            return
        start = int(asked[1])
        end = min(int(asked[2]) + 1 if asked[2] else file.size_bytes, file.size_bytes)
        if start >= file.size_bytes:
            self._refuse(416, "", "Range not satisfiable")
            return
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{end - 1}/{file.size_bytes}")
        self._send_bytes(file, start, end, body=body)

    def _send_bytes(
        self, file: HubFile, start: int = 0, end: int | None = None, *, body: bool
    ) -> None:
        hub = self.server_hub
        end = file.size_bytes if end is None else end
        self.send_header("Content-Length", str(end - start))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        if not body:
            return
        breaks = hub.break_after.pop(0) if hub.break_after else None
        sent, began = 0, time.monotonic()
        with file.source.open("rb") as source:
            source.seek(start)
            while sent < end - start:
                block = source.read(min(_BLOCK_BYTES, end - start - sent))
                if breaks is not None and sent + len(block) > breaks:
                    self.wfile.write(block[: breaks - sent])
                    self.wfile.flush()
                    self.connection.shutdown(2)
                    self.close_connection = True
                    return
                self.wfile.write(bytes(len(block)) if hub.damage else block)
                sent += len(block)
                if hub.bytes_per_s:
                    time.sleep(max(sent / hub.bytes_per_s - (time.monotonic() - began), 0))

    def _refuse(
        self, status: int, code: str, message: str, extra: dict[str, str] | None = None
    ) -> None:
        data = json.dumps({"error": message}).encode()
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        self.send_header("X-Error-Message", message)
        for key, value in (extra or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

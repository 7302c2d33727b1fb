"""Kills while something is written: settings, a new version of the store, downloads, variants."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from app.data.hub.places import INCOMPLETE
from app.data.migrations import MIGRATIONS, current_version
from app.paths import Paths
from gguf_tools.header import open_header
from tests.helpers.faults.ground import Ground
from tests.helpers.faults.outcome import Outcome, check
from tests.helpers.hub_server import HubServer
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window_process import WindowProcess

__all__ = [
    "killed_in_comparison",
    "killed_in_download",
    "killed_in_migration",
    "killed_in_settings",
    "killed_in_variant",
]

_REPOSITORY: Final = "ship/Tiny-GGUF"
_CHATS: Final = 40
_MESSAGES: Final = 3000


def killed_in_settings(ground: Ground, kind: str) -> Outcome:
    """Kill the window while it writes its settings and its state, over and over."""
    window = ground.ready(real=False)
    first = ground.chance.randrange(600, 800)
    window.tell("change settings", first=first, count=300)
    window.until(lambda: bool(window.done), "setting")
    time.sleep(ground.chance.uniform(0.0, 0.1))
    ground.drop()
    known = window.done[-1]
    paths = ground.paths
    kept = json.loads(paths.settings.read_bytes())["app"]["transcript_width"]
    check(known <= kept <= known + 1, f"the settings have {kept} where {known} was told")
    json.loads(paths.state.read_bytes())
    window = ground.start()
    look = window.look()
    check("settings-file" not in look["notices"], f"said: {look['notices']}")
    check(look["width"] == kept, f"the window has {look['width']} where {kept} was kept")
    ground.answers(window)
    ground.ledger.audit()
    return Outcome(kind)


def killed_in_migration(ground: Ground, kind: str) -> Outcome:
    """Kill a start that brings an old, large store to this program's version."""
    ground.drop()
    data = ground.folder / f"old-{ground.rounds}"
    data.mkdir(mode=0o700)
    path = Paths(data, data / "cache").store
    _old_store(path)
    before = _texts(path)
    ground.real = False
    end_s = ground.chance.uniform(0.0, 1.0)
    window = ground.open(data=data)
    begun_s = time.monotonic()
    window.until(
        lambda: time.monotonic() - begun_s > end_s or Path(f"{path}-wal").exists(),
        "begin of the migration",
    )
    time.sleep(ground.chance.uniform(0.0, 0.25))
    ground.drop()
    came_to = _version(path)
    window = ground.start(data=data)
    look = window.until_looks(lambda look: len(look["chats"]) == _CHATS, "list of chats")
    check("store" not in look["notices"], f"said: {look['notices']}")
    check(_version(path) == current_version(), "the store has not come to this version")
    check(_texts(path) == before, "messages are others after a migration that was cut off")
    with closing(sqlite3.connect(path)) as db:
        found = db.execute(
            "SELECT count(*) FROM message_search WHERE message_search MATCH 'w42'"
        ).fetchone()
    check(found[0] > 0, "what was migrated is not found by a search")
    ground.drop()
    return Outcome(kind, way="done before" if came_to == current_version() else "cut off")


def _old_store(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN")
        MIGRATIONS[0].apply(db)
        db.execute(f"PRAGMA user_version = {MIGRATIONS[0].version}")
        for chat in range(_CHATS):
            db.execute(
                "INSERT INTO conversations (id, title, title_is_auto, created_ms, updated_ms)"
                " VALUES (?, ?, 0, ?, ?)",
                (f"c{chat}", f"Chat {chat}", chat, chat),
            )
        words = " ".join(f"w{number}" for number in range(200))
        for number in range(_MESSAGES):
            db.execute(
                "INSERT INTO messages (id, conversation_id, role, text, state, created_ms,"
                " updated_ms) VALUES (?, ?, 'user', ?, 'complete', ?, ?)",
                (f"m{number}", f"c{number % _CHATS}", f"{number} {words}", number, number),
            )
        db.execute("COMMIT")
    path.chmod(0o600)


def _texts(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT id, text FROM messages ORDER BY seq").fetchall()


def _version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def killed_in_download(ground: Ground, kind: str) -> Outcome:
    """Kill the window or the process that downloads; the download goes on where it was."""
    ground.drop()
    ground.real = False
    models = ground.folder / f"downloads-{ground.rounds}"
    source = ground.folder / "Download-Q8_0.gguf"
    if not source.exists():
        write_tiny_model(source, TinyModel(embedding=512, feed_forward=2048, head_length=128))
    with _hub(source) as server:
        environment: dict[str, str | None] = {
            "HF_ENDPOINT": server.endpoint,
            "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
        }
        window = ground.start(environment=environment)
        window.tell("set", key="download_folder", value=str(models))
        window.tell("repository", name=_REPOSITORY)
        window.until_looks(lambda look: bool(look["listed"]), "list of files")
        size = source.stat().st_size
        server.bytes_per_s = size / 1.5
        window.tell("download", key=source.name)
        window.until_looks(lambda look: _done_bytes(look) > 0, "first bytes")
        time.sleep(ground.chance.uniform(0.0, 0.8))
        seen = _done_bytes(window.look())
        way = ground.chance.choice(["window", "download's process"])
        if way == "window":
            ground.drop()
            server.bytes_per_s = None
            window = ground.start(environment=environment)
            window.tell("downloads")
        else:
            fetching = [child for child in window.children if "--hub" in child.cmdline()]
            for child in fetching:
                child.kill()
            server.bytes_per_s = None
        look = window.until_looks(
            lambda look: _states(look) <= {"paused", "failed", "done"} and bool(look["downloads"]),
            "download that waits",
        )
        check(not list(models.rglob("*.gguf")) or "done" in _states(look), "half a file has a name")
        check(_done_bytes(look) >= seen // 2, f"{_done_bytes(look)} bytes are left of {seen}")
        if "done" not in _states(look):
            window.tell("resume")
        window.until_looks(lambda look: _states(look) == {"done"}, "end of the download")
        (made,) = models.rglob("*.gguf")
        check(made.read_bytes() == source.read_bytes(), "the downloaded file is another")
        check(not (models / INCOMPLETE).exists(), "something of the download was left")
        window.tell("set", key="download_folder", value=None)
        window.tell("set", key="model_folders", value=[])
        window.look()
        ground.drop()
    return Outcome(kind, way=way)


@contextmanager
def _hub(source: Path) -> Iterator[HubServer]:
    with HubServer() as server:
        server.add(_REPOSITORY, [(source.name, source)])
        yield server


def _states(look: dict[str, Any]) -> set[str]:
    return {item["state"] for item in look["downloads"]}


def _done_bytes(look: dict[str, Any]) -> int:
    return sum(item["done_bytes"] for item in look["downloads"])


def killed_in_variant(ground: Ground, kind: str) -> Outcome:
    """Kill the window or the engine that makes a variant; nothing half-made is left."""
    source = ground.folder / "Source-F32.gguf"
    if not source.exists():
        shape = TinyModel(
            layers=6, embedding=512, heads=8, kv_heads=8, head_length=64, feed_forward=2048
        )
        write_tiny_model(source, shape)
    folder = ground.folder / f"variants-{ground.rounds}"
    folder.mkdir()
    target = folder / "Variant-Q4_K.gguf"
    window = ground.ready(real=True)
    before = {child.pid for child in window.children}
    window.tell("quantise", source=str(source), kind="Q4_K_M", target=str(target))
    window.until(lambda: bool(_others(window, before)), "engine that makes the variant")
    time.sleep(ground.chance.uniform(0.0, 1.2))
    way = ground.chance.choice(["window", "engine"])
    if way == "window":
        ground.drop()
        window = ground.start()
    else:
        for pid in _others(window, before):
            os.kill(pid, ground.chance.choice([signal.SIGKILL, signal.SIGSEGV]))
        window.until_looks(lambda look: not look["making"], "end of the work")
        said = window.done[-1][1] if window.done else ""
        check(target.exists() or "engine" in said.lower(), f"said: {said!r}")
    _check_variant(folder, target)
    whole = target.exists()
    if not whole:
        window.tell("quantise", source=str(source), kind="Q4_K_M", target=str(target))
        window.until(target.exists, "variant")
        window.until_looks(lambda look: not look["making"], "end of the work")
        _check_variant(folder, target)
    return Outcome(kind, way=f"{way}, {'made before' if whole else 'cut off'}")


def _others(window: WindowProcess, before: set[int]) -> list[int]:
    return [child.pid for child in window.children if child.pid not in before]


def _check_variant(folder: Path, target: Path) -> None:
    end_s = time.monotonic() + 10
    while (left := [p for p in folder.iterdir() if p != target]) and time.monotonic() < end_s:
        time.sleep(0.05)
    check(not left, f"left behind: {[path.name for path in left]}")
    if target.exists():
        open_header(target)
        check(target.stat().st_size > 1 << 20, "half a variant has its name")


def killed_in_comparison(ground: Ground, kind: str) -> Outcome:
    """Kill the window or the engine of a comparison; the next one works."""
    window = ground.ready(real=False)
    paths = []
    for name, layers in (("Q8_0", 2), ("Q4_0", 1)):
        path = ground.folder / f"Tiny-{name}.gguf"
        if not path.exists():
            write_tiny_model(path, TinyModel(layers=layers))
        paths.append(str(path))
    _compare(window, paths)
    before = set[int]()
    if window.state["pid"] is not None:
        before = {child.pid for child in window.children if child.pid == window.state["pid"]}
    time.sleep(ground.chance.uniform(0.0, 2.5))
    way = ground.chance.choice(["window", "engine"])
    if way == "window":
        ground.drop()
        window = ground.start()
    else:
        for pid in _others(window, before):
            os.kill(pid, signal.SIGKILL)
        look = window.until_looks(lambda look: not look["comparing"], "end of the comparison")
        check(set(look["compared"]) <= {"done", "failed", "cancelled"}, f"{look['compared']}")
        check(window.status == "ready", "the chat's engine went, too")
    kept = list(ground.paths.comparisons.glob("*")) if ground.paths.comparisons.exists() else []
    for path in kept:
        json.loads(path.read_bytes())
    check(not list((ground.paths.cache / "compare").glob("*")) or way == "window", "files are left")
    _compare(window, paths)
    look = window.until_looks(lambda look: not look["comparing"], "end of the next comparison")
    check(
        look["compared"] == ["done", "done"],
        f"the next comparison: {look['compared']}, {look['compare_says']!r}",
    )
    ground.answers(window)
    return Outcome(kind, way=way)


def _compare(window: WindowProcess, paths: list[str]) -> None:
    options = {"quality": False, "measure_rates": False, "max_tokens": 40}
    window.tell("choose", paths=paths, options=options)
    window.until_looks(lambda look: len(look["compared"]) == len(paths), "variants")
    window.tell("compare", prompt="Hello")
    window.until_looks(lambda look: look["comparing"], "comparison")

"""Faults of the disk and of the store on it: full, read-only, damaged, too new, held by others."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from app.data.migrations import current_version
from tests.helpers.faults.ground import REPLY, Ground
from tests.helpers.faults.outcome import Outcome, check
from tests.helpers.store_damage import damage

__all__ = [
    "disk_full",
    "disk_full_and_killed",
    "disk_read_only",
    "store_corrupt",
    "store_locked",
    "store_of_another_version",
]

_HOLDER: Final = """
import sqlite3, sys
from pathlib import Path
from app.data.lock import ProcessLock
what, path = sys.argv[1:]
if what == "plimsoll":
    lock = ProcessLock(Path(path + ".lock"))
    print("held" if lock.acquire(10) else "not", flush=True)
else:
    db = sqlite3.connect(path, isolation_level=None, timeout=10)
    db.execute("BEGIN IMMEDIATE" if what == "writer" else "BEGIN EXCLUSIVE")
    print("held", flush=True)
sys.stdin.read()
"""


def disk_full(ground: Ground, kind: str) -> Outcome:
    """Fill the disk in mid-reply, go on, make room again, and kill the window after that."""
    window = ground.ready(real=False)
    question = ground.begin(window)
    ballast = _fill(ground)
    ground.finished(window, question)
    said = window.look()["notices"].get("store")  # none if it went into room of the store's own
    check(said is None or "disk is full" in said, f"said: {said}")
    second = f"While it is full {ground.rounds} {ground.chance.random()}"
    ground.ask(window, second)
    window.until(lambda: window.shown > 0, "text of a reply on a full disk")
    width = ground.chance.randrange(600, 1200)
    window.tell("set", key="transcript_width", value=width)
    window.tell("stop")
    ground.loss(ground.ended(window), second, 0, "stopped", "complete")
    check(window.look()["width"] == width, "a setting does not hold on a full disk")
    ballast.unlink()
    window.tell("retry")
    window.until_looks(lambda look: "store" not in look["notices"], "end of the notice")
    ground.drop()
    window, look = ground.restarted(question)
    lost, lost_s = ground.loss(look, question, len(REPLY), "complete")
    return Outcome(kind, lost, lost_s)


def disk_full_and_killed(ground: Ground, kind: str) -> Outcome:
    """The same, but the window dies before there is room: what was said to be in memory."""
    window = ground.ready(real=False)
    question = ground.begin(window)
    ballast = _fill(ground)
    window.until_looks(
        lambda look: "store" in look["notices"] or not look["running"], "notice of the disk"
    )
    time.sleep(ground.chance.uniform(0.0, 0.5))
    ground.drop()
    shown = window.shown
    window = ground.start()  # with the disk still full
    window.look()
    ground.drop()
    ballast.unlink()
    window, look = ground.restarted(question)
    lost, lost_s = ground.loss(look, question, shown, "interrupted", "complete")
    return Outcome(kind, lost, lost_s, held_to_goal=False)


def _fill(ground: Ground) -> Path:
    ballast = ground.data / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 10, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass
    return ballast


def disk_read_only(ground: Ground, kind: str) -> Outcome:
    """Start on a disk that can't be written; chat; make it writable again."""
    window = ground.ready(real=False)
    ground.answers(window, "Before")
    window.close()
    ground.window = None
    _remount(ground, "ro")
    try:
        window = ground.start()
        look = window.until_looks(lambda look: "store" in look["notices"], "notice of the disk")
        said = look["notices"]["store"]
        check("can't be written" in said, f"said: {said}")
        check(bool(look["chats"]), "the chats can't be read from a disk that can't be written")
        question = ground.begin(window)
        window.tell("set", key="transcript_width", value=777)
        ground.finished(window, question)
        check(window.look()["width"] == 777, "a setting does not hold on a read-only disk")
    finally:
        _remount(ground, "rw")
    window.tell("retry")
    window.until_looks(lambda look: "store" not in look["notices"], "end of the notice")
    ground.drop()
    _window, look = ground.restarted(question)
    lost, lost_s = ground.loss(look, question, len(REPLY), "complete")
    return Outcome(kind, lost, lost_s)


def _remount(ground: Ground, mode: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{mode}", str(ground.data)], check=True)


def store_corrupt(ground: Ground, kind: str) -> Outcome:
    """Damage the store behind a killed window; what can be read of it comes back."""
    window = ground.ready(real=False)
    question = ground.begin(window)
    ground.drop()
    what = damage(ground.paths.store, ground.chance)
    window = ground.start()
    look = window.look()
    said = look["notices"].get("store", "")
    check("in memory" not in said, f"{what}: {said}")
    check(said == "" or "is kept as" in said, f"{what}: {said}")
    ground.ledger.start_again()
    again = question + " again"
    ground.ask(window, again)
    window.until(lambda: window.shown > 0, f"text after {what}")
    ground.drop()
    ground.restarted(again)
    _keep_few(ground.data, "chats.damaged-*")
    return Outcome(kind, way=what)


def store_of_another_version(ground: Ground, kind: str) -> Outcome:
    """Start on a store of another version: too new, newer by little, none, or impossible."""
    window = ground.ready(real=False)
    ground.answers(window, "Before")
    window.close()
    ground.window = None
    path = ground.paths.store
    version = current_version()
    ways = {
        "newer by a minor step": version + 7,
        "too new": (version // 1000 + 1) * 1000,
        "far too new": 2_000_000_000,
        "none": 0,
        "impossible": -5,
        "unknown": 3,
        "an older one's, with this one's tables": version - 1,
    }
    way = ground.chance.choice(list(ways))
    _set_version(path, ways[way])
    before = path.read_bytes()
    window = ground.start()
    look = window.look()
    said = look["notices"].get("store", "")
    if "too new" in way:
        check("newer Plimsoll" in said, f"{way}: {said}")
        memory = f"In memory {ground.chance.random()}"
        window.send(memory)
        window.until(lambda: window.shown > 0, "text without a store")
        ground.drop()
        check(path.read_bytes() == before, "a store of a newer program was changed")
        _set_version(path, version)
    else:
        check("in memory" not in said, f"{way}: {said}")
        question = ground.begin(window)
        ground.drop()
        if not said:
            ground.ledger.audit(running=question)
        if way == "newer by a minor step":
            _set_version(path, version)
    window = ground.start()
    ground.ledger.audit()
    ground.answers(window)
    _keep_few(ground.data, "chats.damaged-*")
    _keep_few(ground.data, "chats.before-*")
    return Outcome(kind, way=way)


def _set_version(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"PRAGMA user_version = {version}")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def store_locked(ground: Ground, kind: str) -> Outcome:
    """Have another process hold the store, before the start or while a reply is written."""
    way = ground.chance.choice(["plimsoll", "writer", "everything", "writer in a reply"])
    path = ground.paths.store
    if way == "writer in a reply":
        window = ground.ready(real=False)
        question = ground.begin(window, wait=False)
        with _held("writer", path):
            ground.finished(window, question)
        window.tell("retry")
        window.until_looks(lambda look: "store" not in look["notices"], "end of the notice")
        ground.drop()
        _window, look = ground.restarted(question)
        lost, lost_s = ground.loss(look, question, len(REPLY), "complete")
        return Outcome(kind, lost, lost_s, way=way)
    ground.ready(real=False)  # so that there is a store to hold
    ground.drop()
    with _held(way, path):
        window = ground.start()
        look = window.until_looks(lambda look: "store" in look["notices"], "notice of the lock")
        said = look["notices"]["store"]
        check(20 < len(said) < 400, f"said: {said}")
        if way == "plimsoll":
            check("Another Plimsoll" in said, f"said: {said}")
            window.send("Nothing can be stored")
            look = window.look()
            check(not look["running"], "a message is answered that can't be stored")
            check(
                "Nothing can be stored" in look["draft"], "a message that can't be stored is lost"
            )
        else:
            question = ground.begin(window, wait=False)
            ground.finished(window, question)
    if way != "plimsoll":
        window.tell("retry")
        window.until_looks(lambda look: "store" not in look["notices"], "end of the notice")
    ground.drop()
    window = ground.start()
    ground.ledger.audit()
    ground.answers(window)
    return Outcome(kind, way=way)


@contextmanager
def _held(what: str, path: Path) -> Iterator[None]:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, what, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[3],
        env=dict(os.environ),
    )
    assert holder.stdout is not None
    try:
        check(holder.stdout.readline().strip() == "held", "the store could not be held")
        yield
    finally:
        holder.communicate()


def _keep_few(folder: Path, pattern: str) -> None:
    """Remove copies that the program keeps for its user: the disk of the rounds is small."""
    for path in sorted(folder.glob(pattern))[:-1]:
        path.unlink()

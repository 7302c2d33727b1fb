"""How a store is closed: what stays beside it, and what does not keep it open."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.data import files, recovery
from app.data.connection import close_writer, was_left_open
from app.data.conversations import ConversationStore
from app.data.migrations import current_version
from tests.helpers.store_files import make_chat

_READER = """
import sys
from pathlib import Path
from app.data import files
db = files.open_reader(Path(sys.argv[1]))
if sys.argv[2] == "in the middle":
    db.execute("BEGIN")
db.execute("SELECT count(*) FROM messages").fetchone()
print("reads", flush=True)
sys.stdin.read()
"""


def beside(path: Path) -> set[str]:
    """Return what lies beside a store, besides the file of its lock."""
    return {item.name for item in path.parent.glob(f"{path.stem}*")} - {f"{path.name}.lock"}


@contextmanager
def another_process_reads(path: Path, what: str) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-c", _READER, str(path), what],
        cwd=Path(__file__).parents[3],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "reads\n"
        yield
        assert process.stdin is not None
        process.stdin.close()


def open_files(path: Path) -> list[str]:
    """Return what this process has open of a store."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            target = str(link.readlink())
        except OSError:  # the descriptor of the listing itself
            continue
        if target.startswith(str(path)) and not target.endswith(".lock"):
            found.append(target)
    return found


def test_a_reader_leaves_nothing_beside_the_store(
    store: ConversationStore, store_path: Path
) -> None:
    make_chat(store)
    store.close()
    assert beside(store_path) == {store_path.name}
    before = store_path.read_bytes()
    reader = ConversationStore(store_path, read_only=True)
    assert len(reader.list_all()) == 1
    reader.close()
    assert beside(store_path) == {store_path.name}
    assert store_path.read_bytes() == before


def test_a_reader_takes_nothing_from_a_writer(store: ConversationStore, store_path: Path) -> None:
    chat = make_chat(store)
    reader = ConversationStore(store_path, read_only=True)
    reader.close()
    assert f"{store_path.name}-wal" in beside(store_path)
    store.rename(chat.id, "Written after the reader left")
    store.close()
    again = ConversationStore(store_path, read_only=True)
    assert [item.title for item in again.list_all()] == ["Written after the reader left"]
    again.close()
    assert beside(store_path) == {store_path.name}


def test_a_reader_leaves_the_log_of_a_run_that_was_cut_off(
    store: ConversationStore, store_path: Path
) -> None:
    make_chat(store)
    log = Path(f"{store_path}-wal")
    whole, written = store_path.read_bytes(), log.read_bytes()
    store.close()
    store_path.write_bytes(whole)
    log.write_bytes(written)
    reader = ConversationStore(store_path, read_only=True)
    assert len(reader.list_all()) == 1
    reader.close()
    assert log.read_bytes() == written
    assert store_path.read_bytes() == whole
    assert was_left_open(store_path)


def test_a_damaged_store_is_read_without_a_trace(
    store: ConversationStore, store_path: Path
) -> None:
    for number in range(60):
        make_chat(store, f"Question {number}")
    store.close()
    data = bytearray(store_path.read_bytes())
    page = 4096
    middle = len(data) // page // 2 * page
    data[middle : middle + 2 * page] = os.urandom(2 * page)
    store_path.write_bytes(data)
    recovery.salvage(store_path)
    assert store_path.read_bytes() == data
    assert beside(store_path) == {store_path.name}


@pytest.mark.parametrize("what", ["between two questions", "in the middle"])
def test_a_writer_that_is_not_the_last_says_so(
    store: ConversationStore,
    store_path: Path,
    caplog: pytest.LogCaptureFixture,
    what: str,
) -> None:
    make_chat(store)
    with another_process_reads(store_path, what):
        make_chat(store, "while another reads")
        with caplog.at_level(logging.WARNING):
            store.close()
        assert "its log stays beside it: another program" in caplog.text
        # All of it is in the store if nobody stood in the way: the next start has nothing to mend.
        assert was_left_open(store_path) == (what == "in the middle")
    again = ConversationStore(store_path)
    assert again.notice is None
    assert len(again.list_all()) == 2
    again.close()
    assert beside(store_path) == {store_path.name}


def test_a_writer_that_is_the_last_says_nothing(
    store: ConversationStore, store_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_chat(store)
    with caplog.at_level(logging.INFO):
        store.close()
        again = ConversationStore(store_path)
        store.close()  # once more, while another has it open
        again.close()
    assert caplog.text == ""
    assert beside(store_path) == {store_path.name}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_cursor_that_somebody_holds_keeps_no_store_open(
    store: ConversationStore, store_path: Path
) -> None:
    for number in range(5):
        make_chat(store, f"Question {number}")
    store.close()
    db = files.open_writer(store_path)
    db.execute("UPDATE conversations SET title = 'new'")
    held = [
        db.execute("SELECT * FROM messages"),
        db.cursor().execute("SELECT * FROM messages"),
        db.executemany("UPDATE messages SET text = ? WHERE seq = 1", [("a",), ("b",)]),
    ]
    held[0].fetchone()
    held[1].fetchone()
    close_writer(db, store_path)
    close_writer(db, store_path)
    assert open_files(store_path) == []
    assert beside(store_path) == {store_path.name}
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        held[0].fetchone()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_damaged_store_is_closed_before_it_is_moved(
    store: ConversationStore, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere than on POSIX what is open can't be moved; a read that failed has a cursor yet."""
    for number in range(200):
        make_chat(store, f"Question {number} {'words ' * 200}")
    store.close()
    again = ConversationStore(store_path)
    page = again._database._db.execute("PRAGMA page_size").fetchone()[0]
    with store_path.open("r+b") as file:
        file.seek(page * 8)
        file.write(b"\xff" * (store_path.stat().st_size - page * 8))
    again._database._db.execute("PRAGMA shrink_memory")  # forgets the pages that it has read
    seen: list[list[str]] = []
    move = files.move_aside

    def moved(path: Path, *values: object) -> Path:
        seen.append(open_files(path))
        return move(path, *values)  # type: ignore[arg-type]

    monkeypatch.setattr(files, "move_aside", moved)

    def read(db: sqlite3.Connection) -> int:
        chats = db.execute("VALUES (1), (2)")
        inner = "SELECT count(text) FROM messages NOT INDEXED WHERE length(text) > 0"
        return sum(int(db.execute(inner).fetchone()[0]) for _seq in chats)

    again._read(read)
    again.close()
    assert seen == [[]]
    assert again.notice is not None
    assert again.notice.kind == "recovered"


def test_an_older_store_is_read_without_a_trace(store_path: Path) -> None:
    kept = Path(__file__).parent / "kept"
    old = min(kept.glob("*.sqlite3"))
    store_path.write_bytes(old.read_bytes())
    reader = ConversationStore(store_path, read_only=True)
    reader.list_all()
    reader.close()
    assert beside(store_path) == {store_path.name}
    with sqlite3.connect(f"file:{store_path}?mode=ro&immutable=1", uri=True) as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] < current_version()
    db.close()

"""A46: what happens to chats when the disk is full, read-only or failing."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.data import files
from app.data.conversations import ConversationStore
from app.data.database import StoreNotice
from app.data.errors import StoreUnavailable, fault_kind
from app.settings.files import free_name
from tests.helpers.store_files import make_chat


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 400 KB."""
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)],
        check=False,
        capture_output=True,
    )
    if done.returncode:
        pytest.skip("needs the right to mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Take all space that is left on a small disk."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 1024)
        except OSError:
            pass
    return ballast


def limit_pages(store: ConversationStore) -> None:
    """Make SQLite itself say that the disk is full, as soon as the store wants to grow."""
    db = store._database._db
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {pages}")


def state(store: ConversationStore) -> tuple[bool, StoreNotice | None]:
    return store.in_memory, store.notice


def test_a_disk_that_fills_up_loses_nothing(small_disk: Path) -> None:
    path = small_disk / "chats.sqlite3"
    store = ConversationStore(path)
    old = make_chat(store)
    ballast = fill(small_disk)
    new = store.create("typed while the disk was full")
    asked = store.add_message(new.id, None, "user", "long question " * 2000)
    reply = store.start_reply(new.id, asked.id)
    assert store.save_reply(reply.id, "an answer " * 4000, "", "complete")
    store.rename(old.id, "also renamed")
    assert store.in_memory
    assert store.notice is not None
    assert store.notice.kind == "full"
    assert store.notice.sentence.startswith("The disk is full: chats are kept in memory")
    assert len(store.path(old.id)) == 3
    assert len(store.path(new.id)) == 2
    assert not store.retry()

    ballast.unlink()
    assert store.retry()
    assert state(store) == (False, None)
    store.add_message(new.id, reply.id, "user", "and more")
    store.close()
    again = ConversationStore(path)
    assert [m.text[:9] for m in again.path(new.id)] == ["long ques", "an answer", "and more"]
    assert again.search("also renamed")[0].conversation_id == old.id
    assert len(again.search("an answer")) == 1
    again.close()


@pytest.mark.skipif(os.name == "nt", reason="pipes with names and devices are POSIX")
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "loop", "link"])
def test_what_is_no_file_is_said_and_left_alone(store_path: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(store_path)
    elif kind == "folder":
        store_path.mkdir()
    else:
        targets = {"device": "/dev/zero", "loop": store_path.name, "link": "/no/such/disk/chats"}
        store_path.symlink_to(targets[kind])
    store = ConversationStore(store_path)
    assert store.in_memory
    assert store.notice is not None
    assert "kept in memory" in store.notice.sentence
    assert len(store.path(make_chat(store).id)) == 3
    store.close()
    assert not store_path.is_file()
    assert kind in {"folder", "pipe"} or store_path.is_symlink()
    if kind == "pipe":
        with pytest.raises(StoreUnavailable, match="not a plain file"):
            ConversationStore(store_path, read_only=True)


def test_a_full_disk_at_the_first_start(small_disk: Path) -> None:
    ballast = fill(small_disk)
    path = small_disk / "chats.sqlite3"
    store = ConversationStore(path)
    assert store.in_memory
    assert store.notice is not None
    assert store.notice.kind == "full"
    chat = make_chat(store)
    assert not store.retry()
    assert len(store.path(chat.id)) == 3
    ballast.unlink()
    store.close()  # writes what is pending, now that it can
    again = ConversationStore(path)
    assert len(again.path(chat.id)) == 3
    again.close()


def test_space_that_comes_back_at_close_is_used(store_path: Path) -> None:
    store = ConversationStore(store_path)
    kept = make_chat(store)
    limit_pages(store)
    gone = make_chat(store, "to be purged " * 5000)
    assert store.in_memory
    added = make_chat(store, "kept " * 5000)
    deletion = store.delete_message(kept.follow_up)
    store.purge(gone.id)
    store.close()
    again = ConversationStore(store_path)
    assert {c.id for c in again.list_all()} == {kept.id, added.id}
    assert len(again.path(kept.id)) == 2
    again.undo_delete_message(deletion)
    assert len(again.path(kept.id)) == 3
    again.close()


def test_a_chat_of_the_disk_that_is_purged_in_memory_is_purged(store_path: Path) -> None:
    store = ConversationStore(store_path)
    gone = make_chat(store, "plutonium")
    limit_pages(store)
    kept = make_chat(store, "x" * 50_000)
    assert store.in_memory
    store.purge(gone.id)
    assert store.retry()
    assert [c.id for c in store.list_all()] == [kept.id]
    assert store.search("plutonium") == []
    store.close()


def test_damage_without_room_for_a_new_store(small_disk: Path) -> None:
    path = small_disk / "chats.sqlite3"
    first = ConversationStore(path)
    old = make_chat(first)
    first.close()
    path.write_bytes(bytes(4096) + path.read_bytes()[4096:])
    ballast = fill(small_disk)
    store = ConversationStore(path)
    assert store.notice is not None
    assert store.notice.recovered is not None
    assert "damaged and is kept as" in store.notice.sentence
    assert "The disk is full" in store.notice.sentence
    assert len(store.path(old.id)) == 3
    assert not store.retry()
    ballast.unlink()
    assert store.retry()
    store.close()
    again = ConversationStore(path)
    assert len(again.path(old.id)) == 3
    again.close()


def test_a_read_only_folder(small_disk: Path) -> None:
    path = small_disk / "chats.sqlite3"
    first = ConversationStore(path)
    old = make_chat(first)
    first.close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    store = ConversationStore(path)
    assert store.in_memory
    assert store.notice is not None
    assert store.notice.kind == "read_only"
    assert str(small_disk) in store.notice.sentence
    assert len(store.path(old.id)) == 3
    store.add_message(old.id, old.follow_up, "assistant", "in memory")
    assert not store.retry()
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    assert store.retry()
    store.close()
    again = ConversationStore(path)
    assert again.path(old.id)[-1].text == "in memory"
    again.close()


def test_a_folder_that_turns_read_only_in_between(small_disk: Path) -> None:
    path = small_disk / "chats.sqlite3"
    store = ConversationStore(path)
    chat = make_chat(store)
    # As a file system that is remounted after an error: writing is refused from here on.
    store._database._db.execute("PRAGMA query_only = ON")
    store.add_message(chat.id, chat.follow_up, "assistant", "kept in memory")
    assert store.in_memory
    assert store.notice is not None
    assert store.notice.kind == "read_only"
    assert store.retry()
    assert store.path(chat.id)[-1].text == "kept in memory"
    store.close()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = ConversationStore(tmp_path / "file" / "chats.sqlite3")
    assert store.in_memory
    assert store.notice is not None
    assert store.notice.kind == "unreadable"
    assert store.notice.sentence == (
        f"Nothing can be kept because {tmp_path / 'file'} is not a folder: chats and drafts stay"
        " in memory and will be lost when Plimsoll closes."
    )
    chat = make_chat(store)
    assert len(store.path(chat.id)) == 3
    assert not store.retry()
    store.close()


def test_a_store_in_memory_by_choice(tmp_path: Path) -> None:
    store = ConversationStore(None)
    assert store.in_memory
    assert store.notice is None
    assert len(store.path(make_chat(store).id)) == 3
    assert not store.retry()
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_another_program_that_holds_the_file_for_long(
    store: ConversationStore, store_path: Path
) -> None:
    chat = make_chat(store)
    store._database._db.execute("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(store_path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.add_message(chat.id, chat.follow_up, "assistant", "not lost")
    assert store.in_memory
    assert store.notice is not None
    assert store.notice.sentence.startswith("Another program holds the file with your chats")
    other.execute("ROLLBACK")
    other.close()
    assert store.retry()
    assert store.path(chat.id)[-1].text == "not lost"


def test_a_store_whose_tables_are_not_of_its_version_is_recovered(store_path: Path) -> None:
    store = ConversationStore(store_path)
    chat = make_chat(store)
    store.close()
    with closing(sqlite3.connect(store_path, isolation_level=None)) as db:
        db.execute("PRAGMA user_version = 1000")  # but the tables of the version after that
    again = ConversationStore(store_path)
    try:
        assert again.notice is not None
        assert again.notice.kind == "recovered"
        assert not again.in_memory
        assert len(again.path(chat.id)) == 3
    finally:
        again.close()


def test_a_damaged_search_index_is_made_anew(store: ConversationStore) -> None:
    chat = make_chat(store)
    store._database._db.execute("DELETE FROM message_search_data WHERE id > 10")
    assert {hit.message_id for hit in store.search("hull")} == {chat.first_reply}
    assert store.notice is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("SQLITE_FULL", "full"),
        ("SQLITE_READONLY", "read_only"),
        ("SQLITE_CORRUPT", "damaged"),
        ("SQLITE_NOTADB", "damaged"),
        ("SQLITE_BUSY", "busy"),
        ("SQLITE_IOERR", "unreadable"),
        ("SQLITE_CONSTRAINT", "bug"),
        ("SQLITE_ERROR", "bug"),
    ],
)
def test_whose_fault_an_error_is(name: str, kind: str) -> None:
    error = sqlite3.OperationalError("x")
    error.sqlite_errorcode = getattr(sqlite3, name) | 0x200  # extended codes count as well
    assert fault_kind(error) == kind
    assert fault_kind(sqlite3.ProgrammingError("closed")) == "bug"


def test_two_stores_of_one_file(store: ConversationStore, store_path: Path) -> None:
    chat = make_chat(store)
    second = ConversationStore(store_path)
    assert second.read_only
    assert not second.in_memory
    assert second.notice is not None
    assert second.notice.kind == "in_use"
    assert f"(process {os.getpid()})" in second.notice.sentence
    store.add_message(chat.id, chat.follow_up, "assistant", "written by the first")
    assert second.path(chat.id)[-1].text == "written by the first"
    writes: list[Callable[[], object]] = [
        lambda: second.create("x"),
        lambda: second.rename(chat.id, "x"),
        second.close_interrupted,
    ]
    for write in writes:
        with pytest.raises(StoreUnavailable, match="can only be read here"):
            write()
    second.close()


def test_reading_only_where_there_is_nothing(store_path: Path) -> None:
    store = ConversationStore(store_path, read_only=True)
    assert store.list_all() == []
    store.close()
    assert not store_path.exists()


def test_a_log_left_by_a_removed_store_is_not_replayed(
    store: ConversationStore, store_path: Path
) -> None:
    make_chat(store)
    log = Path(f"{store_path}-wal").read_bytes()
    store.close()
    store_path.unlink()
    Path(f"{store_path}-wal").write_bytes(log)
    again = ConversationStore(store_path)
    assert again.notice is None
    assert again.list_all() == []
    again.close()
    assert list(store_path.parent.glob("*left-over*"))


def test_names_beside_the_store_are_never_taken_twice(store_path: Path) -> None:
    store_path.write_bytes(b"one")
    kept = [free_name(store_path, "damaged") for _ in range(1)]
    kept[0].write_bytes(b"kept")
    assert free_name(store_path, "damaged").name == "chats.damaged-2.sqlite3"


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_only_its_owner_can_read_the_store(tmp_path: Path) -> None:
    path = tmp_path / "data" / "chats.sqlite3"
    before = os.umask(0o022)
    try:
        store = ConversationStore(path)
        make_chat(store)
        kept = files.back_up(store._database._db, path, "before-2")
        found = {item.name: item.stat().st_mode & 0o777 for item in path.parent.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert kept.name in found
    assert {"chats.sqlite3", "chats.sqlite3-wal"} <= set(found)
    assert set(found.values()) == {0o600}, found
    assert path.parent.stat().st_mode & 0o777 == 0o700

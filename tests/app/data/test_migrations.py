from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.data import migrations
from app.data.conversations import ConversationStore
from app.data.errors import StoreUnavailable
from app.data.migrations import MIGRATIONS, Migration, current_version, migrate, version_text
from app.data.records import Attachment, DraftFile

KEPT = Path(__file__).parent / "kept"


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        found: int = db.execute("PRAGMA user_version").fetchone()[0]
        return found


def test_steps_only_ever_go_up() -> None:
    versions = [step.version for step in MIGRATIONS]
    assert versions == sorted(set(versions))
    assert version_text(current_version()) == f"{versions[-1] // 1000}.{versions[-1] % 1000}"


def test_there_is_a_kept_file_of_every_version_but_the_newest() -> None:
    kept = {path.name for path in KEPT.glob("store-*.sqlite3")}
    assert kept == {f"store-{version_text(step.version)}.sqlite3" for step in MIGRATIONS[:-1]}


def test_a_store_of_version_1_0_opens_with_all_it_had(store_path: Path) -> None:
    shutil.copy(KEPT / "store-1.0.sqlite3", store_path)
    store = ConversationStore(store_path)
    assert store.notice is None
    assert not store.in_memory
    assert store.close_interrupted() == 1
    (chat,) = store.list_all()
    assert (chat.title, chat.system_prompt, dict(chat.sampling)) == (
        "Load lines", "Be brief.", {"temperature": 0.2},
    )  # fmt: skip
    question, reply = store.path(chat.id)
    assert question.attachments[0].text == "ship"
    assert (reply.text, reply.state) == ("Half an ans", "interrupted")
    versions = store.siblings(reply.id)
    assert (versions.index, versions.count) == (1, 2)
    first = store.message(versions.ids[0])
    assert first is not None
    assert first.stats is not None
    assert first.stats.decode_per_s == 40
    assert store.context_events(chat.id)[0].dropped == (question.id,)
    # What was there before the search index is found by it.
    assert {hit.message_id for hit in store.search("grosse")} == {question.id}
    assert {hit.message_id for hit in store.search("große 貨線")} == {question.id}
    assert [hit.message_id for hit in store.search("load lines")] == [None]
    store.close()
    assert version(store_path) == current_version()


def test_a_store_of_version_1_1_opens_with_all_it_had_and_keeps_files_of_drafts(
    store_path: Path,
) -> None:
    shutil.copy(KEPT / "store-1.1.sqlite3", store_path)
    store = ConversationStore(store_path)
    assert store.notice is None
    assert not store.in_memory
    assert store.close_interrupted() == 1
    (chat,) = store.list_all()
    assert (chat.title, chat.draft) == ("Load lines", "half a sentence")
    question, reply = store.path(chat.id)
    assert question.attachments[0].text == "ship"
    assert (reply.text, reply.state) == ("Half an ans", "interrupted")
    assert {hit.message_id for hit in store.search("große 貨線")} == {question.id}
    assert store.draft_files(chat.id) == []
    file = DraftFile("f" * 32, Attachment("notes.md", "# Notes"), "/home/sam/notes.md")
    store.keep_draft_files(chat.id, [file])
    store.close()
    assert version(store_path) == current_version()
    (copy,) = store_path.parent.glob("chats.before-*.sqlite3")
    assert version(copy) == 1001
    again = ConversationStore(store_path)
    assert again.draft_files(chat.id) == [file]
    again.close()


def test_a_program_that_knows_no_files_of_drafts_opens_the_store_and_leaves_them(
    store: ConversationStore, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat, other = store.create("kept"), store.create("removed")
    file = DraftFile("f" * 32, Attachment("notes.md", "# Notes"))
    store.keep_draft_files(chat.id, [file])
    store.keep_draft_files(other.id, [DraftFile("e" * 32, Attachment("b.md", "b"))])
    store.close()
    with monkeypatch.context() as older:
        older.setattr(migrations, "MIGRATIONS", MIGRATIONS[:2])
        old = ConversationStore(store_path)
        assert old.notice is None
        assert not old.in_memory
        old.add_message(chat.id, None, "assistant", "of the older program")
        old.purge(other.id)
        old.close()
    assert version(store_path) == current_version()
    again = ConversationStore(store_path)
    assert again.notice is None
    assert again.draft_files(chat.id) == [file]
    assert [message.text for message in again.path(chat.id)] == ["of the older program"]
    again.close()
    with closing(sqlite3.connect(store_path)) as db:
        assert db.execute("SELECT count(*) FROM draft_files").fetchone() == (1,)


def test_a_copy_is_kept_before_an_upgrade(store_path: Path) -> None:
    shutil.copy(KEPT / "store-1.0.sqlite3", store_path)
    ConversationStore(store_path).close()
    (copy,) = store_path.parent.glob("chats.before-*.sqlite3")
    assert version(copy) == 1000
    assert copy.stat().st_mode & 0o077 == 0
    with closing(sqlite3.connect(copy)) as db:
        assert db.execute("SELECT count(*) FROM messages").fetchone() == (3,)


def test_a_step_that_fails_leaves_the_store_as_it_was(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(db: sqlite3.Connection) -> None:
        db.execute("DROP TABLE messages")
        db.execute("SELECT nonsense")

    shutil.copy(KEPT / "store-1.0.sqlite3", store_path)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS[:1], Migration(1001, broken)))
    with closing(sqlite3.connect(store_path, isolation_level=None)) as db:
        with pytest.raises(sqlite3.OperationalError, match="nonsense"):
            migrate(db)
        assert db.execute("SELECT count(*) FROM messages").fetchone() == (3,)
    assert version(store_path) == 1000


def test_an_older_store_is_read_without_being_changed(store_path: Path) -> None:
    shutil.copy(KEPT / "store-1.0.sqlite3", store_path)
    store = ConversationStore(store_path, read_only=True)
    assert len(store.search("hull")) == 1
    store.close()
    assert version(store_path) == 1000


def test_a_newer_minor_version_is_opened(store: ConversationStore, store_path: Path) -> None:
    store.create("kept")
    store.close()
    with closing(sqlite3.connect(store_path)) as db:
        db.execute("ALTER TABLE messages ADD COLUMN mood TEXT")
        db.execute(f"PRAGMA user_version = {current_version() + 1}")
    again = ConversationStore(store_path)
    assert again.notice is None
    assert [c.title for c in again.list_all()] == ["kept"]
    again.close()


def test_a_newer_major_version_is_refused_and_left_alone(
    store: ConversationStore, store_path: Path
) -> None:
    store.create("of the future")
    store.close()
    with closing(sqlite3.connect(store_path)) as db:
        db.execute("PRAGMA user_version = 9007")
    before = store_path.read_bytes()
    again = ConversationStore(store_path)
    assert again.notice is not None
    assert again.notice.kind == "too_new"
    assert "newer Plimsoll (store version 9.7," in again.notice.sentence
    assert again.in_memory
    chat = again.create("goes on in memory")
    assert again.get(chat.id) is not None
    assert not again.retry()
    again.close()
    assert store_path.read_bytes() == before
    with pytest.raises(StoreUnavailable, match=r"newer Plimsoll \(store version 9\.7"):
        ConversationStore(store_path, read_only=True)

"""Files of drafts in the store: kept as they were read, until their message is sent."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.data import carve, recovery
from app.data.conversations import ConversationStore
from app.data.records import Attachment, DraftFile
from tests.helpers.store_files import make_chat

NOTES = DraftFile("a" * 32, Attachment("notes.md", "# Größe, 載貨\r\n"), "/home/sam/notes.md")
TABLE = DraftFile("b" * 32, Attachment("user", "user", note="Only 3 of 9 pages were read."))


def in_table(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return [row[0] for row in db.execute("SELECT id FROM draft_files ORDER BY seq")]


@pytest.mark.parametrize("of_a_chat", [True, False])
def test_files_come_back_as_they_were_after_the_store_was_closed(
    store: ConversationStore, store_path: Path, of_a_chat: bool
) -> None:
    chat = store.create().id if of_a_chat else None
    assert store.draft_files(chat) == []
    store.keep_draft_files(chat, [NOTES])
    store.keep_draft_files(chat, [NOTES, TABLE])
    store.close()
    again = ConversationStore(store_path)
    assert again.draft_files(chat) == [NOTES, TABLE]
    again.keep_draft_files(chat, [TABLE])
    assert again.draft_files(chat) == [TABLE]
    again.close()


def test_each_chat_has_its_own_and_the_new_one_has_its_own(store: ConversationStore) -> None:
    chat = store.create()
    store.keep_draft_files(chat.id, [NOTES])
    store.keep_draft_files(None, [TABLE])
    assert store.draft_files(chat.id) == [NOTES]
    assert store.draft_files(None) == [TABLE]
    assert store.draft_files(store.create().id) == []


def test_a_file_goes_on_with_the_chat_that_a_new_one_became(store: ConversationStore) -> None:
    store.keep_draft_files(None, [NOTES])
    chat = store.create()
    store.keep_draft_files(chat.id, [NOTES])
    assert store.draft_files(None) == []
    assert store.draft_files(chat.id) == [NOTES]


def test_a_message_that_is_sent_takes_them_away_and_an_edit_or_a_reply_does_not(
    store: ConversationStore,
) -> None:
    chat = make_chat(store)
    other = store.create()
    store.update(chat.id, draft="half a sentence")
    for key, file in ((chat.id, NOTES), (other.id, TABLE)):
        store.keep_draft_files(key, [file])
    store.edit(chat.question, "What is it?")
    store.edit(chat.first_reply, "Something else.")
    store.start_reply(chat.id, chat.question)
    kept = store.get(chat.id)
    assert kept is not None
    assert kept.draft == "half a sentence"
    assert store.draft_files(chat.id) == [NOTES]
    store.add_message(chat.id, None, "user", "with notes", attachments=(NOTES.attachment,))
    kept = store.get(chat.id)
    assert kept is not None
    assert kept.draft == ""
    assert store.draft_files(chat.id) == []
    assert store.draft_files(other.id) == [TABLE]


def test_they_go_with_a_chat_that_is_removed_for_good(
    store: ConversationStore, store_path: Path
) -> None:
    chat = store.create()
    store.keep_draft_files(chat.id, [NOTES])
    store.delete(chat.id)
    assert store.draft_files(chat.id) == [NOTES]  # until then it can come back
    store.purge(chat.id)
    assert store.draft_files(chat.id) == []
    store.keep_draft_files(chat.id, [NOTES])  # on its way while the chat was removed
    store.close()
    assert in_table(store_path) == []


def test_a_copy_of_a_chat_has_no_draft(store: ConversationStore) -> None:
    chat = make_chat(store)
    store.keep_draft_files(chat.id, [NOTES])
    assert store.draft_files(store.duplicate(chat.id).id) == []


def test_what_was_kept_in_memory_reaches_the_disk(
    store: ConversationStore, store_path: Path
) -> None:
    chat = make_chat(store)
    store.keep_draft_files(chat.id, [NOTES])
    store._database._to_memory(store_path, OSError("no room"))
    store.keep_draft_files(chat.id, [TABLE])
    store.keep_draft_files(None, [NOTES])
    assert store.in_memory
    assert store.retry()
    store.close()
    again = ConversationStore(store_path)
    assert again.draft_files(chat.id) == [TABLE]
    assert again.draft_files(None) == [NOTES]
    again.close()


@pytest.mark.parametrize("way", ["tables", "pages"])
def test_they_are_recovered_from_a_damaged_store(
    store: ConversationStore, store_path: Path, way: str
) -> None:
    chat = make_chat(store)
    long = DraftFile("c" * 32, Attachment("long.txt", "many words " * 5000), None)
    store.keep_draft_files(chat.id, [NOTES, long])
    store.keep_draft_files(None, [TABLE])
    store.close()
    if way == "pages":
        data = store_path.read_bytes()
        store_path.write_bytes(b"not a database\0\0" + data[16:])
        kinds = {table for table, _, _ in carve.rows_of(store_path)}
        assert kinds == {"conversations", "messages", "draft_files"}
        salvaged = recovery.salvage(store_path)
        assert list(salvaged.tables["conversations"]) == [chat.id]
        opened = ConversationStore(store_path)
        assert opened.notice is not None
        assert opened.notice.kind == "recovered"
    else:
        salvaged = recovery.salvage(store_path)
        opened = ConversationStore(None)
        recovery.load(opened._database._db, salvaged, store_path)
    assert opened.draft_files(chat.id) == [NOTES, long]
    assert opened.draft_files(None) == [TABLE]
    opened.close()


def test_a_damaged_store_without_the_table_gives_all_else() -> None:
    """Of version 1.1: that the table is not there is no damage."""
    source = Path(__file__).parent / "kept" / "store-1.1.sqlite3"
    salvaged = recovery.salvage(source)
    assert len(salvaged.tables["messages"]) == 3
    assert salvaged.tables["draft_files"] == {}

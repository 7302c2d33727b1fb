from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from app.data.conversations import ConversationStore
from app.data.errors import StoreBug, UnknownId
from tests.helpers.store_files import make_chat


def test_a_new_store_is_one_file_for_the_user_alone(
    store: ConversationStore, store_path: Path
) -> None:
    assert store.notice is None
    assert not store.in_memory
    assert store_path.stat().st_mode & 0o077 == 0
    assert store.list_all() == []


def test_settings_of_a_chat_come_back(store: ConversationStore, store_path: Path) -> None:
    made = store.create(
        "Ships", model_path="/m/a.gguf", model_name="a", system_prompt="Be brief.",
        sampling={"temperature": 0.2, "stop": ["x"]}, draft="half a sen",
    )  # fmt: skip
    store.update(made.id, preset="precise", pinned_now="2026-01-02T03:04:05", keep_from="m1")
    store.close()
    again = ConversationStore(store_path)
    kept = again.get(made.id)
    again.close()
    assert kept == replace(made, preset="precise", pinned_now="2026-01-02T03:04:05", keep_from="m1")


def test_list_is_ordered_by_pin_then_activity(store: ConversationStore) -> None:
    first, second, third = (store.create(name) for name in ("one", "two", "three"))
    store.add_message(first.id, None, "user", "hello")
    store.pin(second.id)
    store.rename(third.id, "renamed")  # no activity: its place stays
    assert [c.id for c in store.list_all()] == [second.id, first.id, third.id]
    store.pin(second.id, False)
    assert [c.id for c in store.list_all()] == [first.id, third.id, second.id]


def test_rename_to_nothing_goes_back_to_the_automatic_title(store: ConversationStore) -> None:
    chat = make_chat(store)
    store.rename(chat.id, "  My\nload   line ")
    renamed = store.get(chat.id)
    assert renamed is not None
    assert (renamed.title, renamed.title_is_auto) == ("My load line", False)
    store.rename(chat.id, " ")
    automatic = store.get(chat.id)
    assert automatic is not None
    assert (automatic.title, automatic.title_is_auto) == ("What is a load line?", True)


def test_delete_undo_purge(store: ConversationStore, store_path: Path) -> None:
    kept, gone = make_chat(store), make_chat(store, "Something with plutonium in it")
    store.delete(gone.id)
    assert [c.id for c in store.list_all()] == [kept.id]
    assert [c.id for c in store.list_all(deleted=True)] == [gone.id]
    assert store.search("plutonium") == []
    store.undelete(gone.id)
    assert len(store.path(gone.id)) == 3
    assert len(store.search("plutonium")) == 2
    store.delete(gone.id)
    assert store.purge_deleted(before_ms=0) == 0
    assert store.purge_deleted(before_ms=1 << 60) == 1
    assert store.get(gone.id) is None
    store.purge(gone.id)
    store.close()
    assert b"plutonium" not in store_path.read_bytes()
    assert not Path(f"{store_path}-wal").exists()


def test_duplicate_copies_all_branches(store: ConversationStore) -> None:
    chat = make_chat(store)
    store.add_context_event(
        chat.id, chat.follow_up, dropped=[chat.question], dropped_tokens=9, n_ctx=64,
        keep_from=chat.second_reply,
    )  # fmt: skip
    copy = store.duplicate(chat.id, title="Copy")
    assert copy.title == "Copy"
    old, new = store.whole(chat.id), store.whole(copy.id)
    assert [m.text for m in new.messages] == [m.text for m in old.messages]
    assert not {m.id for m in new.messages} & {m.id for m in old.messages}
    places = {m.id: index for index, m in enumerate(new.messages)}
    assert [places.get(m.parent_id or "") for m in new.messages] == [None, 0, 0, 2]
    assert places[new.conversation.leaf_id or ""] == 3
    assert new.conversation.keep_from == new.messages[2].id
    assert new.events[0].dropped == (new.messages[0].id,)
    assert [m.text for m in store.path(copy.id)] == [m.text for m in store.path(chat.id)]


def test_duplicate_up_to_a_message_takes_only_its_way(store: ConversationStore) -> None:
    chat = make_chat(store)
    copy = store.duplicate(chat.id, until=chat.first_reply)
    assert [m.text for m in store.messages(copy.id)] == [
        "What is a load line?",
        "A mark on a hull.",
    ]
    with pytest.raises(UnknownId):
        store.duplicate(chat.id, until="nothing")


def test_unknown_ids_are_said(store: ConversationStore) -> None:
    assert store.get("nothing") is None
    for call in (
        lambda: store.rename("nothing", "x"),
        lambda: store.pin("nothing"),
        lambda: store.update("nothing", draft="x"),
        lambda: store.delete("nothing"),
        lambda: store.path("nothing"),
        lambda: store.whole("nothing"),
    ):
        with pytest.raises(UnknownId):
            call()


def test_a_fault_of_ours_is_a_bug_and_changes_nothing(store: ConversationStore) -> None:
    chat = make_chat(store)

    def broken(db: sqlite3.Connection) -> None:
        db.execute("UPDATE messages SET text = 'lost'")
        db.execute("SELECT nonsense")

    with pytest.raises(StoreBug, match="nonsense"):
        store._write(broken)
    assert store.path(chat.id)[0].text == "What is a load line?"
    assert not store.in_memory


def test_text_that_no_file_can_hold_is_stored_with_a_mark(store: ConversationStore) -> None:
    chat = store.create(draft="\udc80")
    store.add_message(chat.id, None, "user", "a\ud800b\x00c")
    assert store.path(chat.id)[0].text == "a?b\x00c"


def test_what_a_killed_run_deleted_is_gone_at_the_next_start(store: ConversationStore) -> None:
    kept, deleted = make_chat(store), make_chat(store, "never to be read again")
    reply = store.start_reply(kept.id, kept.follow_up)
    store.save_reply(reply.id, "half")
    store.delete(deleted.id)
    store.settle_last_run()
    assert [chat.id for chat in store.list_all()] == [kept.id]
    assert store.list_all(deleted=True) == []
    assert store.search("never") == []
    assert store.path(kept.id)[-1].state == "interrupted"

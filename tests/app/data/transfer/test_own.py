from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.data.conversations import ConversationStore
from app.data.records import Attachment
from app.data.transfer import own
from app.data.transfer.common import TransferError
from app.data.transfer.reading import read_file
from tests.helpers.store_files import make_chat

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def exported(store: ConversationStore, tmp_path: Path) -> Path:
    """Two chats with everything that a chat can have, as a file."""
    chat = make_chat(store)
    store.update(
        chat.id, sampling={"temperature": 0.25, "stop": ["END"]}, system_prompt="Be brief.",
        preset="precise", model_path="/models/日本 é.gguf", pinned_now="2026-01-01T00:00:00",
        draft="and wh",
    )  # fmt: skip
    store.pin(chat.id)
    store.add_context_event(
        chat.id, chat.follow_up, dropped=[chat.question], dropped_tokens=7, n_ctx=128,
        keep_from=chat.second_reply,
    )  # fmt: skip
    store.edit(chat.question, "Größe? 🚢", attachments=[Attachment("a.csv", "1,2\n", 3, "note")])
    make_chat(store, "the second")
    path = tmp_path / "chats.json"
    path.write_text(own.render((store.whole(c.id) for c in store.list_all()), NOW), "utf-8")
    return path


def test_a_round_trip_loses_nothing(
    store: ConversationStore, exported: Path, tmp_path: Path
) -> None:
    data = json.loads(exported.read_text("utf-8"))
    assert (data["format"], data["version"], data["exported"]) == (
        "plimsoll-conversations", 1, "2026-01-02T03:04:05+00:00",
    )  # fmt: skip
    other = ConversationStore(tmp_path / "other.sqlite3")
    assert other.add_whole(read_file(exported).conversations) == (2, 0)
    for chat in store.list_all():
        assert other.whole(chat.id) == store.whole(chat.id)
        assert other.path(chat.id) == store.path(chat.id)
    assert other.search("Grösse")[0].snippet == "Größe? 🚢"
    other.close()


def test_a_second_import_changes_nothing(store: ConversationStore, exported: Path) -> None:
    before = [store.whole(chat.id) for chat in store.list_all()]
    assert store.add_whole(read_file(exported).conversations) == (0, 2)
    assert [store.whole(chat.id) for chat in store.list_all()] == before


def test_a_chat_that_went_on_meanwhile_is_imported_as_a_copy(
    store: ConversationStore, exported: Path
) -> None:
    first = store.list_all()[0]
    store.add_message(first.id, first.leaf_id, "user", "went on")
    assert store.add_whole(read_file(exported).conversations) == (1, 1)
    assert len(store.list_all()) == 3
    assert store.path(first.id)[-1].text == "went on"


def test_a_deleted_chat_comes_back_by_import(store: ConversationStore, exported: Path) -> None:
    gone = store.list_all()[0]
    store.delete(gone.id)
    assert store.add_whole(read_file(exported).conversations) == (0, 2)
    assert store.list_all()[0].id == gone.id


def test_deleted_messages_are_not_exported(store: ConversationStore) -> None:
    chat = make_chat(store)
    store.delete_message(chat.second_reply)
    text = own.render([store.whole(chat.id)], NOW)
    assert "A limit." not in text
    assert "deleted" not in text


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new.json"
    path.write_text(json.dumps({"format": own.FORMAT, "version": 2, "conversations": []}))
    with pytest.raises(TransferError, match="version 2 of Plimsoll's format"):
        read_file(path)


def spoil(change: dict[str, Any], at: str = "") -> dict[str, Any]:
    message = {"id": "m1", "parent_id": None, "role": "user", "text": "hi", "reasoning": "",
               "state": "complete", "stop_reason": None, "model_name": None,
               "created_ms": 1, "updated_ms": 1}  # fmt: skip
    chat = {"id": "c1", "title": "t", "title_is_auto": False, "created_ms": 1, "updated_ms": 1,
            "messages": [message]}  # fmt: skip
    (message if at == "message" else chat).update(change)
    return chat


@pytest.mark.parametrize(
    "chat",
    [
        spoil({"title": 7}),
        spoil({"pinned": "yes"}),
        spoil({"text": None}, "message"),
        spoil({"role": "system"}, "message"),
        spoil({"attachments": [1]}, "message"),
        spoil({"stats": {"n_ctx": "x"}}, "message"),
        spoil({"messages": "none"}),
        spoil({"messages": [[]]}),
        spoil({"messages": []}),
        [],
        None,
    ],
)
def test_a_spoiled_chat_is_left_out_and_counted(
    store: ConversationStore, tmp_path: Path, chat: Any
) -> None:
    path = tmp_path / "x.json"
    data = {"format": own.FORMAT, "version": 1, "conversations": [chat, spoil({"id": "good"})]}
    path.write_text(json.dumps(data))
    imported = read_file(path)
    assert imported.skipped.total() >= 1
    assert store.add_whole(imported.conversations) == (1, 0)


def test_wild_values_are_brought_into_bounds(store: ConversationStore, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    chat = spoil({"created_ms": 1 << 62, "updated_ms": -5, "leaf_id": "nothing", "keep_from": "?",
                  "sampling": {"temperature": "hot", "top_k": 5, "made_up": 1, "seed": 1e300},
                  "context_events": [{"id": "e", "message_id": "m1", "created_ms": 1 << 62,
                                      "dropped": ["m1"], "dropped_tokens": -1,
                                      "n_ctx": 1 << 62}]})  # fmt: skip
    path.write_text(json.dumps({"format": own.FORMAT, "version": 1, "conversations": [chat]}))
    assert store.add_whole(read_file(path).conversations) == (1, 0)
    (kept,) = store.list_all()
    assert (kept.created_ms, kept.updated_ms) == (1, 1)
    assert dict(kept.sampling) == {"top_k": 5}
    (message,) = store.path(kept.id)
    (event,) = store.context_events(kept.id)
    assert (event.dropped, event.dropped_tokens, event.message_id) == (
        (message.id,), 0, message.id,
    )  # fmt: skip


def test_a_reply_that_was_streaming_is_interrupted(
    store: ConversationStore, tmp_path: Path
) -> None:
    chat = make_chat(store)
    whole = store.whole(chat.id)
    messages = [replace(m, state="streaming") for m in whole.messages]
    path = tmp_path / "x.json"
    path.write_text(own.render([replace(whole, messages=messages)], NOW))
    (read,) = read_file(path).conversations
    assert {m.state for m in read.messages} == {"interrupted"}

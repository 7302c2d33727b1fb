"""A46: stores that a power cut, a bad disk or a stray program has damaged."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app.data import carve, recovery
from app.data.conversations import ConversationStore
from app.data.store_notice import StoreNotice
from tests.helpers.store_files import Chat, make_chat

PAGE = 4096


def filled(path: Path, chats: int = 6) -> list[Chat]:
    """A closed store of some hundred kilobytes, with messages that span pages."""
    store = ConversationStore(path)
    made = [make_chat(store, f"question {n} " + "with a long text " * 800) for n in range(chats)]
    for chat in made:
        store.add_context_event(
            chat.id, chat.follow_up, dropped=[chat.question], dropped_tokens=5, n_ctx=64,
            keep_from=None,
        )  # fmt: skip
    store.close()
    return made


def opened(path: Path) -> tuple[ConversationStore, StoreNotice]:
    store = ConversationStore(path)
    notice = store.notice
    assert notice is not None
    return store, notice


def nul(path: Path) -> bytes:
    return bytes(len(path.read_bytes()))


def empty(_: Path) -> bytes:
    return b""


def wrong_magic(path: Path) -> bytes:
    return b"not a database\0\0" + path.read_bytes()[16:]


def no_first_page(path: Path) -> bytes:
    return bytes(PAGE) + path.read_bytes()[PAGE:]


def half(path: Path) -> bytes:
    data = path.read_bytes()
    return data[: len(data) // 2 + 123]


def text_file(_: Path) -> bytes:
    return b"<html>You have to log in to this network</html>"


def holes(path: Path) -> bytes:
    data = bytearray(path.read_bytes())
    for start in range(PAGE, len(data), 3 * PAGE):
        data[start : start + PAGE] = bytes(PAGE)
    return bytes(data)


@pytest.mark.parametrize(
    ("damage", "least_chats", "least_messages"),
    [
        (nul, 0, 0),
        (empty, 0, 0),
        (text_file, 0, 0),
        (wrong_magic, 6, 24),
        (no_first_page, 6, 24),
        (half, 1, 3),
        (holes, 1, 4),
    ],
)
def test_a46_a_damaged_store_is_moved_aside_and_what_is_left_is_recovered(
    store_path: Path,
    damage: Callable[[Path], bytes],
    least_chats: int,
    least_messages: int,
) -> None:
    filled(store_path)
    damaged = damage(store_path)
    store_path.write_bytes(damaged)
    store, notice = opened(store_path)
    assert notice.kind == "recovered"
    assert notice.path is not None
    assert notice.path.read_bytes() == damaged  # never overwritten
    assert notice.path.name.startswith("chats.damaged-2")
    assert notice.path.name in notice.sentence
    assert notice.recovered is not None
    assert notice.recovered.conversations >= least_chats
    assert notice.recovered.messages >= least_messages
    chats = store.list_all()
    assert len(chats) == notice.recovered.conversations
    assert sum(len(store.messages(chat.id)) for chat in chats) == notice.recovered.messages
    assert all(store.path(chat.id) for chat in chats if store.messages(chat.id))
    # The new store is a good one.
    fresh = make_chat(store, "after the damage")
    store.close()
    again = ConversationStore(store_path)
    assert again.notice is None
    assert len(again.path(fresh.id)) == 3
    again.close()


def test_rows_come_back_as_they_were(store_path: Path) -> None:
    chats = filled(store_path)
    before = ConversationStore(store_path)
    expected = {chat.id: before.whole(chat.id) for chat in chats}
    before.close()
    store_path.write_bytes(no_first_page(store_path))
    store, _ = opened(store_path)
    assert {chat.id: store.whole(chat.id) for chat in chats} == expected
    assert len(store.search("question 3")) == 2
    store.close()


def test_what_lies_in_the_log_is_recovered_too(store_path: Path) -> None:
    store = ConversationStore(store_path)
    chat = make_chat(store)
    log = Path(f"{store_path}-wal").read_bytes()
    store.close()
    store_path.write_bytes(bytes(8 * PAGE))
    Path(f"{store_path}-wal").write_bytes(log)
    again, notice = opened(store_path)
    assert notice.kind == "recovered"
    assert [m.text for m in again.path(chat.id)] == [
        "What is a load line?", "A limit.", "Who invented it?",
    ]  # fmt: skip
    again.close()


def test_damage_that_shows_later_is_mended_on_the_way(store_path: Path) -> None:
    chats = filled(store_path)
    store = ConversationStore(store_path)
    with closing(sqlite3.connect(store_path)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name='messages'").fetchone()
    store._database._db.execute("PRAGMA cache_size = 0")
    with store_path.open("r+b") as file:
        file.seek((root - 1) * PAGE)
        file.write(b"\xff" * PAGE)
    added = store.add_message(chats[0].id, None, "user", "written on top of the damage")
    assert store.notice is not None
    assert store.notice.kind == "recovered"
    assert store.path(chats[0].id) == [added]
    assert len(store.path(chats[1].id)) == 0 or store.path(chats[1].id)[0].text
    store.close()


def test_a_message_whose_conversation_is_lost_gets_one(store_path: Path) -> None:
    salvaged = recovery.Salvage()
    for seq, (name, parent) in enumerate([("a", None), ("c", "b"), ("d", "c")], 1):
        salvaged.add("messages", seq, {
            "id": name, "conversation_id": "lost", "parent_id": parent, "role": "user",
            "text": name, "reasoning": "", "state": "complete", "stop_reason": None,
            "model_name": None, "created_ms": seq, "updated_ms": seq, "attachments": "[]",
            "stats": None, "deleted_ms": None,
        })  # fmt: skip
    store = ConversationStore(store_path)
    found = store._write(lambda db: recovery.load(db, salvaged, store_path))
    assert (found.conversations, found.messages) == (1, 3)
    (chat,) = store.list_all()
    assert chat.title == "Recovered chat"
    assert [m.text for m in store.path(chat.id)] == ["a", "c", "d"]
    store.close()


@pytest.mark.parametrize("seed", range(25))
def test_any_remains_are_survived(store_path: Path, seed: int) -> None:
    filled(store_path, 2)
    chance = random.Random(seed)
    data = bytearray(store_path.read_bytes())
    for _ in range(chance.choice([3, 40, 400])):
        data[chance.randrange(len(data))] = chance.choice([0, 255, chance.randrange(256)])
    store_path.write_bytes(data[: chance.randrange(len(data))] if seed % 3 == 0 else data)
    store = ConversationStore(store_path)
    for chat in store.list_all():
        store.path(chat.id)
        store.messages(chat.id)
    fresh = make_chat(store)
    assert len(store.path(fresh.id)) == 3
    assert not store.in_memory
    store.close()


def test_pages_that_point_at_each_other_come_to_an_end(tmp_path: Path) -> None:
    path = tmp_path / "loop"
    page = bytearray(PAGE)
    page[0] = 0x0D
    page[3:5] = (1).to_bytes(2, "big")
    page[8:10] = (100).to_bytes(2, "big")
    page[100:104] = b"\x88\x80\x80\x00"  # a payload of 16 MiB, in overflow pages
    page[PAGE - 10 :] = b"\0\0\0\x02" * 2 + b"\0\x02"
    path.write_bytes(bytes(page) + b"\0\0\0\x01" + bytes(PAGE - 4))
    assert list(carve.rows_of(path)) == []
    assert list(carve.rows_of(tmp_path / "missing")) == []

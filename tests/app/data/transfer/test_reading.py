from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from app.data.conversations import ConversationStore
from app.data.transfer import reading
from app.data.transfer.common import TransferError, arranged, milliseconds, same_id
from app.data.transfer.reading import read_file
from tests.app.data.transfer.test_chatgpt import chat, node
from tests.app.data.transfer.test_lmstudio import CHAT
from tests.helpers.store_files import make_chat


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not JSON"),
        (b"\0" * 65536, "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe{}", "is not JSON"),
        (b"<html></html>", "is not JSON"),
        (b"[" * 2_000_000, "nested too deeply"),
        (b'{"a":' * 500_000, "nested too deeply"),
        (b'["\\ud800"]', "is not JSON|none of the files"),
        (b"7", "none of the files that can be imported"),
        (b"[]", "none of the files that can be imported"),
        (b'{"messages": []}', "none of the files that can be imported"),
        (b'[{"mapping": {}}]', r"holds no chat that can be imported \(chats without a message: 1"),
    ],
)
def test_a_file_that_is_none_gets_one_sentence(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(TransferError, match=sentence) as caught:
        read_file(path)
    assert "\n" not in str(caught.value)


def test_no_file_a_folder_and_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (tmp_path / "missing.json", tmp_path, pipe):
        with pytest.raises(TransferError, match=r"There is no file|is not a file|is a folder"):
            read_file(path)


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_FILE_BYTES", 1024 * 1024)
    path = tmp_path / "large.json"
    path.write_bytes(b" " * (3 * 1024 * 1024))
    with pytest.raises(TransferError, match=r"large.json is 3 MB; files of up to 1 MB"):
        read_file(path)


def test_a_byte_order_mark_is_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(CHAT).encode())
    assert len(read_file(path).conversations) == 1


@pytest.mark.parametrize("seed", range(60))
def test_no_change_of_a_file_makes_an_exception(tmp_path: Path, seed: int) -> None:
    """Values of a good file are swapped for others, at random but always the same."""
    chance = random.Random(seed)
    wild: list[object] = [
        None,
        True,
        -1,
        1 << 63,
        1e308,
        "",
        "x",
        [],
        {},
        [[]],
        {"text": {}},
        "\ud800",
    ]

    def spoiled(value: object) -> object:
        if chance.random() < 0.08:
            return chance.choice(wild)
        if isinstance(value, dict):
            return {key: spoiled(item) for key, item in value.items()}
        return [spoiled(item) for item in value] if isinstance(value, list) else value

    good = chance.choice([CHAT, [chat(node("q", None, "user", "a"), node("r", "q", "tool", "b"))]])
    path = tmp_path / "x.json"
    path.write_text(json.dumps(spoiled(good)))
    store = ConversationStore(None)
    try:
        store.add_whole(read_file(path).conversations)
    except TransferError:
        pass
    store.close()


def test_nothing_is_half_imported(store: ConversationStore) -> None:
    chats = [make_chat(store, str(n)) for n in range(3)]
    copies = [store.whole(c.id) for c in chats]
    other = ConversationStore(None)
    broken = copies[2]
    # A reply of a conversation that isn't there: the last of three fails.
    object.__setattr__(broken.messages[1], "conversation_id", "nowhere")
    with pytest.raises(Exception, match="FOREIGN KEY"):
        other.add_whole(copies)
    assert other.list_all() == []
    other.close()


def test_small_helpers() -> None:
    assert [milliseconds(v, 1000) for v in (1.5, 0, -1, True, "1", None, 1e300)] == [
        1500, 0, 0, 0, 0, 0, 0,
    ]  # fmt: skip
    assert milliseconds(float("nan")) == 0
    assert same_id("6710AAAA-bbbb-4ccc-8ddd-eeeeffff0001") == "6710aaaabbbb4ccc8dddeeeeffff0001"
    assert same_id("x") == same_id("x") != same_id("y")
    assert same_id(None) != same_id(None)
    assert arranged([]) == ([], 0)

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from app.cli import transfer
from app.data.conversations import ConversationStore
from app.paths import Paths
from tests.helpers.store_files import make_chat


@pytest.fixture
def ids(paths: Paths) -> list[str]:
    """Ids of three chats in the store, two of them of one title."""
    store = ConversationStore(paths.store)
    made = [make_chat(store, text).id for text in ("load lines", "same", "same")]
    store.close()
    return made


def export(*words: str) -> int:
    parser = argparse.ArgumentParser()
    transfer.add_export_arguments(parser)
    return transfer.run_export(parser.parse_args(words))


def import_(*words: str) -> int:
    parser = argparse.ArgumentParser()
    transfer.add_import_arguments(parser)
    return transfer.run_import(parser.parse_args(words))


def test_without_a_chat_they_are_listed(ids: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert export() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[-1].startswith(ids[0][:12])
    assert lines[-1].endswith("load lines")
    assert export("--json") == 0
    assert {row["id"] for row in json.loads(capsys.readouterr().out)["chats"]} == set(ids)


def test_a_chat_by_id_by_its_beginning_and_by_title(
    ids: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for word in (ids[0], ids[0][:10], ids[0][:10].upper(), "load lines"):
        assert export(word) == 0
        assert capsys.readouterr().out.startswith("# load lines\n")


@pytest.mark.parametrize(
    ("word", "sentence"),
    [("same", "2 chats match 'same'"), ("nothing", "No chat has the id"), ("", "No chat has")],
)
def test_a_chat_that_is_not_clear(
    ids: list[str], capsys: pytest.CaptureFixture[str], word: str, sentence: str
) -> None:
    assert export(word) == 2
    assert capsys.readouterr().err.startswith(sentence)


def test_there_and_back(
    ids: list[str], paths: Paths, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out" / "chats.json"
    assert export("--all", "--output", str(target)) == 2
    assert "can't be written" in capsys.readouterr().err
    target.parent.mkdir()
    assert export("--all", "--output", str(target)) == 0
    assert capsys.readouterr().err == f"3 chats written to {target}\n"
    assert import_(str(target), "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "source": "Plimsoll", "chats": 0, "already_there": 3, "skipped": {},
    }  # fmt: skip
    paths.store.unlink()
    assert import_(str(target)) == 0
    assert capsys.readouterr().out == "3 chats imported from Plimsoll.\n"
    store = ConversationStore(paths.store)
    assert {chat.id for chat in store.list_all()} == set(ids)
    store.close()
    assert export("--all", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["conversations"]) == 3
    assert export(ids[0], "--json", "--output", str(tmp_path / "one.md")) == 0
    assert json.loads(capsys.readouterr().out)["chats"] == 1
    assert (tmp_path / "one.md").read_text().startswith("# load lines")


def test_what_is_left_out_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "conversations.json"
    message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["hi"]}}
    path.write_text(json.dumps([{"mapping": {"a": {"message": message}}}, 7]))
    assert import_(str(path)) == 0
    out, err = capsys.readouterr()
    assert out == "1 chat imported from ChatGPT.\n"
    assert err == "Left out: entries that are not chats (1).\n"
    assert import_(str(tmp_path / "missing")) == 2
    assert capsys.readouterr().err == f"There is no file {tmp_path / 'missing'}.\n"


def test_a47_an_import_beside_an_open_window_says_so(
    ids: list[str],
    paths: Paths,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transfer, "_WAIT_FOR_WRITER_S", 0.0)
    target = tmp_path / "chats.json"
    window = ConversationStore(paths.store)
    assert export("--all", "--output", str(target)) == 0  # reading goes on beside it
    capsys.readouterr()
    assert import_(str(target)) == 1
    assert capsys.readouterr().err.startswith("Nothing was imported. Another Plimsoll (process ")
    window.close()


def test_before_there_is_any_chat(capsys: pytest.CaptureFixture[str], paths: Paths) -> None:
    assert export() == 0
    assert capsys.readouterr().err == "There is no chat yet.\n"
    assert not paths.store.exists()
    paths.store.write_bytes(b"damaged")
    assert export() == 1
    assert "can't be read" in capsys.readouterr().err

"""``plimsoll report``: Markdown, JSON, and a folder with pictures."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import msgspec
import pytest

from app.cli import run
from app.data.conversations import ConversationStore
from app.data.load_records import LoadRecords, parts_of
from app.paths import Paths
from inspector.records import LoadRecord
from inspector.report import read_report
from tests.helpers.panel_records import card_record


@pytest.fixture
def load(paths: Paths) -> LoadRecord:
    """A chat of two turns under the record of a 24 GB card, in the store."""
    paths.make()
    turns = card_record()[:2]
    load = turns[-1].load
    assert load is not None
    LoadRecords(paths.load_records).keep(load)
    store = ConversationStore(paths.store)
    chat = store.create("A measured chat")
    parent = None
    for turn in turns:
        asked = store.add_message(chat.id, parent, "user", "A question")
        reply = store.start_reply(chat.id, asked.id, model_name="Shape")
        stats = msgspec.structs.replace(turn.stats, load_id=load.id)
        store.save_reply(reply.id, "An answer", state="complete", stats=stats)
        parent = reply.id
    store.close()
    return load


def png_size(path: Path) -> tuple[int, int]:
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:24])
    return width, height


def test_a_folder_gets_a_document_with_pictures(
    load: LoadRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new folder"
    assert run(["report", "A measured chat", "--out", str(folder)]) == 0
    text = (folder / "report.md").read_text()
    assert "3 pictures" in capsys.readouterr().out
    for kind, caption in (("budget", "Memory budget"), ("growth", "KV cache growth")):
        assert f"![{caption}](load-1-{kind}.png)" in text
        width, height = png_size(folder / f"load-1-{kind}.png")
        assert width >= 800
        assert height >= 200
    assert png_size(folder / "load-1-speed.png")[0] >= 800
    assert load.identity.machine in text


def test_a_markdown_file_has_its_pictures_beside_it(load: LoadRecord, tmp_path: Path) -> None:
    file = tmp_path / "chat.md"
    assert run(["report", "A measured chat", "--out", str(file)]) == 0
    assert "(load-1-speed.png)" in file.read_text()
    assert (tmp_path / "load-1-speed.png").is_file()


def test_json_can_be_read_back(load: LoadRecord, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    assert run(["report", "A measured chat", "--json", "--out", str(file)]) == 0
    title, turns = read_report(file.read_bytes())
    assert title == "A measured chat"
    assert len(turns) == 2
    assert turns[0].load is not None
    assert turns[0].load.plan == load.plan
    assert json.loads(file.read_text())["turns"][0]["ceiling"] > 0


def test_a_place_that_can_not_be_written_is_one_sentence(
    load: LoadRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("x")
    assert run(["report", "A measured chat", "--out", str(blocked / "report.md")]) == 2
    assert "can't be written" in capsys.readouterr().err


def test_each_part_of_a_continued_reply_has_a_row(
    load: LoadRecord, paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ConversationStore(paths.store)
    chat = next(c for c in store.list_all() if c.title == "A measured chat")
    reply = store.path(chat.id)[-1]
    assert reply.stats is not None
    second = msgspec.structs.replace(reply.stats, reply_tokens=77, earlier=parts_of(reply))
    store.save_reply(reply.id, "An answer that goes on", state="complete", stats=second)
    again = store.path(chat.id)[-1]
    third = msgspec.structs.replace(reply.stats, reply_tokens=88, earlier=parts_of(again))
    store.save_reply(reply.id, "An answer that goes on and on", state="complete", stats=third)
    store.close()
    assert run(["report", "A measured chat"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| 20")]
    assert [("part" in row) for row in rows] == [False, True, True, True]
    for number, tokens in ((1, reply.stats.reply_tokens), (2, 77), (3, 88)):
        assert f"part {number} of 3 |" in rows[number]
        assert f"| {tokens:,} |" in rows[number]
    assert run(["report", "A measured chat", "--json"]) == 0
    text = capsys.readouterr().out
    turns = json.loads(text)["turns"]
    assert [(turn["part"], turn["parts"]) for turn in turns] == [(1, 1), (1, 3), (2, 3), (3, 3)]
    assert [turn.part for turn in read_report(text.encode())[1]] == [1, 1, 2, 3]


def test_other_files_are_no_reports() -> None:
    with pytest.raises(ValueError, match="no report in JSON"):
        read_report(b'{"title": 3}')
    with pytest.raises(ValueError, match="no report in JSON"):
        read_report(b"\xff\x00")

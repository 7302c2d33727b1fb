"""What pickers offer: one name each, twins told apart, what can't be used last and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.data.library.entries import read_entry
from app.ui.presenters.model_entries import clause_of, picker_entries
from tests.helpers.tiny_gguf import write_tiny_model


def test_order_names_and_twins(tmp_path: Path) -> None:
    one, two = tmp_path / "a", tmp_path / "b"
    for folder in (one, two):
        folder.mkdir()
    write_tiny_model(one / "Zebra-1B-F32.gguf")
    write_tiny_model(two / "zebra-2B-F32.gguf")
    write_tiny_model(two / "Apple-1B-F32.gguf")
    write_tiny_model(two / "Apple-1B.F32.gguf")
    (one / "aaa.gguf").write_bytes(b"")
    paths = [one / "aaa.gguf", one / "Zebra-1B-F32.gguf", *sorted(two.iterdir())]
    entries = [read_entry(path, (path,), "Folder") for path in paths]
    shown = picker_entries(entries, loaded=str(one / "Zebra-1B-F32.gguf"))
    assert [item.name for item in shown] == ["Apple-1B", "Apple-1B", "Zebra-1B", "zebra-2B", "aaa"]
    assert [item.found_in for item in shown[:3]] == [
        "Folder · b/Apple-1B-F32.gguf",
        "Folder · b/Apple-1B.F32.gguf",
        "Folder",
    ]
    assert [item.loaded for item in shown] == [False, False, True, False, False]
    assert shown[-1].reason == "It is empty: the download has not begun or has failed"
    assert all(not item.reason for item in shown[:-1])
    assert picker_entries(entries, hidden={path for path in paths if path.parent == two})[-1].name


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "It is empty: the download has not begun or has failed"),
        (b"version https://git-lfs.github.com/spec/v1\n", "It is a git-LFS pointer, not the model"),
        (b"<!DOCTYPE html><html></html>", "It is a web page, not a model"),
        (b"GGUF\x01\x00\x00\x00" + b"\0" * 40, "It is GGUF version 1"),
        (b"tjgg" + b"\0" * 40, "It has a format from before GGUF"),
    ],
)
def test_reasons_fit_into_a_list(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "a folder with a long name" / "broken (1). v2.gguf"
    path.parent.mkdir()
    path.write_bytes(content)
    clause = clause_of(read_entry(path, (path,), "Folder"))
    assert clause.startswith(reason)
    assert len(clause) <= 80
    assert str(path.parent) not in clause


def test_an_unfinished_download_says_how_much_there_is(tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "tiny-F32.gguf")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    found = read_entry(path, (path,), "Folder")
    assert clause_of(found).startswith("The file is incomplete: ")
    assert clause_of(found).endswith("KiB")

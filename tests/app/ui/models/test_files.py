"""Files of models outside the window."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QUrl
from pytestqt.qtbot import QtBot

from app.ui.models.files import dropped_paths, files_to_trash, move_to_trash


@pytest.fixture
def trash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The trash of this test alone."""
    if not sys.platform.startswith("linux"):
        pytest.skip("only freedesktop's trash can be put elsewhere")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "Trash" / "files"


def test_files_go_to_the_trash(qtbot: QtBot, trash: Path, tmp_path: Path) -> None:
    parts = [tmp_path / f"big-0000{number}-of-00002.gguf" for number in (1, 2)]
    for part in parts:
        part.write_bytes(b"model")
    assert move_to_trash(parts) == []
    assert not any(part.exists() for part in parts)
    assert sorted(path.name for path in trash.iterdir()) == sorted(part.name for part in parts)


def test_a_link_takes_what_it_leads_to_along(qtbot: QtBot, trash: Path, tmp_path: Path) -> None:
    blob = tmp_path / "blobs" / "hash"
    blob.parent.mkdir()
    blob.write_bytes(b"model")
    link = tmp_path / "snapshots" / "x.gguf"
    link.parent.mkdir()
    link.symlink_to("../blobs/hash")
    assert files_to_trash([link]) == (link, blob)
    assert move_to_trash([link]) == []
    assert not blob.exists()
    assert not link.is_symlink()


def test_what_has_gone_already_is_no_failure(qtbot: QtBot, trash: Path, tmp_path: Path) -> None:
    assert move_to_trash([tmp_path / "gone.gguf"]) == []


def test_what_can_not_be_moved_stays(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("a trash that is a file is made on Linux only")
    (tmp_path / "Trash").write_text("no folder")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    path = tmp_path / "x.gguf"
    path.write_bytes(b"model")
    assert move_to_trash([path]) == [path]
    assert path.read_bytes() == b"model"


def test_only_models_and_folders_are_taken(tmp_path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path)), QUrl("https://example.org/x.gguf")])
    assert dropped_paths(data) == [str(tmp_path)]

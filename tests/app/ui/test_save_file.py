"""The dialog that asks where something is to be written."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from app.ui import save_file
from app.ui.save_file import choose_report, file_stem


@pytest.fixture(autouse=True)
def last_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(save_file, "_last_folder", str(tmp_path))


@pytest.mark.parametrize(
    ("words", "stem"),
    [
        ("Compare SmolLM2-135M-Instruct", "Compare SmolLM2-135M-Instruct"),
        ('a/b\\c:d*e?f"g<h>i|j', "a b c d e f g h i j"),
        ("two\nlines\ttabbed\x00", "two lines tabbed"),
        ("日本 語 é", "日本 語 é"),
        ("... ", "Plimsoll"),
        ("", "Plimsoll"),
        ("NUL", "NUL_"),
        ("com1.tar", "com1.tar_"),
        ("word " * 40, ("word " * 16).strip()),
        ("x" * 300, "x" * 80),
    ],
)
def test_names_that_every_system_takes(words: str, stem: str) -> None:
    assert file_stem(words) == stem


def test_a_day_tells_files_of_one_name_apart() -> None:
    assert file_stem("Plan", date(2026, 3, 9)) == "Plan 2026-03-09"


def test_a_name_is_proposed_and_its_ending_follows_the_kind(qtbot: QtBot, tmp_path: Path) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    heard: list[str] = []
    dialog = choose_report(parent, "Plan Llama 3.1 8B", heard.append)
    assert dialog.selectedFiles() == [str(tmp_path / "Plan Llama 3.1 8B.md")]
    dialog.filterSelected.emit("Picture (*.png)")
    assert dialog.selectedFiles() == [str(tmp_path / "Plan Llama 3.1 8B.png")]
    assert dialog.defaultSuffix() == "png"
    dialog.selectFile("own name.txt")  # what was typed is not changed
    dialog.filterSelected.emit("JSON (*.json)")
    assert dialog.selectedFiles() == [str(tmp_path / "own name.txt")]
    dialog.fileSelected.emit(str(tmp_path / "r.png"))
    assert heard == [str(tmp_path / "r.png")]
    dialog.reject()


def test_the_next_dialog_opens_where_was_saved_last(qtbot: QtBot, tmp_path: Path) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    folder = tmp_path / "reports"
    folder.mkdir()
    first = choose_report(parent, "one", lambda _path: None)
    first.fileSelected.emit(str(folder / "one.md"))
    first.reject()
    second = choose_report(parent, "two", lambda _path: None)
    assert second.selectedFiles() == [str(folder / "two.md")]
    second.reject()
    assert isinstance(second, QFileDialog)

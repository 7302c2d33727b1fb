"""The dialog that asks where a report is to be written."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from app.ui.save_report import choose_report


def test_ending_follows_the_kind_and_the_path_is_heard(qtbot: QtBot, tmp_path: Path) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    heard: list[str] = []
    choose_report(parent, heard.append)
    (dialog,) = parent.findChildren(QFileDialog)
    assert dialog.defaultSuffix() == "md"
    dialog.filterSelected.emit("Picture (*.png)")
    assert dialog.defaultSuffix() == "png"
    dialog.fileSelected.emit(str(tmp_path / "r.png"))
    assert heard == [str(tmp_path / "r.png")]
    dialog.reject()

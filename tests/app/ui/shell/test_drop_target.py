from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from pytestqt.qtbot import QtBot

from app.ui.main_window import MainWindow

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


def drag(window: MainWindow, *names: str) -> tuple[QDragEnterEvent, QMimeData]:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(name) for name in names])
    event = QDragEnterEvent(
        QPointF(400, 200).toPoint(),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.dragEnterEvent(event)
    return event, data


def drop(window: MainWindow, data: QMimeData) -> None:
    event = QDropEvent(
        QPointF(400, 200),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.dropEvent(event)


def test_a_model_can_be_dropped(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    event, data = drag(window, str(tmp_path / "Llama.GGUF"))
    assert event.isAccepted()
    assert window._drops.hint.isVisible()
    with qtbot.waitSignal(window.model_wanted) as dropped:
        drop(window, data)
    assert dropped.args is not None
    assert Path(dropped.args[0]) == tmp_path / "Llama.GGUF"
    assert not window._drops.hint.isVisible()


def test_files_can_be_dropped_anywhere(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    _event, data = drag(window, str(tmp_path / "a.txt"), str(tmp_path / "b.csv"))
    with qtbot.waitSignal(window.chat.composer.files_added) as added:
        drop(window, data)
    assert added.args is not None
    assert [Path(path).name for path in added.args[0]] == ["a.txt", "b.csv"]


def test_links_from_the_web_are_not_taken(window: MainWindow) -> None:
    data = QMimeData()
    data.setUrls([QUrl("https://example.org/model.gguf")])
    event = QDragEnterEvent(
        QPointF(400, 200).toPoint(),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.dragEnterEvent(event)
    assert not event.isAccepted()

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.ui.main_window import MainWindow
from app.ui.shell.views import ChatEntry
from app.ui.theme import ThemeManager


@pytest.fixture
def themes(qtbot: QtBot) -> ThemeManager:
    """The dark theme at its usual size."""
    return ThemeManager("dark")


@pytest.fixture
def window(qtbot: QtBot, themes: ThemeManager) -> Iterator[MainWindow]:
    """A window with three chats, on screen and active."""
    window = MainWindow(themes)
    qtbot.addWidget(window)
    window.chat.set_transcript(QLabel("transcript"))
    now = datetime.now().astimezone()
    window.sidebar.set_chats(
        ChatEntry(f"c{n}", f"Chat {n}", now - timedelta(seconds=n)) for n in range(3)
    )
    window.sidebar.set_current("c1")
    window.resize(1440, 900)
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()
    yield window
    window.close()

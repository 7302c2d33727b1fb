from __future__ import annotations

import pytest
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.ui.shell.bars import NoticeArea
from app.ui.shell.shrinkable import Shrinkable
from app.ui.shell.views import Choice, Notice
from app.ui.theme import ThemeManager

TEXT = (
    "Nothing can be kept because /dev/null is not a folder: chats and drafts stay in memory and "
    "will be lost when Plimsoll closes."
)


@pytest.mark.parametrize("width", range(372, 412, 3))
def test_no_bar_makes_itself_needed(qtbot: QtBot, themes: ThemeManager, width: int) -> None:
    page = QWidget()
    qtbot.addWidget(page)
    area = NoticeArea(themes)
    room = Shrinkable(area)
    column = QVBoxLayout(page)
    column.setContentsMargins(0, 0, 0, 0)
    area.setContentsMargins(16, 12, 16, 6)
    column.addWidget(room)
    column.addStretch(1)
    area.show_notice(Notice("store", TEXT, "error", "", (Choice("retry", "Try again"),)))
    page.resize(width, 600)
    page.show()
    area.show_notice(Notice("more", "Another one."))
    qtbot.wait(20)
    area.remove_notice("more")
    qtbot.waitUntil(lambda: room.height() >= room.content_height())
    qtbot.waitUntil(lambda: not room.verticalScrollBar().isVisible())
    assert area.width() == width
    page.resize(width, 60)
    qtbot.waitUntil(lambda: room.verticalScrollBar().isVisible())

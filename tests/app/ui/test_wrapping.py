from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.ui.elide import ElidedLabel
from app.ui.wrapping import WrappingRow


class _Row:
    """A heading and words beside it, in a window."""

    def __init__(self, qtbot: QtBot, width: int) -> None:
        self.window = QWidget()
        qtbot.addWidget(self.window)
        self.heading, self.about = QLabel("Heading"), ElidedLabel("")
        self.row = WrappingRow(self.heading, (self.about,), self.window)
        column = QVBoxLayout(self.window)
        column.addWidget(self.row)
        column.addStretch(1)
        self.row.set_sizes(6, self.heading.sizeHint().width() + 4)
        self.window.resize(width, 200)
        self.window.show()
        qtbot.waitExposed(self.window)

    @property
    def is_whole(self) -> bool:
        """Whether the words have the room that they take."""
        return bool(self.about.text()) and not self.about.is_elided()

    @property
    def is_below(self) -> bool:
        return self.about.mapTo(self.row, self.about.rect().topLeft()).y() > self.heading.y()


@pytest.mark.parametrize("width", [600, 180])
def test_words_that_come_later_have_their_room(qtbot: QtBot, width: int) -> None:
    row = _Row(qtbot, width)
    for words in ("as it grows", "as the context grows", "short"):
        row.about.setText(words)
        qtbot.waitUntil(lambda: row.is_whole)
    row.about.setText("")
    qtbot.waitUntil(lambda: row.about.width() <= 4 or row.is_below)


def test_words_go_below_where_they_have_no_room_beside(qtbot: QtBot) -> None:
    row = _Row(qtbot, 600)
    row.about.setText("as the context grows")
    qtbot.waitUntil(lambda: row.is_whole and not row.is_below)
    row.window.resize(170, 200)
    qtbot.waitUntil(lambda: row.is_below)
    row.window.resize(600, 200)
    qtbot.waitUntil(lambda: row.is_whole and not row.is_below)


def test_buttons_go_on_in_as_many_rows_as_they_need(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    buttons = [QPushButton(f"Button {number}") for number in range(4)]
    row = WrappingRow(QLabel("First"), buttons, window)
    column = QVBoxLayout(window)
    column.addWidget(row)
    row.set_sizes(6, 60)
    window.resize(220, 400)
    window.show()
    qtbot.waitUntil(lambda: len({button.y() for button in buttons}) > 1)
    for button in buttons:
        corner = button.mapTo(row, button.rect().bottomRight())
        assert row.rect().contains(corner)

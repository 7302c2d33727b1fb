"""The chat page's column, the side columns that have room, and what gives way."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.ui.shell.chat_page import ChatPage, side_margin
from app.ui.shell.columns import Columns, fit_columns
from app.ui.shell.drop_hint import DropHint
from app.ui.shell.shrinkable import Shrinkable
from app.ui.shell.views import Choice, Notice, Overflow
from app.ui.theme import ThemeManager
from app.ui.transcript.stage import column_for
from app.ui.transcript.style import Style

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)

COLUMNS = Columns(sidebar=236, inspector=392, middle=380)


@pytest.mark.parametrize(
    ("width", "first", "shown"),
    [
        (1440, False, (True, True)),
        (1008, False, (True, True)),
        (1007, False, (True, False)),
        (1007, True, (False, True)),
        (560, False, (True, False)),
    ],
)
def test_columns_that_have_room(width: int, first: bool, shown: tuple[bool, bool]) -> None:
    found = fit_columns(width, COLUMNS, sidebar=True, inspector=True, inspector_first=first)
    assert found == shown


def test_columns_that_are_not_wanted_stay_away() -> None:
    assert fit_columns(1440, COLUMNS, sidebar=False, inspector=True, inspector_first=False) == (
        False,
        True,
    )
    assert fit_columns(600, COLUMNS, sidebar=True, inspector=False, inspector_first=True) == (
        True,
        False,
    )


@pytest.mark.parametrize("scale", [0.75, 1.0, 2.0])
@pytest.mark.parametrize("width", [300, 500, 560, 570, 759, 760, 812, 880, 1500, 3000])
def test_the_column_stands_below_the_transcripts_text(
    themes: ThemeManager, width: int, scale: float
) -> None:
    themes.set_text_size(round(scale * 100))
    side = side_margin(width, themes.theme.px(760), scale)
    text = column_for(width, 760, Style(themes.theme))
    assert side == text.left()
    assert width - 2 * side - text.width() in {0, 1}


@pytest.fixture
def page(qtbot: QtBot, themes: ThemeManager) -> ChatPage:
    page = ChatPage(themes)
    qtbot.addWidget(page)
    page.resize(812, 830)
    page.show()
    return page


def test_the_transcript_takes_what_is_left(qtbot: QtBot, page: ChatPage) -> None:
    transcript = QLabel("transcript")
    page.set_transcript(transcript)
    qtbot.waitUntil(lambda: transcript.height() > 600)
    assert transcript.width() == 812
    assert page.composer.geometry().left() == 60
    assert page.composer.geometry().right() == 811 - 60
    page.set_column_width(480)
    qtbot.waitUntil(lambda: page.composer.width() == 480)


def test_the_composer_follows_the_scroll_bar(qtbot: QtBot, page: ChatPage) -> None:
    transcript = QScrollArea()
    transcript.setFrameShape(QFrame.Shape.NoFrame)
    transcript.setWidget(QLabel("line\n" * 200))
    transcript.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    page.set_transcript(transcript)
    qtbot.waitUntil(lambda: page.composer.geometry().right() == 811 - 60)
    transcript.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
    bar = transcript.verticalScrollBar().sizeHint().width()
    qtbot.waitUntil(lambda: page.composer.geometry().right() == 811 - 60 - bar)
    assert page.composer.geometry().left() == 60
    page.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    qtbot.waitUntil(lambda: page.composer.geometry().left() == 60 + bar)
    assert page.composer.geometry().right() == 811 - 60


def test_bars_come_and_go(qtbot: QtBot, page: ChatPage) -> None:
    page.set_transcript(QWidget())
    assert page.foot_top() == page.composer.geometry().top()
    with qtbot.waitSignal(page.foot_moved):
        page.overflow.set_overflow(Overflow("Too long.", (Choice("a", "Trim"),)))
    page.notices.show_notice(Notice("n", "Said."))
    assert page.notices.isVisible()
    qtbot.waitUntil(lambda: page.foot_top() < page.composer.geometry().top())
    page.overflow.set_overflow(None)
    page.notices.clear()
    assert not page.notices.isVisible()
    assert not page.overflow.isVisible()


def test_on_a_low_window_the_composer_stays_whole(
    qtbot: QtBot, page: ChatPage, themes: ThemeManager
) -> None:
    page.set_transcript(QWidget())
    page.composer.set_text("one\ntwo\nthree")
    qtbot.waitUntil(lambda: page.composer.height() > 100)
    whole = page.composer.height()
    for number in range(3):
        page.notices.show_notice(Notice(f"n{number}", "word " * 60, choices=(Choice("a", "A"),)))
    page.overflow.set_overflow(Overflow("word " * 60, (Choice("a", "Trim"),)))
    page.resize(500, 420)
    qtbot.waitUntil(lambda: page.composer.geometry().bottom() <= 420)
    assert page.composer.height() == whole
    assert page.composer.geometry().top() > page._overflow_room.geometry().bottom()


def test_a_shrinkable_follows_its_content(qtbot: QtBot) -> None:
    content = QWidget()
    column = QVBoxLayout(content)
    label = QLabel("word " * 40)
    label.setWordWrap(True)
    column.addWidget(label)
    room = Shrinkable(content, least_px=30)
    qtbot.addWidget(room)
    room.resize(400, 200)
    room.show()
    wide = room.sizeHint().height()
    room.resize(150, 200)
    qtbot.waitUntil(lambda: room.sizeHint().height() > wide)
    assert room.minimumSizeHint().height() == 30
    label.setText("word")
    qtbot.waitUntil(lambda: room.sizeHint().height() < wide)


def test_the_drop_hint_covers_and_leaves(qtbot: QtBot, themes: ThemeManager) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(400, 300)
    inner = QWidget(window)
    inner.setGeometry(100, 20, 200, 200)
    hint = DropHint(themes, window)
    window.show()
    hint.show_over(inner, "Drop to attach")
    assert hint.geometry() == inner.geometry()
    assert hint.accessibleName() == "Drop to attach"
    middle = hint.grab().toImage().pixelColor(30, 30)
    assert middle.isValid()

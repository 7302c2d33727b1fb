"""What stands in place of something that is not there."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QProgressBar
from pytestqt.qtbot import QtBot

from app.ui.compare.page import ComparePage
from app.ui.downloads.message import MessagePanel
from app.ui.empty_state import EmptyState
from app.ui.models.nothing import NothingPanel
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@pytest.fixture
def themes() -> ThemeManager:
    return ThemeManager("dark", 100)


def test_words_progress_and_buttons(qtbot: QtBot, themes: ThemeManager) -> None:
    state = EmptyState(themes, "models")
    qtbot.addWidget(state)
    state.show()
    state.say("Nothing here", "Because nothing was made.")
    pressed: list[bool] = []
    button = state.add_button("Make it", primary=True)
    button.clicked.connect(lambda: pressed.append(True))
    bar = state.findChild(QProgressBar)
    assert bar is not None
    assert bar.isHidden()
    state.set_progress(0.25, name="Making")
    assert (bar.value(), bar.accessibleName()) == (250, "Making")
    state.set_progress(None, busy=True)
    assert (bar.isVisible(), bar.maximum()) == (True, 0)
    state.set_progress(None)
    assert bar.isHidden()
    button.click()
    assert pressed == [True]
    state.say("Nothing here")
    assert state._text.isHidden()


@pytest.mark.parametrize("percent", [100, 200])
def test_its_words_are_whole_on_a_narrow_page(qtbot: QtBot, percent: int) -> None:
    themes = ThemeManager("light", percent)
    state = EmptyState(themes, "search")
    qtbot.addWidget(state)
    state.say("A title of some length", "A sentence that is long enough for several lines. " * 3)
    state.add_button("A button")
    state.resize(300, 1000)
    state.show()
    for label in (state._title, state._text):
        assert label.height() >= label.heightForWidth(label.width())


def test_every_page_has_the_same(qtbot: QtBot, themes: ThemeManager) -> None:
    page = ComparePage(themes)
    qtbot.addWidget(page)
    nothing, message = NothingPanel(themes), MessagePanel(themes)
    for widget in (nothing, message):
        qtbot.addWidget(widget)
    states = [nothing, message, page._empty.state]
    assert all(isinstance(state, EmptyState) for state in states)
    sizes = {state._icon.pixmap().deviceIndependentSize().toTuple() for state in states}
    assert len(sizes) == 1

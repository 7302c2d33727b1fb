from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager
from app.ui.transcript.items import MessageAction
from app.ui.transcript.view import Transcript


@pytest.fixture
def themes(qtbot: QtBot) -> ThemeManager:
    return ThemeManager("dark")


@pytest.fixture
def view(qtbot: QtBot, themes: ThemeManager) -> Iterator[Transcript]:
    """A transcript on the screen, 812 by 700 pixels, that is never short of time."""
    made = Transcript(themes, clock=lambda: 0.0)
    qtbot.addWidget(made)
    made.resize(812, 700)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.clear()
    made.close_workers()


@pytest.fixture
def slow_view(qtbot: QtBot, themes: ThemeManager) -> Iterator[Transcript]:
    """The same on a machine where whatever is done takes longer than there is time."""
    ticks = itertools.count()
    made = Transcript(themes, clock=lambda: float(next(ticks)))
    qtbot.addWidget(made)
    made.resize(812, 700)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.clear()
    made.close_workers()


@pytest.fixture
def actions(view: Transcript) -> list[MessageAction]:
    """What the transcript has asked for."""
    found: list[MessageAction] = []
    view.action_requested.connect(found.append)
    return found

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.ui.shell.status_line import StatusLine
from app.ui.shell.views import Segment, StatusFacts
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)

FACTS = StatusFacts(
    (Segment("CPU · 8 cores"), Segment("KV f16", "Type of the cache")),
    (Segment("Engine running · pid 1"),),
)


@pytest.fixture
def line(qtbot: QtBot, themes: ThemeManager) -> StatusLine:
    line = StatusLine(themes)
    qtbot.addWidget(line)
    line.resize(900, 26)
    line.show()
    line.set_facts(FACTS)
    return line


def test_segments_are_shown_in_order(line: StatusLine) -> None:
    assert line.texts() == ["CPU · 8 cores", "KV f16", "Engine running · pid 1"]
    assert line._labels[1].toolTip() == "Type of the cache"


def test_labels_are_kept_while_their_number_is_the_same(line: StatusLine) -> None:
    labels = list(line._labels)
    line.set_facts(StatusFacts(FACTS.left, (Segment("Engine stopped", severity="error"),)))
    assert line._labels == labels
    assert line.texts()[-1] == "Engine stopped"
    line.set_facts(StatusFacts())
    assert line.texts() == []


def test_trouble_has_its_colour(line: StatusLine, themes: ThemeManager) -> None:
    line.set_facts(StatusFacts((), (Segment("Engine stopped", severity="error"),)))
    assert themes.theme.css("danger") in line._labels[0].styleSheet()
    themes.set_mode("light")
    assert themes.theme.css("danger") in line._labels[0].styleSheet()


def test_a_narrow_window_shortens_segments(qtbot: QtBot, line: StatusLine) -> None:
    line.resize(200, 26)
    qtbot.waitUntil(lambda: any(label.is_elided() for label in line._labels))
    assert line._labels[-1].geometry().right() <= 200

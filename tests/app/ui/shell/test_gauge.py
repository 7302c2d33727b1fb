from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.ui.shell.gauge import ContextGauge, gauge_token
from app.ui.shell.views import ContextUse
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@pytest.mark.parametrize(
    ("share", "token"),
    [
        (0.0, "kv_used"),
        (0.799, "kv_used"),
        (0.80, "warning"),
        (0.949, "warning"),
        (0.95, "danger"),
        (1.3, "danger"),
    ],
)
def test_amber_from_80_and_red_from_95_percent(share: float, token: str) -> None:
    assert gauge_token(share) == token


def test_share_of_no_window_is_nothing() -> None:
    assert ContextUse(5, 0).share == 0.0


def test_replies_at_once_are_told_to_share_the_window(qtbot: QtBot, themes: ThemeManager) -> None:
    gauge = ContextGauge(themes)
    qtbot.addWidget(gauge)
    gauge.set_use(ContextUse(510, 512, replies=3))
    assert "510 of 512 tokens" in gauge.toolTip()
    assert "3 replies are written at once and share it." in gauge.accessibleName()
    gauge.set_use(ContextUse(315, 512))
    assert "at once" not in gauge.toolTip()


@pytest.mark.parametrize(
    "direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft]
)
def test_the_bar_fills_from_where_reading_begins(
    qtbot: QtBot, themes: ThemeManager, direction: Qt.LayoutDirection
) -> None:
    gauge = ContextGauge(themes)
    qtbot.addWidget(gauge)
    gauge.setLayoutDirection(direction)
    gauge.set_use(ContextUse(96, 100))
    gauge.show()
    gauge.set_use(ContextUse(50, 100))
    image = gauge._bar.grab().toImage()
    middle = image.height() // 2
    colours = [image.pixelColor(x, middle).name() for x in (8, image.width() - 8)]
    used, free = themes.theme.css("kv_used"), themes.theme.css("line")
    expected = [used, free] if direction == Qt.LayoutDirection.LeftToRight else [free, used]
    assert colours == expected


@pytest.mark.parametrize(
    "direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft]
)
def test_what_is_not_in_the_cache_is_paler(
    qtbot: QtBot, themes: ThemeManager, direction: Qt.LayoutDirection
) -> None:
    gauge = ContextGauge(themes)
    qtbot.addWidget(gauge)
    gauge.setLayoutDirection(direction)
    gauge.show()
    gauge.set_use(ContextUse(60, 100, cached_tokens=20))
    image = gauge._bar.grab().toImage()
    middle, width = image.height() // 2, image.width()
    places = [round(width * share) for share in (0.1, 0.4, 0.9)]
    if direction == Qt.LayoutDirection.RightToLeft:
        places = [width - 1 - place for place in places]
    there, coming, free = (image.pixelColor(place, middle).name() for place in places)
    assert (there, free) == (themes.theme.css("kv_used"), themes.theme.css("line"))
    assert coming not in {there, free}


@pytest.mark.parametrize(
    ("cached", "said"),
    [
        (0, "They are not in the cache yet; the next reply reads them first."),
        (1, "One of them is in the cache; the next reply reads the rest first."),
        (1200, "1,200 of them are in the cache; the next reply reads the rest first."),
    ],
)
def test_it_says_what_is_in_the_cache(
    qtbot: QtBot, themes: ThemeManager, cached: int, said: str
) -> None:
    gauge = ContextGauge(themes)
    qtbot.addWidget(gauge)
    gauge.set_use(ContextUse(2000, 8000, cached_tokens=cached))
    takes = "This chat takes 2,000 of 8,000 tokens of the model's context (25 %)."
    assert gauge.toolTip() == f"{takes}\n{said}"
    assert gauge.accessibleName() == gauge.toolTip()


def test_it_is_hidden_without_a_model_and_says_its_numbers(
    qtbot: QtBot, themes: ThemeManager
) -> None:
    gauge = ContextGauge(themes)
    qtbot.addWidget(gauge)
    assert gauge.isHidden()
    gauge.set_use(ContextUse(21034, 32768))
    assert not gauge.isHidden()
    assert gauge._label.text() == "Context 21,034 / 32,768"
    assert gauge.toolTip() == "21,034 of 32,768 tokens of the model's context are used (64 %)."
    gauge.set_use(ContextUse(31900, 32768, dropped_messages=4, dropped_tokens=2100))
    assert "4 messages (2,100 tokens) have left the context." in gauge.toolTip()
    assert "oldest turns are left out" in gauge.accessibleName()
    gauge.set_use(ContextUse(10, 100, dropped_messages=1, dropped_tokens=7))
    assert "One message (7 tokens) has left the context." in gauge.toolTip()
    gauge.set_use(None)
    assert gauge.isHidden()


def test_the_compact_gauge_is_the_bar_alone(qtbot: QtBot, themes: ThemeManager) -> None:
    gauge = ContextGauge(themes)
    qtbot.addWidget(gauge)
    gauge.set_use(ContextUse(1, 2))
    wide = gauge.width()
    gauge.set_compact(True)
    assert gauge.width() < wide
    assert gauge._label.isHidden()

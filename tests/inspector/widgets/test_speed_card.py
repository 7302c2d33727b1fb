"""The speed card's words: summary, first token, draft, explanation."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QBoxLayout
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager
from inspector.views import LOAD_PART, FirstTokenPart, RateView, SpeedView
from inspector.widgets.plot_slot import PlotLoader
from inspector.widgets.speed_card import SpeedCard
from tests.helpers.panel_samples import CPU, SPLIT_SPEED


@pytest.fixture
def card(themes: ThemeManager, qtbot: QtBot) -> SpeedCard:
    card = SpeedCard(themes, PlotLoader())
    qtbot.addWidget(card)
    return card


def test_measured_beside_predicted(card: SpeedCard) -> None:
    card.set_view(SPLIT_SPEED)
    assert card.header.summary == "measured · 41 % of the ceiling"
    assert card.explanation.text().startswith("41 % of what this card could do")
    assert card.first_token.texts == ("First token", "240 ms")
    assert card.first_token_parts.text() == (
        "template 4.00 ms · prefill 213 ms\n37 tokens new · 20,870 reused"
    )
    assert card.draft.texts == ("First token of the draft", "about 310 ms")
    assert card.draft_parts.text() == "412 tokens new · 21,034 reused"


def test_a_first_token_with_the_load_says_so(card: SpeedCard) -> None:
    assert CPU.speed is not None
    assert CPU.speed.first_token is not None
    parts = (FirstTokenPart(LOAD_PART, 1.16), *CPU.speed.first_token.parts)
    card.set_view(
        replace(CPU.speed, first_token=replace(CPU.speed.first_token, total_s=1.56, parts=parts))
    )
    assert card.first_token.texts == ("First token, with loading", "1.56 s")


def test_parts_that_took_no_time_are_left_out(card: SpeedCard) -> None:
    assert CPU.speed is not None
    card.set_view(CPU.speed)
    assert card.first_token_parts.text() == "prefill 400 ms\n137 tokens new"
    assert card.draft.isHidden()


def test_before_a_first_turn_all_is_predicted(card: SpeedCard) -> None:
    card.set_view(SpeedView(RateView(None, 58, 70, 76), RateView()))
    assert card.header.summary == "predicted"
    assert card.plot.isHidden()
    assert card.first_token.isHidden()


def test_an_alarming_explanation_is_coloured(card: SpeedCard, themes: ThemeManager) -> None:
    card.resize(364, 500)
    card.show()
    card.set_view(replace(SPLIT_SPEED, explanation="Wrong.", alarming=True))
    image = card.explanation.grab().toImage()
    colours = {
        image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())
    }
    assert themes.theme.css("warning") in colours
    card.close()


def test_meters_stand_below_each_other_where_it_is_narrow(card: SpeedCard) -> None:
    card.set_view(SPLIT_SPEED)
    card.show()
    card.resize(364, 500)
    assert card._meters.direction() == QBoxLayout.Direction.LeftToRight
    card.resize(230, 500)
    assert card._meters.direction() == QBoxLayout.Direction.TopToBottom
    card.close()


def test_while_a_turn_runs_the_one_before_is_named(card: SpeedCard) -> None:
    assert CPU.speed is not None
    assert CPU.speed.first_token is not None
    view = replace(
        CPU.speed,
        prefill=replace(CPU.speed.prefill, earlier=True),
        first_token=replace(CPU.speed.first_token, earlier=True),
    )
    card.set_view(view)
    assert card.first_token.texts == ("First token, turn before", "410 ms")
    assert "turn before" in "\n".join(card.prefill.explanation())
    assert "turn before" not in "\n".join(card.decode.explanation())

"""What the growth card says in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager
from inspector.widgets.growth_card import GrowthCard
from inspector.widgets.plot_slot import PlotLoader
from tests.helpers.panel_samples import SPLIT_GROWTH


@pytest.fixture
def card(themes: ThemeManager, qtbot: QtBot) -> GrowthCard:
    card = GrowthCard(themes, PlotLoader())
    qtbot.addWidget(card)
    return card


def test_room_and_the_budgets_end_of_every_type(card: GrowthCard) -> None:
    card.set_view(SPLIT_GROWTH)
    assert card.header.summary == "128 KiB / token · planned"
    assert "2 × 32 layers × 8 KV heads" in card.header.toolTip()
    assert card.fits.text() == "5,180 more tokens fit"
    assert card.ends.text() == "Budget ends: f16 at 26,214 · q8_0, q4_0 beyond the context"
    assert card.trained.text() == ""


@pytest.mark.parametrize(
    ("conversations", "text"),
    [
        (None, "5,180 more tokens fit"),
        (1, "5,180 more tokens fit · 1 more chat like this"),
        (12, "5,180 more tokens fit · 12 more chats like this"),
    ],
)
def test_conversations(card: GrowthCard, conversations: int | None, text: str) -> None:
    card.set_view(replace(SPLIT_GROWTH, fitting_conversations=conversations))
    assert card.fits.text() == text


def test_room_for_one_token(card: GrowthCard) -> None:
    card.set_view(replace(SPLIT_GROWTH, fitting_tokens=1, fitting_conversations=None))
    assert card.fits.text() == "1 more token fits"


def test_all_of_the_window_fits_or_none(card: GrowthCard) -> None:
    card.set_view(replace(SPLIT_GROWTH, budget_tokens=None))
    assert card.ends.text() == "The whole context fits into the budget."
    none = tuple(replace(other, budget_tokens=0) for other in SPLIT_GROWTH.alternatives)
    card.set_view(replace(SPLIT_GROWTH, budget_tokens=0, alternatives=none))
    assert card.ends.text() == "The budget has no room for a cache of any type."
    card.set_view(replace(SPLIT_GROWTH, budget_bytes=None))
    assert card.ends.text() == ""


def test_a_window_beyond_the_training_is_warned_of(card: GrowthCard) -> None:
    card.set_view(replace(SPLIT_GROWTH, trained_tokens=8192))
    assert card.trained.text() == "Trained for 8,192 tokens: replies get worse beyond."

from __future__ import annotations

from datetime import datetime

import pytest
from PySide6.QtCore import QLocale

from app.ui.numbers import grouped, moment, numbered, percent


@pytest.fixture(autouse=True)
def locale() -> object:
    before = QLocale()
    yield
    QLocale.setDefault(before)


def test_numbers_are_grouped_as_the_locale_does() -> None:
    QLocale.setDefault(QLocale.c())
    assert grouped(21034) == "21,034"
    assert grouped(5_000_000_000) == "5,000,000,000"
    QLocale.setDefault(QLocale(QLocale.Language.German, QLocale.Country.Germany))
    assert grouped(21034) == "21.034"


def test_shares_are_whole_percent() -> None:
    QLocale.setDefault(QLocale.c())
    assert percent(0.6419) == "64"
    assert percent(12.5) == "1,250"


def test_dates_have_signs_between_their_figures_in_every_locale() -> None:
    at_ms = round(datetime(2026, 11, 30, 6, 59).astimezone().timestamp() * 1000)
    QLocale.setDefault(QLocale.c())
    assert moment(at_ms) == "30 Nov 2026, 06:59"
    QLocale.setDefault(QLocale(QLocale.Language.German, QLocale.Country.Germany))
    assert moment(at_ms) == "30.11.26 06:59"


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 tokens"), (1, "a token"), (2, "2 tokens"), (1234, "1,234 tokens")]
)
def test_one_has_words_of_its_own(count: int, words: str) -> None:
    QLocale.setDefault(QLocale.c())
    assert numbered(count, "a token", "%n tokens") == words

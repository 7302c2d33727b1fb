"""The gauge of a rate: where its marks lie and what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.ui.theme import ThemeManager
from inspector.views import RateView
from inspector.widgets.meter import RateMeter, gauge_marks
from inspector.widgets.text import unbroken
from tests.helpers.panel_samples import SPLIT_SPEED


def test_marks_below_a_ceiling() -> None:
    marks = gauge_marks(RateView(38, 30, 40, 76))
    assert marks.filled == 0.5
    assert marks.low == pytest.approx(30 / 76)
    assert (marks.ceiling, marks.is_beaten) == (1.0, False)


def test_a_beaten_ceiling_is_an_alarm() -> None:
    marks = gauge_marks(RateView(80, 30, 40, 76))
    assert marks.is_beaten
    assert marks.filled == 1.0
    assert marks.ceiling == pytest.approx(0.95)
    assert not gauge_marks(RateView(77, None, None, 76)).is_beaten


def test_without_a_ceiling_the_largest_figure_is_at_four_fifths() -> None:
    marks = gauge_marks(RateView(30, 20, None))
    assert marks.filled == pytest.approx(0.8)
    assert marks.low == marks.high == pytest.approx(20 / 37.5)


def test_nothing_known() -> None:
    marks = gauge_marks(RateView())
    assert (marks.filled, marks.low, marks.ceiling) == (0.0, None, None)


def test_texts(themes: ThemeManager, show: Callable[[QWidget], None]) -> None:
    meter = RateMeter(themes, "Decode", "free")
    meter.set_view(SPLIT_SPEED.decode)
    show(meter)
    assert meter.figure() == "31.2"
    assert meter.note() == "predicted 31 – 35\nall-VRAM ceiling 76"
    assert meter.accessibleName() == "Decode: 31.2 tok/s"
    assert "41 % of the ceiling." in meter.explanation()
    meter.set_view(replace(SPLIT_SPEED.prefill, equation="80.5 TFLOP/s ÷ 16.0 GFLOP a token"))
    assert meter.note() == unbroken(
        "predicted 3,300 – 3,700\nceiling 5,030 = 80.5 TFLOP/s ÷ 16.0 GFLOP a token"
    )
    assert "Limit: compute-bound." in meter.explanation()
    meter.set_view(RateView())
    assert (meter.figure(), meter.note()) == ("–", "")


def test_an_equal_rate_is_not_drawn_again(
    themes: ThemeManager, show: Callable[[QWidget], None], counter: Callable[..., object]
) -> None:
    meter = RateMeter(themes, "Decode", "free")
    meter.set_view(SPLIT_SPEED.decode)
    show(meter)
    QApplication.processEvents()
    paints = counter(QEvent.Type.Paint)
    meter.set_view(RateView(31.2, 31, 35, 76, "all-VRAM ceiling", formula="another"))
    QApplication.processEvents()
    assert paints.seen == {}  # type: ignore[attr-defined]


def test_a_rate_of_a_reply_that_stands_still_is_not_one_of_now(
    themes: ThemeManager, show: Callable[[QWidget], None]
) -> None:
    meter = RateMeter(themes, "Decode", "free")
    show(meter)
    meter.set_view(RateView(measured=21.4, live=True))
    assert meter.unit() == "tok/s, now"
    meter.set_view(RateView(measured=21.4, live=True, held_up=True))
    assert meter.unit() == "tok/s, so far"
    assert "no token has come for some seconds" in meter.explanation()[0]
    meter.set_view(RateView(measured=21.4))
    assert meter.unit() == "tok/s"

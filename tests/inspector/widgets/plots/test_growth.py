"""The growth plot with real curves: labels, marks, crosshair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolTip, QWidget
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager
from inspector.views import CurvePoint, GrowthView
from inspector.widgets.plots.growth import Plot, format_tick
from tests.helpers.panel_samples import CPU, FULL, GIB, KIB, MIB, PLANNED, SPLIT_GROWTH

Show = Callable[[QWidget, int], None]


def views() -> list[GrowthView]:
    found = [panel.growth for panel in (CPU, FULL, PLANNED) if panel.growth is not None]
    line = SPLIT_GROWTH.line[-1]
    for tokens in (0, 1, 700, 8000, 16384, 24000, 26214, 31000, line.tokens):
        size = tokens * 128 * KIB
        found.append(replace(SPLIT_GROWTH, now=CurvePoint(tokens, size)))
        found.append(replace(SPLIT_GROWTH, now=CurvePoint(tokens, size), trained_tokens=8192))
    return found


@pytest.mark.parametrize("percent", [75, 100, 150, 200])
@pytest.mark.parametrize("width", [272, 364, 432])
def test_labels_never_overlap_and_now_is_always_said(
    themes: ThemeManager, show: Show, percent: int, width: int
) -> None:
    themes.set_text_size(percent)
    plot = Plot(themes)
    plot.setFixedHeight(themes.theme.px(124))
    show(plot, width)
    for view in views():
        plot.set_view(view)
        labels = plot.words.placed
        boxes = [box for _, box, _ in labels.values()]
        assert not any(a.overlaps(b) for a, b in combinations(boxes, 2)), view.now
        assert all(box.left >= 0 and box.right <= plot.width() for box in boxes)
        if view.now is not None and view.now.tokens > 0:
            assert "now" in labels, (view.now, percent, width)
            dot = plot.words.point_of("now", view)
            box = labels["now"][1]
            assert not (box.left < dot.x() < box.right and box.top < dot.y() < box.bottom)


def test_words_of_the_picture(themes: ThemeManager, show: Show) -> None:
    plot = Plot(themes)
    plot.setFixedHeight(124)
    show(plot, 364)
    plot.set_view(SPLIT_GROWTH)
    texts = {key: text for key, (text, _, _) in plot.words.placed.items()}
    assert texts["now"] == "21,034 tok · 2.57 GiB"
    assert texts["budget"] == "budget left 648 MiB"
    assert texts["end"] == "26,214"
    assert {texts["type0"], texts["type1"]} == {"q8_0", "q4_0"}
    assert "The budget ends at 26,214 tokens." in plot.accessibleDescription()


def test_one_more_token_rewrites_words_and_leaves_curves(themes: ThemeManager, show: Show) -> None:
    plot = Plot(themes)
    plot.setFixedHeight(124)
    show(plot, 364)
    plot.set_view(SPLIT_GROWTH)
    drawn = plot._drawn_now
    place = plot.words.placed["now"][1]
    plot.set_view(replace(SPLIT_GROWTH, now=CurvePoint(21035, 21035 * 128 * KIB)))
    assert plot.words.placed["now"][0].startswith("21,035 tok")
    assert plot.words.placed["now"][1] == place
    assert plot._drawn_now is drawn
    later = CurvePoint(22500, 22500 * 128 * KIB)
    plot.set_view(replace(SPLIT_GROWTH, now=later))
    assert plot._drawn_now == later


def test_now_is_written_above_the_lines_where_they_begin(themes: ThemeManager, show: Show) -> None:
    plot = Plot(themes)
    plot.setFixedHeight(124)
    show(plot, 364)
    first = CurvePoint(68, 68 * 128 * KIB)
    plot.set_view(replace(SPLIT_GROWTH, budget_bytes=None, budget_tokens=None, now=first))
    _, box, _ = plot.words.placed["now"]
    assert box.bottom < plot.area().bottom() - 4  # not on the axis
    later = CurvePoint(21034, 21034 * 128 * KIB)
    plot.set_view(replace(SPLIT_GROWTH, now=later))
    _, box, _ = plot.words.placed["now"]
    dot = plot.words.point_of("now", replace(SPLIT_GROWTH, now=later))
    assert min(abs(box.left - dot.x()), abs(box.right - dot.x())) < 60  # beside its dot


def test_the_dot_lies_on_the_line(themes: ThemeManager, show: Show) -> None:
    plot = Plot(themes)
    plot.setFixedHeight(124)
    show(plot, 364)
    plot.set_view(SPLIT_GROWTH)
    dot = plot.words.point_of("now", SPLIT_GROWTH)
    image = plot.grab().toImage()
    ratio = image.devicePixelRatio()
    colour = image.pixelColor(QPoint(round(dot.x() * ratio), round(dot.y() * ratio)))
    assert colour == themes.theme.colour("ink")
    end = plot.to_px(32768, 0)
    assert end.x() == pytest.approx(plot.area().right())


def test_crosshair_of_pointer_and_keys(themes: ThemeManager, show: Show, qtbot: QtBot) -> None:
    plot = Plot(themes)
    plot.setFixedHeight(124)
    show(plot, 364)
    plot.set_view(SPLIT_GROWTH)
    QTest.mouseMove(plot, plot.to_px(16384, GIB).toPoint())
    assert "f16: 2." in QToolTip.text() or "f16: 1.9" in QToolTip.text()
    assert "q8_0" in QToolTip.text()
    plot.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(plot.hasFocus)
    QTest.keyClick(plot, Qt.Key.Key_Right)
    assert "of the budget left" in QToolTip.text()
    plot.clearFocus()
    QToolTip.hideText()


def test_explanation_past_the_budget_and_at_a_kink(themes: ThemeManager, show: Show) -> None:
    plot = Plot(themes)
    plot.setFixedHeight(124)
    show(plot, 364)
    plot.set_view(SPLIT_GROWTH)
    assert "819 MiB over the budget" in plot.explanation(32768)
    assert FULL.growth is not None
    plot.set_view(FULL.growth)
    assert FULL.growth.kinks[0].label in plot.explanation(1100)


def test_a_change_of_theme_reaches_curves_and_words(themes: ThemeManager, show: Show) -> None:
    plot = Plot(themes)
    plot.setFixedHeight(124)
    show(plot, 364)
    plot.set_view(SPLIT_GROWTH)
    themes.set_mode("light")
    assert plot._used.opts["pen"].color() == themes.theme.colour("kv_used")
    dot = plot.words.point_of("now", SPLIT_GROWTH).toPoint()
    assert plot.grab().toImage().pixelColor(dot) == themes.theme.colour("ink")


def test_ticks_have_no_idle_digits() -> None:
    assert [format_tick(size) for size in (0, 2 * GIB, 512 * MIB, 1536 * MIB)] == [
        "0",
        "2 GiB",
        "512 MiB",
        "1.5 GiB",
    ]

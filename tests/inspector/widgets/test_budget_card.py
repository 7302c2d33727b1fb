"""Budget bar and legend as a reader meets them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager
from inspector.views import BudgetView, SegmentView
from inspector.widgets.budget_bar import BudgetBar
from inspector.widgets.budget_card import BudgetCard, DeviceBudget
from inspector.widgets.segment_row import _longest
from tests.helpers.panel_samples import (
    CPU_BUDGET,
    GIB,
    PLANNED,
    SPLIT_BUDGET,
    SPLIT_LAYERS,
)

Show = Callable[[QWidget], None]


def at(bar: BudgetBar, x: int) -> QColor:
    return bar.grab().toImage().pixelColor(x, bar.height() // 3)


def test_segments_are_drawn_where_the_geometry_says(themes: ThemeManager, show: Show) -> None:
    bar = BudgetBar(themes)
    bar.set_view(SPLIT_BUDGET)
    show(bar)
    spans = {span.kind: span for span in bar.geometry_px.spans}
    for kind in ("weights", "kv_used", "compute"):
        middle = (spans[kind].start + spans[kind].end) // 2
        assert at(bar, middle) == themes.theme.colour(kind), kind
    line = bar.geometry_px.load_line_x
    assert line is not None
    assert at(bar, line) == themes.theme.colour("ink")


def test_reserved_cache_is_hatched(themes: ThemeManager, show: Show) -> None:
    bar = BudgetBar(themes)
    bar.set_view(SPLIT_BUDGET)
    show(bar)
    span = next(span for span in bar.geometry_px.spans if span.kind == "kv_reserved")
    colours = {at(bar, x).name() for x in range(span.start + 1, span.end - 1)}
    assert themes.theme.css("kv_used") in colours
    assert themes.theme.css("kv_reserved") in colours


def test_reading_from_the_right_mirrors_the_bar(themes: ThemeManager, show: Show) -> None:
    bar = BudgetBar(themes)
    bar.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    bar.set_view(SPLIT_BUDGET)
    show(bar)
    assert at(bar, bar.width() - 20) == themes.theme.colour("weights")


@pytest.mark.parametrize("width", [240, 300, 364, 460])
@pytest.mark.parametrize("percent", [75, 100, 150, 200])
def test_labels_below_the_bar_never_overlap(
    themes: ThemeManager, show: Callable[[QWidget, int], None], width: int, percent: int
) -> None:
    themes.set_text_size(percent)
    bar = BudgetBar(themes)
    for view in (SPLIT_BUDGET, PLANNED.budgets[0], CPU_BUDGET):
        bar.set_view(view)
        show(bar, width)
        labels = bar.label_rects()
        assert labels
        assert not any(a.intersects(b) for (_, a), (_, b) in combinations(labels, 2))
        assert all(rect.left() >= 0 and rect.right() <= width + 0.5 for _, rect in labels)


def test_what_is_over_is_said_and_drawn(themes: ThemeManager, show: Show) -> None:
    device = DeviceBudget(themes)
    device.set_view(PLANNED.budgets[0], has_heading=False)
    show(device)
    assert "over by 1.25 GiB" in [text for text, _ in device.bar.label_rects()]
    assert device.warning.text() == "1.25 GiB more than the device has."
    end = device.bar.geometry_px.end_x
    assert end is not None
    assert at(device.bar, end) == themes.theme.colour("danger")


def test_an_unknown_capacity_is_called_so(themes: ThemeManager, show: Show) -> None:
    device = DeviceBudget(themes)
    device.set_view(replace(SPLIT_BUDGET, total_bytes=None), has_heading=False)
    show(device)
    assert [text for text, _ in device.bar.label_rects()] == ["capacity unknown"] or (
        device.bar.geometry_px.load_line_x is None
    )
    assert device.warning.text() == ""


def test_legend_and_lines(themes: ThemeManager, show: Show) -> None:
    device = DeviceBudget(themes)
    device.set_view(SPLIT_BUDGET, has_heading=False)
    show(device)
    assert [row.texts() for row in device.rows] == [
        ("Weights", "7.20 GiB"),
        ("KV cache, in use", "1.70 GiB"),
        ("KV cache, reserved", "1.00 GiB"),
        ("Compute and overhead", "717 MiB"),
        ("Other programs", "614 MiB"),
        ("Free", "819 MiB"),
    ]
    assert device.plan.text() == "plan 10.5 GiB, engine 10.6 GiB, error 1.4 %"
    assert device.warning.text() == "410 MiB over the load line."
    assert "Other programs took" in device.details.text()


@pytest.mark.parametrize("width", [392, 330, 250])
def test_what_others_took_moves_nothing(themes: ThemeManager, show: Show, width: int) -> None:
    """What stands below the card, buttons among it, keeps its place when this comes and goes."""
    took = replace(
        SPLIT_BUDGET,
        note="Other programs took about 2.00 GiB since loading.",
        others_took_bytes=2 * GIB,
    )
    device = DeviceBudget(themes)
    device.resize(width, 400)
    device.set_view(replace(SPLIT_BUDGET, note=""), has_heading=False)
    show(device)
    height = device.heightForWidth(width)
    assert [row.beside() for row in device.rows][4] == "read"
    device.set_view(took, has_heading=False)
    QApplication.processEvents()
    assert device.heightForWidth(width) == height
    assert [row.beside() for row in device.rows][4] == "+2.00 GiB since loading"
    assert "About 2.00 GiB more than when the model was loaded." in device.rows[4].explanation()
    assert "About" not in " ".join(device.rows[5].explanation())


def test_fewer_words_where_a_row_is_narrow() -> None:
    font = QFont("Inter", 10)
    texts = ("+2.00 GiB since loading", "+2.00 GiB")
    assert _longest(texts, font, 1000)[0] == texts[0]
    whole = QFontMetricsF(font).horizontalAdvance(texts[0])
    assert _longest(texts, font, whole - 5)[0] == texts[1]
    assert _longest(texts, font, 5) == ("", 0.0)


def test_pages_of_the_file_are_told_apart(themes: ThemeManager, show: Show) -> None:
    device = DeviceBudget(themes)
    device.set_view(CPU_BUDGET, has_heading=False)
    show(device)
    assert "92.0 MiB of the weights are pages" in device.details.toolTip()
    assert "at most 181 MiB" in device.details.accessibleDescription()
    assert "left below the load line" in device.details.text()


def test_keyboard_walks_along_the_segments(
    themes: ThemeManager, show: Show, qtbot: QtBot, qapp: QApplication
) -> None:
    device = DeviceBudget(themes)
    device.set_view(SPLIT_BUDGET, has_heading=False)
    show(device)
    device.activateWindow()
    device.rows[0].clearFocus()
    device.rows[0].setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(device.rows[0].hasFocus)
    assert "26 of 33 layers" in QToolTip.text()
    assert "26 of 33 layers" in device.rows[0].accessibleDescription()
    QTest.keyClick(device.rows[0], Qt.Key.Key_Down)
    assert device.rows[1].hasFocus()
    assert "21,034 tokens" in QToolTip.text()
    QTest.keyClick(device.rows[1], Qt.Key.Key_Up)
    QTest.keyClick(device.rows[0], Qt.Key.Key_Up)
    assert device.rows[0].hasFocus()
    device.rows[0].clearFocus()
    QToolTip.hideText()


def test_pointer_explains_the_segment_below_it(
    themes: ThemeManager, show: Show, qtbot: QtBot
) -> None:
    bar = BudgetBar(themes)
    bar.set_view(SPLIT_BUDGET)
    show(bar)
    span = bar.geometry_px.spans[1]
    place = QPoint((span.start + span.end) // 2, 12)
    QApplication.sendEvent(bar, QHelpEvent(QEvent.Type.ToolTip, place, bar.mapToGlobal(place)))
    assert "KV cache, in use: 1.70 GiB" in QToolTip.text()
    with qtbot.waitSignal(bar.pointed) as pointed:
        QTest.mouseMove(bar, place)
    assert pointed.args == [1]
    QToolTip.hideText()


def test_accessible_names(themes: ThemeManager, show: Show) -> None:
    device = DeviceBudget(themes)
    device.set_view(SPLIT_BUDGET, has_heading=False)
    show(device)
    assert device.bar.accessibleName().startswith("RTX 4070: Weights 7.20 GiB · KV cache, in use")
    assert device.rows[5].accessibleName() == "Free: 819 MiB"


def test_devices_come_and_go(themes: ThemeManager, show: Show) -> None:
    card = BudgetCard(themes)
    card.set_views((SPLIT_BUDGET,), None)
    show(card)
    assert card.header.summary == "RTX 4070 · 12.0 GiB"
    assert card.devices[0].heading.isHidden()
    second = BudgetView("CPU", 32 * GIB, (SegmentView("weights", GIB, "engine"),))
    card.set_views((SPLIT_BUDGET, second), SPLIT_LAYERS)
    assert card.header.summary == "2 devices"
    assert [device.heading.text() for device in card.devices] == [
        "RTX 4070 · 12.0 GiB",
        "CPU · 32.0 GiB",
    ]
    assert card.strip_caption.text() == "26 layers on RTX 4070 · 7 layers on CPU"
    card.set_views((second,), None)
    assert len(card.devices) == 1
    assert len(card.devices[0].rows) == 1
    assert card.strip.isHidden()


def test_a_point_outside_every_segment_is_nothing(
    themes: ThemeManager, show: Show, qtbot: QtBot
) -> None:
    bar = BudgetBar(themes)
    bar.set_view(replace(SPLIT_BUDGET, segments=SPLIT_BUDGET.segments[:1]))
    show(bar)
    assert bar.geometry_px.at(round(QPointF(bar.width() - 2, 0).x())) is None
    bar.set_marked(0)
    assert at(bar, 5) == themes.theme.colour("weights")


def test_a_model_that_is_a_sliver_is_shown_enlarged(themes: ThemeManager, show: Show) -> None:
    device = DeviceBudget(themes)
    device.set_view(CPU_BUDGET, has_heading=False)
    show(device)
    assert device.detail.isVisible()
    assert device.detail_caption.text() == "the model's 175 MiB, enlarged"
    spans = device.detail.geometry_px.spans
    assert [span.kind for span in spans] == ["weights", "kv_used", "kv_reserved", "compute"]
    assert spans[-1].end >= device.detail.width() - 1
    device.set_view(SPLIT_BUDGET, has_heading=False)
    assert not device.detail.isVisible()
    assert device.detail_caption.text() == ""

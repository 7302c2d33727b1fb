"""The panel as a whole: states, cheap updates, theme, keyboard, late plots."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager
from inspector.views import CurvePoint, PanelView
from inspector.widgets.panel import InspectorPanel
from tests.helpers.panel_samples import CPU, FULL, KIB, LOST, OVER, PLANNED, SAMPLES, SPLIT
from tests.helpers.patience import PATIENCE_S

MakePanel = Callable[..., InspectorPanel]


def after(tokens: int) -> PanelView:
    """Return the split example some tokens later."""
    now = 21034 + tokens
    assert SPLIT.growth is not None
    assert SPLIT.speed is not None
    budget = SPLIT.budgets[0]
    segments = list(budget.segments)
    segments[1] = replace(segments[1], size_bytes=segments[1].size_bytes + tokens * 106496)
    segments[2] = replace(segments[2], size_bytes=segments[2].size_bytes - tokens * 106496)
    return replace(
        SPLIT,
        budgets=(replace(budget, segments=tuple(segments)),),
        growth=replace(SPLIT.growth, now=CurvePoint(now, now * 128 * KIB)),
        speed=replace(SPLIT.speed, decode=replace(SPLIT.speed.decode, measured=31.2 - tokens / 50)),
    )


def visible_cards(panel: InspectorPanel) -> list[str]:
    return [card.key for card in panel.cards if card.isVisible()]


def test_cards_of_each_state(make_panel: MakePanel) -> None:
    panel = make_panel(SPLIT)
    assert visible_cards(panel) == ["budget", "findings", "growth", "speed", "model"]
    panel.set_view(CPU)
    assert visible_cards(panel) == ["budget", "growth", "speed", "model"]
    panel.set_view(LOST)
    assert panel.notice.isVisible()
    assert panel.notice.text().startswith("The engine stopped")
    panel.set_view(PanelView())
    assert visible_cards(panel) == []
    assert panel.empty.text().startswith("Choose a model")
    assert panel.notice.isHidden()


def test_the_strip_stands_where_no_finding_shows_it(make_panel: MakePanel) -> None:
    panel = make_panel(SPLIT)
    assert panel.budget.strip.isHidden()
    panel.set_view(FULL)
    assert panel.budget.strip.isVisible()
    assert FULL.layers is not None
    alone = tuple(replace(layer, device=0) for layer in FULL.layers.layers)
    panel.set_view(replace(FULL, layers=replace(FULL.layers, layers=alone)))
    assert panel.budget.strip.isHidden()


def test_the_same_view_draws_nothing(make_panel: MakePanel, counter: Callable[..., Any]) -> None:
    panel = make_panel(SPLIT)
    seen = counter(QEvent.Type.Paint, QEvent.Type.LayoutRequest)
    panel.set_view(replace(SPLIT))
    panel.set_view(after(0))
    QApplication.processEvents()
    assert seen.seen == {}


def test_one_more_token_draws_only_what_changed(
    make_panel: MakePanel, counter: Callable[..., Any]
) -> None:
    panel = make_panel(SPLIT)
    panel.set_view(after(1))
    QApplication.processEvents()
    seen = counter(QEvent.Type.Paint, QEvent.Type.LayoutRequest)
    for tokens in range(2, 12):
        panel.set_view(after(tokens))
        QApplication.processEvents()
    assert "ModelCard" not in seen.seen
    assert "FactRow" not in seen.seen
    assert "Finding" not in seen.seen
    assert seen.seen.get("BudgetBar", 0) <= 1
    assert seen.seen.get("SegmentRow", 0) <= 4
    assert seen.seen["RateMeter"] <= 10
    panel.set_view(after(12))
    layouts = counter(QEvent.Type.LayoutRequest)
    panel.set_view(after(13))
    QApplication.processEvents()
    assert layouts.seen == {}


def test_no_timer_runs_when_nothing_happens(make_panel: MakePanel) -> None:
    panel = make_panel(SPLIT)
    assert [timer for timer in panel.findChildren(QTimer) if timer.isActive()] == []


@pytest.mark.parametrize("state", sorted(SAMPLES))
@pytest.mark.parametrize(("width", "percent"), [(300, 75), (300, 150), (460, 200), (392, 100)])
def test_nothing_is_wider_than_the_panel(
    make_panel: MakePanel, themes: ThemeManager, state: str, width: int, percent: int
) -> None:
    themes.set_text_size(percent)
    panel = make_panel(SAMPLES[state], width)
    viewport = panel.viewport()
    content = panel.widget()
    assert content is not None
    assert content.width() == viewport.width()
    for widget in content.findChildren(QWidget):
        if widget.isVisible() and widget is not panel.focus_ring:
            left = widget.mapTo(content, widget.rect().topLeft()).x()
            assert left >= 0, widget
            assert left + widget.width() <= content.width(), widget


def test_cards_never_overlap_in_either_direction(
    make_panel: MakePanel, themes: ThemeManager
) -> None:
    for direction in (Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft):
        panel = make_panel(OVER)
        panel.setLayoutDirection(direction)
        QApplication.processEvents()
        shown = [card.geometry() for card in panel.cards if card.isVisible()]
        assert all(a.bottom() < b.top() for a, b in pairwise(shown))


def test_theme_and_text_size_reach_everything(make_panel: MakePanel, themes: ThemeManager) -> None:
    panel = make_panel(SPLIT)
    before = panel.full_height()
    dark = panel.grab().toImage()
    themes.set_mode("light")
    QApplication.processEvents()
    assert panel.grab().toImage() != dark
    bar = panel.budget.devices[0].bar
    span = bar.geometry_px.spans[0]
    colour = bar.grab().toImage().pixelColor((span.start + span.end) // 2, bar.height() // 3)
    assert colour == themes.theme.colour("weights")
    themes.set_text_size(150)
    QApplication.processEvents()
    assert panel.full_height() > before * 1.3


def test_sections_fold_and_are_kept(
    make_panel: MakePanel, qtbot: QtBot, themes: ThemeManager
) -> None:
    panel = make_panel(SPLIT)
    with qtbot.waitSignal(panel.folded_changed) as folded:
        QTest.mouseClick(panel.growth.header, Qt.MouseButton.LeftButton)
    assert folded.args == [("growth",)]
    assert panel.growth.body.isHidden()
    assert panel.growth.header.accessibleDescription() == "folded"
    later = InspectorPanel(themes)
    qtbot.addWidget(later)
    later.set_folded(("growth", "unknown"))
    assert later.folded == ("growth",)
    panel.growth.header.setFocus()
    QTest.keyClick(panel.growth.header, Qt.Key.Key_Space)
    assert panel.folded == ()


def test_signals(make_panel: MakePanel, qtbot: QtBot) -> None:
    panel = make_panel(SPLIT)
    with qtbot.waitSignal(panel.fix_requested) as asked:
        panel.findings.findings[0].buttons[2].click()
    assert asked.args == ["offload", "q6"]
    with qtbot.waitSignal(panel.metadata_requested):
        panel.model.metadata.click()
    dialog = panel.show_metadata()
    assert dialog.count.text() == "6 of 6 keys"
    dialog.close()


def test_tab_reaches_every_part_and_the_ring_follows(make_panel: MakePanel, qtbot: QtBot) -> None:
    panel = make_panel(SPLIT)
    panel.activateWindow()
    panel.budget.header.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(panel.budget.header.hasFocus)
    reached: list[str] = []
    content = panel.widget()
    assert content is not None
    for _ in range(40):
        widget = QApplication.focusWidget()
        assert widget is not None
        reached.append(type(widget).__name__)
        if isinstance(widget, QWidget) and panel.focus_ring.isVisible():
            inner = widget.mapTo(content, widget.rect().center())
            assert panel.focus_ring.geometry().contains(inner)
        QTest.keyClick(widget, Qt.Key.Key_Tab)
        if QApplication.focusWidget() is panel.budget.header:
            break
    for kind in ("CardHeader", "SegmentRow", "LayerStrip", "FixButton", "Plot", "RateMeter"):
        assert kind in reached, reached
    assert reached.count("SegmentRow") == 6
    focused = QApplication.focusWidget()
    assert focused is not None
    focused.clearFocus()
    assert panel.focus_ring.isHidden()


def test_plots_come_after_the_panel_and_move_nothing(qtbot: QtBot, themes: ThemeManager) -> None:
    panel = InspectorPanel(themes)
    qtbot.addWidget(panel)
    panel.set_view(PLANNED)
    panel.resize(392, 1200)
    with qtbot.waitExposed(panel):
        panel.show()
    before = panel.full_height()
    qtbot.waitUntil(lambda: panel.growth.plot.plot is not None)
    QApplication.processEvents()
    assert panel.full_height() == before


def test_the_plot_library_is_not_imported_before_the_panel_is_shown() -> None:
    code = (
        "import os, sys\n"
        "os.environ['QT_QPA_PLATFORM'] = 'offscreen'\n"
        "from PySide6.QtWidgets import QApplication\n"
        "app = QApplication([])\n"
        "from app.ui.theme import ThemeManager\n"
        "from inspector.widgets.panel import InspectorPanel\n"
        "from tests.helpers.panel_samples import SPLIT\n"
        "panel = InspectorPanel(ThemeManager())\n"
        "panel.set_view(SPLIT)\n"
        "app.processEvents()\n"
        "assert 'pyqtgraph' not in sys.modules and 'numpy' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_views_are_free_of_qt() -> None:
    code = "import sys, inspector.views; assert 'PySide6' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=PATIENCE_S)
    assert done.returncode == 0


def test_cards_explain_themselves_where_that_is_wanted(make_panel: MakePanel) -> None:
    panel = make_panel(SPLIT)
    assert all(card.lesson.isHidden() for card in panel.cards)
    panel.set_explains(True)
    assert panel.speed.lesson.text().startswith("Decode reads weights and cache for each")
    assert "On this processor" not in panel.speed.lesson.text()
    assert [card.key for card in panel.cards if card.lesson.isVisible()] == [
        "budget", "growth", "speed",
    ]  # fmt: skip
    assert CPU.speed is not None
    decode = replace(CPU.speed.decode, limit="held by arithmetic")
    panel.set_view(replace(CPU, speed=replace(CPU.speed, decode=decode)))
    assert panel.budget.lesson.isVisible()
    assert "On this processor arithmetic holds decode, too." in panel.speed.lesson.text()
    panel.set_explains(False)
    assert all(card.lesson.isHidden() for card in panel.cards)


def test_menu_of_the_panel(make_panel: MakePanel, qtbot: QtBot) -> None:
    panel = make_panel(SPLIT)
    menu = panel.menu()
    explain, fold, unfold, copy = (item for item in menu.actions() if item.text())
    assert not explain.isChecked()
    assert not unfold.isEnabled()
    with qtbot.waitSignal(panel.explains_changed) as told:
        explain.trigger()
    assert told.args == [True]
    with qtbot.waitSignal(panel.folded_changed) as folded:
        fold.trigger()
    assert folded.args == [("budget", "growth", "speed", "model")]
    copy.trigger()
    assert QApplication.clipboard().text().startswith("## llama · GGUF v3")
    menu.deleteLater()
    menu = panel.menu()
    _, fold, unfold, _ = (item for item in menu.actions() if item.text())
    assert not fold.isEnabled()
    unfold.trigger()
    assert panel.folded == ()
    menu.deleteLater()


def test_figures_stand_where_they_stood_while_a_reply_is_written(
    make_panel: MakePanel, qtbot: QtBot
) -> None:
    """A panel that jumps with each token can't be read: no part moves while figures change."""
    panel = make_panel(SPLIT)
    qtbot.waitUntil(lambda: panel.growth.plot.plot is not None)
    panel.set_explains(True)
    assert SPLIT.speed is not None

    def places() -> list[int]:
        for _ in range(3):
            QApplication.processEvents()
        return [card.y() for card in panel.cards] + [panel.full_height()]

    def live(tokens: int) -> PanelView:
        view = after(tokens)
        assert view.speed is not None
        size = 6.63 + tokens / 1000
        decode = replace(
            view.speed.decode,
            ceiling=504 / size,
            ceiling_name="",
            equation=f"504 GB/s ÷ {size:.2f} GB a token",
            live=True,
        )
        return replace(view, speed=replace(view.speed, decode=decode))

    panel.set_view(live(0))
    before = places()
    for tokens in range(1, 400, 7):
        panel.set_view(live(tokens))
        assert places() == before


def test_findings_stand_above_several_budgets(make_panel: MakePanel) -> None:
    panel = make_panel(SPLIT)
    assert panel.budget.y() < panel.findings.y()
    panel.set_view(OVER)
    QApplication.processEvents()
    assert panel.findings.y() < panel.budget.y() < panel.growth.y()
    assert visible_cards(panel) == ["findings", "budget", "growth", "speed", "model"]
    panel.set_view(SPLIT)
    QApplication.processEvents()
    assert panel.budget.y() < panel.findings.y() < panel.growth.y()


def test_notes_stand_below_the_figures_and_warnings_above(make_panel: MakePanel) -> None:
    (warning,) = SPLIT.findings
    note = replace(warning, id="busy", severity="note", headline="Measured while busy.")
    panel = make_panel(replace(SPLIT, findings=(warning, note)))
    QApplication.processEvents()
    assert panel.findings.y() < panel.growth.y() < panel.speed.y() < panel.notes.y()
    assert [card.view for card in panel.notes.findings] == [note]
    taken: list[tuple[str, str]] = []
    panel.fix_requested.connect(lambda finding, fix: taken.append((finding, fix)))
    panel.notes.findings[0].buttons[0].click()
    assert taken == [("busy", note.fixes[0].key)]
    panel.set_view(SPLIT)
    assert panel.notes.isHidden()

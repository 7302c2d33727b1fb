"""Rows that come and go have their room at once, not some frames later."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager
from inspector.widgets.panel import InspectorPanel
from tests.helpers.panel_samples import PLANNED, SAMPLES

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


def layout_of(panel: InspectorPanel) -> tuple[list[int], int, int]:
    """Return the heights of the legend's rows, the content's height and the one it wants."""
    content = panel.widget()
    assert content is not None
    layout = content.layout()
    assert layout is not None
    rows = [row.height() for device in panel.budget.devices for row in device.rows]
    return rows, content.height(), layout.totalHeightForWidth(content.width())


@pytest.mark.parametrize("state", sorted(set(SAMPLES) - {"none"}))
def test_another_view_is_laid_out_before_it_is_drawn(
    qtbot: QtBot, themes: ThemeManager, state: str
) -> None:
    panel = InspectorPanel(themes)
    qtbot.addWidget(panel)
    panel.set_view(PLANNED)
    panel.resize(392, 600)
    panel.show()
    qtbot.waitExposed(panel)
    for _ in range(6):
        QApplication.processEvents()
    panel.set_view(SAMPLES[state])
    rows, height, wanted = at_once = layout_of(panel)
    assert len(set(rows)) == 1  # none is set into the room of others
    assert height == wanted
    for _ in range(6):
        QApplication.processEvents()
    assert layout_of(panel) == at_once


def test_a_line_that_comes_has_its_room_at_once(qtbot: QtBot, themes: ThemeManager) -> None:
    panel = InspectorPanel(themes)
    qtbot.addWidget(panel)
    view = SAMPLES["split"]
    assert view.speed is not None
    assert view.speed.draft_first_token is not None
    without = replace(view, speed=replace(view.speed, draft_first_token=None))
    panel.set_view(without)
    panel.resize(392, 600)
    panel.show()
    qtbot.waitExposed(panel)
    for _ in range(6):
        QApplication.processEvents()
    before = layout_of(panel)
    panel.set_view(view)
    rows, height, wanted = layout_of(panel)
    assert rows == before[0]
    assert height == wanted > before[1]

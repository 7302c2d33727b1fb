"""The inspector's column is made wider and narrower by pointer and keyboard, within limits."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFrame, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.ui.main_window import MainWindow
from app.ui.shell.inspector_width import LEAST_PX, MOST_PX, USUAL_PX, column_width
from app.ui.tab_order import in_reading_order
from app.ui.theme import ThemeManager


@pytest.mark.parametrize(
    ("wanted", "room", "width"),
    [
        (USUAL_PX, 900, USUAL_PX),
        (USUAL_PX, 100, USUAL_PX),  # what gives way then are whole columns
        (600, 900, 600),
        (600, 500, 500),
        (600, 300, USUAL_PX),
        (380, 900, 380),
        (10, 900, LEAST_PX),
        (9000, 9000, MOST_PX),
    ],
)
def test_width_is_within_limits_and_gives_way_first(wanted: int, room: int, width: int) -> None:
    assert column_width(wanted, room) == width


@pytest.fixture
def window(qtbot: QtBot, themes: ThemeManager) -> MainWindow:
    """A window with something in the inspector's column."""
    made = MainWindow(themes)
    qtbot.addWidget(made)
    made.resize(1440, 900)
    made.set_inspector(QLabel("inspector"))
    with qtbot.waitActive(made):
        made.show()
        made.activateWindow()
    return made


def drag(edge: QWidget, by: int) -> None:
    at = QPoint(2, 100)
    QTest.mousePress(edge, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)
    QTest.mouseMove(edge, at + QPoint(by, 0))
    there = edge.mapFromGlobal(edge.mapToGlobal(at))
    QTest.mouseRelease(edge, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, there)


def test_the_edge_is_dragged_and_remembered(
    qtbot: QtBot, window: MainWindow, themes: ThemeManager
) -> None:
    slot, edge = window._slot, window._slot.edge
    assert slot.width() == themes.theme.px(USUAL_PX)
    drag(edge, -100)
    qtbot.waitUntil(lambda: slot.width() == themes.theme.px(USUAL_PX + 100))
    assert edge.geometry().topLeft() == QPoint(0, 0)
    assert edge.height() == slot.height()
    kept = window.save_state()
    again = MainWindow(themes)
    qtbot.addWidget(again)
    again.set_inspector(QLabel("inspector"))
    again.resize(1440, 900)
    assert again.restore_state(kept)
    again.resize(1440, 900)
    again.show()
    assert again._slot.width() == themes.theme.px(USUAL_PX + 100)
    QTest.mouseDClick(edge, Qt.MouseButton.LeftButton)
    QTest.mouseRelease(edge, Qt.MouseButton.LeftButton)
    assert slot.width() == themes.theme.px(USUAL_PX)


def test_the_keyboard_reaches_it_and_stops_at_the_limits(
    window: MainWindow, themes: ThemeManager
) -> None:
    slot, edge = window._slot, window._slot.edge
    assert edge in in_reading_order(window)
    assert edge.accessibleName() == "Width of the inspector"
    edge.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(edge, Qt.Key.Key_Left)
    assert slot.width() == themes.theme.px(USUAL_PX + 16)
    for _ in range(60):
        QTest.keyClick(edge, Qt.Key.Key_Right)
    assert slot.width() == themes.theme.px(LEAST_PX)
    for _ in range(60):
        QTest.keyClick(edge, Qt.Key.Key_Left)
    assert slot.width() == min(themes.theme.px(MOST_PX), 1440 - 380 - window.sidebar.width())
    QTest.keyClick(edge, Qt.Key.Key_Home)
    assert slot.width() == themes.theme.px(USUAL_PX)


def test_a_wide_column_gives_way_before_others_do(window: MainWindow, themes: ThemeManager) -> None:
    window._slot.edge.width_wanted.emit(MOST_PX)
    window.resize(1024, 700)
    assert window.sidebar.isVisible()
    assert window._slot.isVisible()
    assert window._slot.width() == 1024 - 380 - window.sidebar.width()
    window.resize(990, 700)  # now the inspector as a whole gives way
    assert window.sidebar.isVisible()
    assert not window._slot.isVisible()
    window.resize(1900, 900)
    assert window._slot.width() == themes.theme.px(MOST_PX)


def test_it_lies_over_the_side_where_the_column_grows(
    window: MainWindow, themes: ThemeManager
) -> None:
    window.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    window.resize(1400, 900)
    slot, edge = window._slot, window._slot.edge
    assert edge.geometry().right() == slot.rect().right()
    drag(edge, 60)
    assert slot.width() == themes.theme.px(USUAL_PX + 60)
    assert isinstance(slot, QFrame)

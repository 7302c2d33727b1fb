from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.ui.tab_order import in_reading_order, step_focus

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


class _Window(QWidget):
    """Two columns above a foot; the first column is made last."""

    def __init__(self) -> None:
        super().__init__()
        self.foot = QPushButton("foot", self)
        right = QWidget(self)
        column = QVBoxLayout(right)
        self.third, self.fourth = QLineEdit(right), QSpinBox(right)
        column.addWidget(self.third)
        column.addWidget(self.fourth)
        left = QWidget(self)
        other = QVBoxLayout(left)
        self.second, self.first = QPushButton("second", left), QPushButton("first", left)
        other.addWidget(QLabel("words"))
        other.addWidget(self.first)
        other.addWidget(self.second)
        whole = QVBoxLayout(self)
        row = QHBoxLayout()
        row.addWidget(left)
        row.addWidget(right)
        whole.addLayout(row)
        whole.addWidget(self.foot)

    def focusNextPrevChild(self, forward: bool) -> bool:
        return step_focus(self, forward=forward)


@pytest.fixture
def window(qtbot: QtBot) -> _Window:
    made = _Window()
    qtbot.addWidget(made)
    made.show()
    qtbot.waitUntil(lambda: made.first.y() > 0)
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def test_columns_are_read_one_after_the_other(window: _Window) -> None:
    wanted = [window.first, window.second, window.third, window.fourth, window.foot]
    assert in_reading_order(window) == wanted


def test_the_right_column_is_first_in_right_to_left_scripts(window: _Window, qtbot: QtBot) -> None:
    window.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    layout = window.layout()
    assert layout is not None
    layout.activate()
    order = in_reading_order(window)
    assert order == [window.first, window.second, window.third, window.fourth, window.foot]
    assert window.first.mapTo(window, window.first.pos()).x() > window.third.x()


def test_tab_goes_around_both_ways_and_passes_over_what_is_off(
    window: _Window, qtbot: QtBot
) -> None:
    window.second.setEnabled(False)
    window.third.hide()
    window.first.setFocus()
    forward, back = [], []
    for _ in range(3):
        QTest.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_Tab)
        forward.append(QApplication.focusWidget())
    assert forward == [window.fourth, window.foot, window.first]
    for _ in range(3):
        QTest.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_Backtab)
        back.append(QApplication.focusWidget())
    assert back == [window.foot, window.fourth, window.first]


def test_from_what_is_not_in_the_order_the_next_in_its_holder_is_taken(window: _Window) -> None:
    window.second.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
    window.second.setFocus()
    assert step_focus(window, forward=True)
    assert QApplication.focusWidget() is window.first
    window.second.setFocus()
    assert step_focus(window, forward=False)
    assert QApplication.focusWidget() is window.first


def test_what_is_scrolled_away_comes_into_sight(qtbot: QtBot) -> None:
    area = QScrollArea()
    qtbot.addWidget(area)
    area.setWidgetResizable(True)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    inner = QWidget()
    column = QVBoxLayout(inner)
    buttons = [QPushButton(str(number), inner) for number in range(40)]
    for button in buttons:
        column.addWidget(button)
    area.setWidget(inner)
    area.resize(200, 150)
    area.show()
    area.activateWindow()
    qtbot.waitUntil(area.isActiveWindow)
    buttons[0].setFocus()
    assert buttons[-1].visibleRegion().isEmpty()
    assert step_focus(area, forward=False)
    assert QApplication.focusWidget() is buttons[-1]
    assert not buttons[-1].visibleRegion().isEmpty()


def test_an_empty_widget_has_nothing_to_go_to(qtbot: QtBot) -> None:
    empty = QWidget()
    qtbot.addWidget(empty)
    empty.show()
    assert not step_focus(empty, forward=True)

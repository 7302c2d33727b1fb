"""Frames wait while another theme is drawn out of sight, and then show all of it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import delete, isValid

from app.ui.rehearsal import Rehearsal


class _Plate(QWidget):
    """Draws a colour, and notes whether frames were held when it did."""

    def __init__(self, rehearsal: Rehearsal, parent: QWidget) -> None:
        super().__init__(parent)
        self._rehearsal = rehearsal
        self.colour = QColor("red")
        self.held: list[bool] = []

    def paintEvent(self, _event: QPaintEvent) -> None:
        self.held.append(self._rehearsal.is_running)
        QPainter(self).fillRect(self.rect(), self.colour)


@pytest.fixture
def rehearsal(qapp: QApplication) -> Rehearsal:
    return Rehearsal(qapp)


def _window(qtbot: QtBot, rehearsal: Rehearsal, count: int = 3) -> tuple[QWidget, list[_Plate]]:
    window = QWidget()
    qtbot.addWidget(window)
    row = QHBoxLayout(window)
    plates = [_Plate(rehearsal, window) for _ in range(count)]
    for plate in plates:
        row.addWidget(plate)
    window.resize(300, 100)
    with qtbot.waitExposed(window):
        window.show()
    qtbot.waitUntil(lambda: all(plate.held for plate in plates))
    qtbot.wait(20)
    for plate in plates:
        plate.held.clear()
    return window, plates


def _on_screen(window: QWidget, plate: QWidget) -> str:
    picture = window.screen().grabWindow(window.winId()).toImage()
    return picture.pixelColor(plate.geometry().center()).name()


def test_each_is_drawn_out_of_sight_and_then_on_screen(qtbot: QtBot, rehearsal: Rehearsal) -> None:
    window, plates = _window(qtbot, rehearsal)
    for plate in plates:
        plate.colour = QColor("blue")
        plate.update()
    rehearsal.begin()
    assert rehearsal.is_running
    qtbot.waitUntil(lambda: all(len(plate.held) == 2 for plate in plates))
    qtbot.wait(20)
    assert [plate.held for plate in plates] == [[True, False]] * 3
    assert _on_screen(window, plates[0]) == QColor("blue").name()


def test_what_asks_for_a_frame_meanwhile_gets_it_afterwards(
    qtbot: QtBot, rehearsal: Rehearsal
) -> None:
    window, plates = _window(qtbot, rehearsal)
    rehearsal.begin()
    plates[1].colour = QColor("blue")
    plates[1].update()
    QApplication.sendPostedEvents()
    assert _on_screen(window, plates[1]) == QColor("red").name()
    qtbot.waitUntil(lambda: _on_screen(window, plates[1]) == QColor("blue").name())
    assert not rehearsal.is_running


class _Ends(QObject):
    """Ends a widget as soon as another one is drawn."""

    def __init__(self, victim: QWidget) -> None:
        super().__init__()
        self._victim: QWidget | None = victim

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and self._victim is not None:
            victim, self._victim = self._victim, None
            delete(victim)
        return False


def test_widgets_and_windows_that_go_meanwhile_are_let_go(
    qtbot: QtBot, rehearsal: Rehearsal
) -> None:
    _, plates = _window(qtbot, rehearsal)
    other = QWidget()
    with qtbot.waitExposed(other):
        other.show()
    ends = _Ends(plates[2]), _Ends(other)
    for plate, end in zip(plates, ends, strict=False):
        plate.installEventFilter(end)
    rehearsal.begin()
    qtbot.waitUntil(lambda: not rehearsal.is_running)
    assert plates[0].held
    assert plates[1].held


def test_nothing_in_sight_needs_no_rehearsal(rehearsal: Rehearsal) -> None:
    rehearsal.begin()
    assert not rehearsal.is_running


class _EndsAll(QWidget):
    """Ends an object when it is drawn."""

    def __init__(self, victim: QObject, parent: QWidget) -> None:
        super().__init__(parent)
        self._victim = victim
        self.is_armed = False

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self.is_armed and isValid(self._victim):
            delete(self._victim)


class _Kept(_Plate):
    keeps_picture = True


def test_what_keeps_a_picture_is_drawn_until_it_has_one(qtbot: QtBot, rehearsal: Rehearsal) -> None:
    window, (plate, *_) = _window(qtbot, rehearsal)
    kept = _Kept(rehearsal, window)
    on_it = _Plate(rehearsal, kept)  # as a chart's viewport
    kept.setGeometry(0, 0, 20, 20)
    kept.show()
    qtbot.waitUntil(lambda: bool(kept.held and on_it.held and plate.held))
    qtbot.wait(20)
    for item in (kept, on_it, plate):
        item.held.clear()
    rehearsal.begin()
    qtbot.waitUntil(lambda: not rehearsal.is_running)
    assert (kept.held, on_it.held, plate.held) == ([True] * 2, [True] * 2, [True])


def test_a_widget_that_ends_all_of_it_is_the_last_that_is_drawn(
    qtbot: QtBot, qapp: QApplication
) -> None:
    """The program may end meanwhile, or a collection end what nobody holds any more."""
    rehearsal = Rehearsal(qapp)
    window, plates = _window(qtbot, rehearsal)
    ends = _EndsAll(rehearsal, window)
    ends.setGeometry(0, 0, 20, 20)
    ends.show()
    qtbot.wait(20)
    ends.is_armed = True
    rehearsal.begin()
    qtbot.waitUntil(lambda: not isValid(rehearsal))
    plates[1].colour = QColor("blue")
    plates[1].update()
    qtbot.waitUntil(lambda: _on_screen(window, plates[1]) == QColor("blue").name())

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.ui.main_window import MainWindow
from app.ui.rehearsal import Rehearsal
from app.ui.theme import ThemeManager
from tests.helpers.patient_bot import until_idle


class _Paints(QObject):
    """Counts how often widgets are drawn, and apart from it how often out of sight."""

    def __init__(self, *widgets: QWidget, rehearsal: Rehearsal | None = None) -> None:
        super().__init__()
        self._rehearsal = rehearsal
        self.count = dict.fromkeys(widgets, 0)
        self.rehearsed = dict.fromkeys(widgets, 0)
        for widget in widgets:
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and isinstance(watched, QWidget):
            hidden = self._rehearsal is not None and self._rehearsal.is_running
            (self.rehearsed if hidden else self.count)[watched] += 1
        return False


def test_a_frame_is_drawn_in_the_turn_after_it_was_asked_for(
    qtbot: QtBot, window: MainWindow
) -> None:
    until_idle(qtbot)
    paints = _Paints(window.header)
    window.header.update()
    QCoreApplication.sendPostedEvents()
    assert paints.count[window.header] == 0
    qtbot.waitUntil(lambda: paints.count[window.header] == 1)
    until_idle(qtbot)
    assert paints.count[window.header] == 1


def test_frames_go_on_after_one_was_drawn(qtbot: QtBot, window: MainWindow) -> None:
    paints = _Paints(window.header)
    for turn in range(1, 4):
        paints.count[window.header] = 0
        window.header.update()
        qtbot.waitUntil(lambda: paints.count[window.header] > 0)
        assert window.header.isVisible(), turn


def test_a_change_of_the_theme_draws_each_widget_once(
    qtbot: QtBot, window: MainWindow, themes: ThemeManager
) -> None:
    until_idle(qtbot)
    labels = [label for label in window.findChildren(QLabel) if label.isVisible()]
    parts = (window, window.header, window.sidebar, window.chat, window.status, *labels)
    paints = _Paints(*parts, rehearsal=themes._rehearsal)
    themes.set_mode("light")
    qtbot.waitUntil(lambda: paints.count[window] > 0)
    assert {paints.count[part] for part in parts} == {1}
    assert {paints.rehearsed[part] for part in parts} == {1}

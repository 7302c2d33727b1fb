"""A theme and a panel, as the window would make them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager
from inspector.views import PanelView
from inspector.widgets.panel import InspectorPanel
from tests.helpers.patient_bot import until_idle


class Counter(QObject):
    """Counts events of some kinds by the class of the widget that gets them."""

    def __init__(self, *kinds: QEvent.Type) -> None:
        super().__init__()
        self._kinds = kinds
        self.seen: dict[str, int] = {}

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in self._kinds:
            name = type(watched).__name__
            self.seen[name] = self.seen.get(name, 0) + 1
        return False


@pytest.fixture
def themes(qapp: QApplication) -> ThemeManager:
    return ThemeManager("dark")


@pytest.fixture
def counter(qapp: QApplication) -> Iterator[Callable[..., Counter]]:
    made: list[Counter] = []

    def make(*kinds: QEvent.Type) -> Counter:
        made.append(Counter(*kinds))
        qapp.installEventFilter(made[-1])
        return made[-1]

    yield make
    for item in made:
        qapp.removeEventFilter(item)


@pytest.fixture
def show(qtbot: QtBot) -> Callable[[QWidget, int], None]:
    """Show a widget at a width, as tall as it likes."""

    def do(widget: QWidget, width: int = 364) -> None:
        qtbot.addWidget(widget)
        height = widget.heightForWidth(width) if widget.hasHeightForWidth() else 0
        widget.resize(width, max(height, widget.sizeHint().height()))
        with qtbot.waitExposed(widget):
            widget.show()

    return do


@pytest.fixture
def make_panel(qtbot: QtBot, themes: ThemeManager) -> Callable[..., InspectorPanel]:
    """Return a panel with its plots, all cards in sight."""

    def make(view: PanelView, width: int = 392) -> InspectorPanel:
        panel = InspectorPanel(themes)
        qtbot.addWidget(panel)
        panel.set_view(view)
        panel.resize(width, 1400)
        with qtbot.waitExposed(panel):
            panel.show()
        qtbot.waitUntil(lambda: panel.growth.plot.plot is not None)
        qtbot.waitUntil(lambda: panel.speed.plot.plot is not None)
        until_idle(qtbot)
        return panel

    return make

from __future__ import annotations

import re
from pathlib import Path

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

import app.ui
from app.ui.fields import DecimalField, PlainChoice
from app.ui.models.toolbar import Toolbar
from app.ui.theme import ThemeManager


def _turned(widget: QWidget) -> bool:
    """Turn the wheel by a notch over a widget, and tell whether it took that."""
    event = QWheelEvent(
        QPointF(2, 2), QPointF(2, 2), QPoint(0, 0), QPoint(0, -120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(widget, event)
    return event.isAccepted()


def test_a_choice_is_never_changed_by_the_wheel(qtbot: QtBot) -> None:
    choice = PlainChoice()
    qtbot.addWidget(choice)
    choice.addItems(["a", "b"])
    choice.show()
    qtbot.waitExposed(choice)
    choice.setFocus()
    assert not _turned(choice)
    assert choice.currentIndex() == 0


def test_a_number_is_stepped_by_the_wheel_where_the_keyboard_is(qtbot: QtBot) -> None:
    number = DecimalField()
    qtbot.addWidget(number)
    number.show()
    assert not _turned(number)
    number.setRange(-5, 5)
    number.setFocus()
    qtbot.waitUntil(number.hasFocus)
    assert _turned(number)
    assert number.value() == -1


def test_the_models_page_is_scrolled_over_its_selectors(qtbot: QtBot, themes: ThemeManager) -> None:
    bar = Toolbar(themes)
    qtbot.addWidget(bar)
    bar.show()
    for box in (bar.filter, bar.sort):
        box.setFocus()
        assert not _turned(box)
        assert box.currentIndex() == 0


def test_no_field_of_qt_itself_is_used() -> None:
    made = re.compile(r"\bQ(ComboBox|SpinBox|DoubleSpinBox|Slider|Dial|FontComboBox)\(")
    sources = sorted(Path(app.ui.__file__).parent.rglob("*.py"))
    assert len(sources) > 200
    assert [path.name for path in sources if made.search(path.read_text("utf-8"))] == []

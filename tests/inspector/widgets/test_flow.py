from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from inspector.widgets.flow import FlowLayout

# The offscreen platform says so for every top-level widget whose layout has a size of its own.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


def _box(qtbot: QtBot, widths: tuple[int, ...]) -> tuple[QWidget, list[QWidget]]:
    box = QWidget()
    qtbot.addWidget(box)
    flow = FlowLayout(box, spacing_px=10)
    children = []
    for width in widths:
        child = QWidget(box)
        child.setFixedSize(width, 20)
        flow.addWidget(child)
        children.append(child)
    return box, children


def test_a_full_row_is_continued_below(qtbot: QtBot) -> None:
    box, children = _box(qtbot, (60, 60, 60))
    box.resize(150, 100)
    box.show()
    assert [(c.x(), c.y()) for c in children] == [(0, 0), (70, 0), (0, 30)]
    layout = box.layout()
    assert layout is not None
    assert layout.heightForWidth(150) == 50
    assert layout.heightForWidth(500) == 20
    assert layout.sizeHint().width() == 200


def test_rows_begin_at_the_right_in_right_to_left_scripts(qtbot: QtBot) -> None:
    box, children = _box(qtbot, (60, 60))
    box.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    box.resize(200, 50)
    box.show()
    assert [c.x() for c in children] == [140, 70]


def test_lower_items_stand_in_the_middle_of_their_row(qtbot: QtBot) -> None:
    box, children = _box(qtbot, (60, 60, 60))
    children[1].setFixedHeight(40)
    box.resize(150, 100)
    box.show()
    assert [(c.x(), c.y()) for c in children] == [(0, 10), (70, 0), (0, 50)]


def test_hidden_widgets_take_no_room(qtbot: QtBot) -> None:
    box, children = _box(qtbot, (60, 60))
    children[0].hide()
    box.resize(200, 50)
    box.show()
    assert children[1].x() == 0


def test_items_can_be_taken_out(qtbot: QtBot) -> None:
    box, children = _box(qtbot, (60,))
    flow = box.layout()
    assert isinstance(flow, FlowLayout)
    item = flow.takeAt(0)
    assert item is not None
    assert item.widget() is children[0]
    assert flow.takeAt(0) is None
    assert flow.count() == 0


def test_items_are_cut_where_that_was_asked_for(qtbot: QtBot) -> None:
    box = QWidget()
    qtbot.addWidget(box)
    flow = FlowLayout(box, cuts_items=True)
    child = QWidget(box)
    child.setMinimumSize(60, 20)
    flow.addWidget(child)
    assert flow.minimumSize().width() == 0
    assert flow.minimumSize().height() == 20

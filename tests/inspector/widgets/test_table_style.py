"""A table's frame and its header."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QTableView
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager
from inspector.widgets.table_style import table_style

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


def picture(qtbot: QtBot, themes: ThemeManager) -> tuple[QTableView, QImage]:
    table = QTableView()
    qtbot.addWidget(table)
    model = QStandardItemModel(1, 2, table)
    for column in range(2):
        model.setHorizontalHeaderItem(column, QStandardItem("HHH"))
        model.setItem(0, column, QStandardItem("HHH"))
    table.setModel(model)
    table.verticalHeader().hide()
    table.setShowGrid(False)
    header = table.horizontalHeader()
    header.setStretchLastSection(True)
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter)
    header.setFixedHeight(40)
    table.verticalHeader().setDefaultSectionSize(40)
    table.setStyleSheet(table_style(themes.theme))
    table.resize(400, 200)
    table.show()
    return table, table.grab().toImage()


def is_like(one: QColor, other: QColor) -> bool:
    parts = ((one.red(), other.red()), (one.green(), other.green()), (one.blue(), other.blue()))
    return all(abs(a - b) <= 2 for a, b in parts)


def first_ink(image: QImage, middle_y: int) -> int:
    """Return the first column, from within the frame, in which words stand at a height."""
    ground = image.pixelColor(4, middle_y).lightness()
    rows = range(middle_y - 4, middle_y + 5)
    return next(
        x
        for x in range(4, 100)
        if any(abs(image.pixelColor(x, y).lightness() - ground) > 60 for y in rows)
    )


@pytest.mark.parametrize("mode", ["dark", "light"])
def test_the_header_keeps_within_the_round_frame(
    qtbot: QtBot, themes: ThemeManager, mode: str
) -> None:
    themes.set_mode(mode)  # type: ignore[arg-type]
    theme = themes.theme
    table, image = picture(qtbot, themes)
    panel, line = theme.colour("panel"), theme.colour("line")
    assert is_like(image.pixelColor(200, 5), panel)  # the header's ground
    for x in (1, table.width() - 2):
        assert not is_like(image.pixelColor(x, 1), panel)
    # Along the corner's arc the frame is there: 45 degrees of a circle of 8 px.
    found = {image.pixelColor(3, 2).name(), image.pixelColor(2, 3).name()}
    assert any(abs(QColor(name).lightness() - line.lightness()) < 12 for name in found)


@pytest.mark.parametrize("percent", [100, 160])
def test_words_of_header_and_cells_begin_alike(
    qtbot: QtBot, themes: ThemeManager, percent: int
) -> None:
    themes.set_text_size(percent)
    _, image = picture(qtbot, themes)
    assert abs(first_ink(image, 21) - first_ink(image, 61)) <= 1

from __future__ import annotations

import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem
from pytestqt.qtbot import QtBot

from app.ui.painted_list import leading_side, paint_ground
from app.ui.theme import ThemeManager


def _over_panel(themes: ThemeManager, token: str) -> QColor:
    """Return a colour, which may let things through, as it looks on a panel."""
    dot = QImage(1, 1, QImage.Format.Format_RGB32)
    dot.fill(themes.theme.colour("panel"))
    painter = QPainter(dot)
    painter.fillRect(0, 0, 1, 1, themes.theme.colour(token))
    painter.end()
    return dot.pixelColor(0, 0)


@pytest.mark.parametrize("mode", ["dark", "light"])
@pytest.mark.parametrize(
    ("raised", "hovered", "ringed", "middle", "edge"),
    [
        (False, False, False, "panel", "panel"),
        (False, True, False, "hover", "hover"),
        (True, True, False, "raised", "raised"),
        (True, False, True, "raised", "accent"),
        (False, False, True, "panel", "accent"),
    ],
)
def test_a_rows_ground_says_what_the_row_is(
    qtbot: QtBot, mode: str, raised: bool, hovered: bool, ringed: bool, middle: str, edge: str
) -> None:
    themes = ThemeManager("dark")
    themes.set_mode(mode)  # type: ignore[arg-type]
    theme = themes.theme
    image = QImage(80, 40, QImage.Format.Format_RGB32)
    image.fill(theme.colour("panel"))
    painter = QPainter(image)
    box = QRectF(1, 1, 78, 38)
    paint_ground(painter, theme, box, 8, raised=raised, hovered=hovered, ringed=ringed)
    painter.end()

    for x, token in ((40, middle), (1, edge)):
        assert image.pixelColor(x, 20) == _over_panel(themes, token)


@pytest.mark.parametrize(
    ("direction", "side"),
    [
        (Qt.LayoutDirection.LeftToRight, Qt.AlignmentFlag.AlignLeft),
        (Qt.LayoutDirection.RightToLeft, Qt.AlignmentFlag.AlignRight),
    ],
)
def test_text_begins_where_reading_does(
    qtbot: QtBot, direction: Qt.LayoutDirection, side: Qt.AlignmentFlag
) -> None:
    option = QStyleOptionViewItem()
    option.direction = direction
    assert leading_side(option) == side | Qt.AlignmentFlag.AlignAbsolute

from __future__ import annotations

import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication

from inspector.widgets.drawing import draw_text, hatch_brush


def _filled(over: str, under: str, ratio: float = 1.0) -> set[str]:
    """Return the colours of a hatched area that are no blend of the two."""
    picture = QImage(40, 40, QImage.Format.Format_RGB32)
    picture.fill(QColor("black"))
    painter = QPainter(picture)
    painter.fillRect(picture.rect(), hatch_brush(QColor(over), QColor(under), ratio))
    painter.end()
    found = {picture.pixelColor(x, y).name() for x in range(40) for y in range(40)}
    return found & {over, under}


def test_stripes_have_the_colours_asked_for_each_time(qapp: QApplication) -> None:
    for over, under in (("#ff0000", "#00ff00"), ("#0000ff", "#00ff00"), ("#ff0000", "#00ff00")):
        for ratio in (1.0, 2.0):
            assert _filled(over, under, ratio) == {over, under}


@pytest.mark.parametrize(
    "direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft]
)
@pytest.mark.parametrize("at_end", [False, True])
def test_a_line_stands_at_the_start_or_the_end(
    qapp: QApplication, direction: Qt.LayoutDirection, at_end: bool
) -> None:
    picture = QImage(200, 30, QImage.Format.Format_RGB32)
    picture.fill(QColor("white"))
    painter = QPainter(picture)
    painter.setLayoutDirection(direction)
    draw_text(painter, QRectF(0, 0, 200, 30), "4.2 GiB", at_end=at_end)
    assert painter.layoutDirection() == direction
    painter.end()
    columns = [x for x in range(200) if any(picture.pixelColor(x, y) != "white" for y in range(30))]
    is_right = at_end != (direction == Qt.LayoutDirection.RightToLeft)
    assert (min(columns) > 100) if is_right else (max(columns) < 100)

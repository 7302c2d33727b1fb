"""Rows of lists that are laid down again as they were drawn."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication

from app.ui.row_pictures import RowPictures
from app.ui.theme import make_theme

_DARK, _LIGHT = make_theme("dark"), make_theme("light")


class _Rows:
    """Draws a red row, and counts."""

    def __init__(self, ratio: float = 1.0) -> None:
        self.count = 0
        self.pictures = RowPictures("panel")
        self.image = QImage(round(100 * ratio), round(60 * ratio), QImage.Format.Format_RGB32)
        self.image.setDevicePixelRatio(ratio)

    def paint(self, state: str, rect: QRect, *, light: bool = False, mirrored: bool = False) -> str:
        """Return the colour of the row's middle, after its right end's."""

        def draw(painter: QPainter, place: QRect) -> None:
            self.count += 1
            painter.fillRect(place.adjusted(0, 0, -10, 0), QColor("red"))

        painter = QPainter(self.image)
        if mirrored:
            painter.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        self.pictures.paint(painter, rect, _LIGHT if light else _DARK, state, draw)
        painter.end()
        ratio = self.image.devicePixelRatio()
        at = (rect.center().toPointF() * ratio).toPoint()
        return str(self.image.pixelColor(at).name())


def test_a_row_is_drawn_once_wherever_it_stands(qapp: QApplication) -> None:
    rows = _Rows()
    assert rows.paint("a", QRect(0, 0, 100, 20)) == "#ff0000"
    assert rows.paint("a", QRect(0, 40, 100, 20)) == "#ff0000"
    assert rows.count == 1
    assert rows.image.pixelColor(95, 50).name() == _DARK.css("panel")


def test_what_it_follows_from_is_looked_at(qapp: QApplication) -> None:
    rows = _Rows()
    place = QRect(0, 0, 100, 20)
    rows.paint("a", place)
    rows.paint("b", place)
    rows.paint("a", QRect(0, 0, 80, 20))
    rows.paint("a", place, light=True)
    assert rows.image.pixelColor(95, 10).name() == _LIGHT.css("panel")
    rows.paint("a", place, mirrored=True)
    assert rows.count == 5
    rows.paint("a", place)
    assert rows.count == 5


def test_between_pixels_rows_are_drawn_and_not_kept(qapp: QApplication) -> None:
    rows = _Rows(1.25)
    for _ in range(2):
        assert rows.paint("a", QRect(0, 0, 80, 20)) == "#ff0000"
    assert rows.count == 2


def test_twice_as_many_pixels_are_all_drawn(qapp: QApplication) -> None:
    rows = _Rows(2.0)
    assert rows.paint("a", QRect(0, 0, 50, 20)) == "#ff0000"
    assert rows.image.pixelColor(79, 39).name() == "#ff0000"
    assert rows.image.pixelColor(81, 39).name() == _DARK.css("panel")

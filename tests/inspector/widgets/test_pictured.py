"""Widgets of the panel that keep a picture of themselves."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.ui.theme import ThemeManager
from inspector.widgets.pictured import Pictured, ground_of

Show = Callable[[QWidget, int], None]


class _Line(Pictured):
    """Draws a colour over half of its width, and counts."""

    def __init__(self, themes: ThemeManager, parent: QWidget) -> None:
        super().__init__(themes, parent)
        self.colour = QColor("red")
        self.count = 0
        self.setFixedHeight(20)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def draw(self, painter: QPainter) -> None:
        self.count += 1
        painter.fillRect(0, 0, self.width() // 2, self.height(), self.colour)


def _line(themes: ThemeManager, show: Show, ground: str | None) -> tuple[QWidget, _Line]:
    above = QWidget()
    if ground is not None:
        above.ground = ground  # type: ignore[attr-defined]
    within = QWidget(above)
    line = _Line(themes, within)
    for outer, inner in ((above, within), (within, line)):
        column = QVBoxLayout(outer)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(inner)
    show(above, 200)
    above.repaint()
    line.count = 0
    return above, line


def _colours(widget: QWidget) -> tuple[str, str]:
    image: QImage = widget.grab().toImage()
    middle = image.height() // 2
    return (
        image.pixelColor(2, middle).name(),
        image.pixelColor(image.width() - 3, middle).name(),
    )


def test_what_is_as_before_is_not_drawn_again(themes: ThemeManager, show: Show) -> None:
    above, line = _line(themes, show, "panel")
    for _ in range(3):
        above.repaint()
    assert line.count == 0
    assert _colours(line) == ("#ff0000", themes.theme.css("panel"))


def test_an_update_draws_anew(themes: ThemeManager, show: Show) -> None:
    _, line = _line(themes, show, "panel")
    line.colour = QColor("blue")
    line.update()
    assert _colours(line)[0] == "#0000ff"
    assert line.count == 1


def test_what_changes_each_time_is_drawn_once_each_time(themes: ThemeManager, show: Show) -> None:
    above, line = _line(themes, show, "panel")
    for count in range(1, 4):
        line.update()
        above.repaint()
        assert line.count == count


def test_another_size_draws_anew(themes: ThemeManager, show: Show) -> None:
    above, line = _line(themes, show, "panel")
    above.resize(300, above.height())
    above.repaint()
    assert line.count == 1
    assert line.width() == 300
    assert _colours(line) == ("#ff0000", themes.theme.css("panel"))


def test_another_theme_and_being_disabled_draw_anew(themes: ThemeManager, show: Show) -> None:
    _, line = _line(themes, show, "panel")
    themes.set_mode("light")
    _colours(line)
    assert line.count >= 1
    assert _colours(line)[1] == themes.theme.css("panel")
    line.count = 0
    line.setEnabled(False)
    _colours(line)
    assert line.count == 1


def test_where_the_ground_is_not_known_nothing_is_kept(themes: ThemeManager, show: Show) -> None:
    above, line = _line(themes, show, None)
    for _ in range(2):
        above.repaint()
    assert line.count == 2


def test_the_nearest_ancestor_tells_the_ground(themes: ThemeManager, show: Show) -> None:
    above, line = _line(themes, show, "panel")
    assert ground_of(line) == "panel"
    within = line.parentWidget()
    assert within is not None
    within.ground = ""  # type: ignore[attr-defined]
    assert ground_of(line) == ""
    assert ground_of(above) == ""

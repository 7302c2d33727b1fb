from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from app.ui.transcript.formula import Drawing, FormulaService, formula_pixmap


@pytest.fixture
def service(qtbot: QtBot) -> Iterator[FormulaService]:
    made = FormulaService()
    yield made
    made.close()


def _drawn(qtbot: QtBot, service: FormulaService, latex: str) -> Drawing | str:
    found = service.lookup(latex, display=False)
    if found == "pending":
        with qtbot.waitSignal(service.ready):
            pass
        found = service.lookup(latex, display=False)
    return found


def test_formula_is_drawn_in_the_background_and_kept(qtbot: QtBot, service: FormulaService) -> None:
    assert service.lookup("x^2", display=False) == "pending"
    drawing = _drawn(qtbot, service, "x^2")
    assert isinstance(drawing, Drawing)
    assert 0.5 < drawing.width < 3
    assert drawing.ascent > drawing.descent
    assert service.lookup("x^2", display=False) is drawing


def test_fractions_reach_below_the_baseline(qtbot: QtBot, service: FormulaService) -> None:
    drawing = _drawn(qtbot, service, r"\frac{a}{b}")
    assert isinstance(drawing, Drawing)
    assert drawing.descent > 0.2


@pytest.mark.parametrize(
    "latex",
    ["x" * 5000, "{" * 200 + "}" * 200, r"\frac{a", r"\begin{pmatrix}", r"\hspace{9999999em}"],
)
def test_what_cannot_be_drawn_is_said(qtbot: QtBot, service: FormulaService, latex: str) -> None:
    found = _drawn(qtbot, service, latex)
    # A renderer may make something of a broken formula; it is then small, never a huge picture.
    assert found == "failed" or (isinstance(found, Drawing) and found.width <= 200)


def test_long_and_deep_formulas_are_not_even_tried(service: FormulaService) -> None:
    assert service.lookup("x" * 5000, display=False) == "failed"
    assert service.lookup("{" * 200 + "}" * 200, display=False) == "failed"


def test_picture_has_the_colour_and_the_pixels_of_the_screen(
    qtbot: QtBot, service: FormulaService
) -> None:
    drawing = _drawn(qtbot, service, "L")
    assert isinstance(drawing, Drawing)
    pixmap = formula_pixmap(drawing, 20, QColor("#ff0000"), 2.0)
    assert pixmap.devicePixelRatio() == 2.0
    image = pixmap.toImage()
    solid = [
        image.pixelColor(x, y)
        for x in range(image.width())
        for y in range(image.height())
        if image.pixelColor(x, y).alpha() > 250
    ]
    assert solid
    assert {colour.name() for colour in solid} == {"#ff0000"}


def test_closed_service_draws_nothing_more(service: FormulaService) -> None:
    service.close()
    assert service.lookup("y^2", display=True) == "failed"

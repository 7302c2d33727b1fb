"""Numbers as people type them, and the slider on which each doubling is as long."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.ui.fields import DecimalField, PlainChoice
from app.ui.planner.fields import CountField, Field, LogSlider, parse_count
from app.ui.theme import ThemeManager


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("32768", 32_768),
        ("32,768", 32_768),
        ("32.768", 32_768),
        ("32 768", 32_768),
        ("32K", 32_768),
        ("32k", 32_768),
        ("1M", 1 << 20),
        ("1.5K", 1536),
        ("1,5k", 1536),
        ("0", 0),
        ("", None),
        ("K", None),
        ("many", None),
        ("-3", None),
        ("9" * 40, None),
    ],
)
def test_counts_are_read_as_people_type_them(text: str, count: int | None) -> None:
    assert parse_count(text) == count


def test_a_field_takes_thousands_and_keeps_its_limits(qtbot: QtBot) -> None:
    field = CountField(256, 100_000, 1024)
    qtbot.addWidget(field)
    said: list[int] = []
    field.valueChanged.connect(said.append)
    for text, value in (("16K", 16_384), ("8,192", 8192), ("9M", 100_000), ("1", 256)):
        field.selectAll()
        QTest.keyClicks(field, text)
        QTest.keyClick(field, Qt.Key.Key_Return)
        assert field.value() == value
    assert field.text() == "256"
    assert said == [16_384, 8192, 100_000, 256]
    QTest.keyClick(field, Qt.Key.Key_Up)
    assert field.value() == 1280


def test_letters_are_not_let_in(qtbot: QtBot) -> None:
    field = CountField(1, 100)
    qtbot.addWidget(field)
    field.selectAll()
    QTest.keyClicks(field, "4x2")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert field.value() == 42


def test_what_is_not_taken_is_said_beside_the_field(qtbot: QtBot, themes: ThemeManager) -> None:
    field = CountField(256, 4_194_304, 1024)
    whole = Field(themes, "Context, tokens", field)
    qtbot.addWidget(whole)

    def typed(keys: str) -> str:
        field.selectAll()
        QTest.keyClicks(field, keys)
        return whole._label.text()

    assert typed("abc") == "A whole number"
    assert field.accessibleDescription() == "A whole number"
    assert typed("3") == "Context, tokens"  # the beginning of 32K
    assert typed("32K") == "Context, tokens"
    for keys in ("99999999999", "9" * 15, "5M"):
        assert typed(keys) == "At most 4,194,304"
        QTest.keyClick(field, Qt.Key.Key_Return)
        assert whole._label.text() == "At most 4,194,304"  # still, beside the limit itself
        assert field.value() == 4_194_304
        field.stepDown()
        assert whole._label.text() == "Context, tokens"
    assert typed("12") == "Context, tokens"
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert (whole._label.text(), field.value()) == ("At least 256", 256)
    typed("8,192")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert (whole._label.text(), field.value()) == ("Context, tokens", 8192)
    assert field.accessibleDescription() == ""


def test_the_slider_doubles_evenly(qtbot: QtBot) -> None:
    slider = LogSlider(256, 131_072, 256)
    qtbot.addWidget(slider)
    assert slider.count_at(0) == 256
    assert slider.count_at(slider.maximum()) == 131_072
    middle = slider.maximum() // 2
    assert slider.count_at(middle + 8) == pytest.approx(2 * slider.count_at(middle), rel=0.1)
    moved: list[int] = []
    slider.moved.connect(moved.append)
    slider.set_count(32_768)
    assert moved == []
    assert slider.count_at(slider.value()) == 32_768
    slider.setValue(slider.value() + 8)
    assert moved == [65_536]


def test_limits_of_the_slider_keep_its_value(qtbot: QtBot) -> None:
    slider = LogSlider(256, 131_072, 256)
    qtbot.addWidget(slider)
    slider.set_count(8192)
    slider.set_limits(256, 40_960)
    assert slider.count_at(slider.value()) == 8192
    assert slider.count_at(slider.maximum()) == 40_960
    slider.set_count(100_000)
    assert slider.value() == slider.maximum()


def test_the_wheel_belongs_to_the_page(qtbot: QtBot) -> None:
    field, slider, choice = CountField(1, 100), LogSlider(1, 100), PlainChoice()
    decimal = DecimalField()
    decimal.setRange(-5, 5)
    choice.addItems(["a", "b"])
    for widget in (field, slider, choice, decimal):
        qtbot.addWidget(widget)
        event = QWheelEvent(
            QPointF(2, 2), QPointF(2, 2), QPoint(0, 0), QPoint(0, -120),
            Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(widget, event)
        assert not event.isAccepted()
    assert (field.value(), slider.value(), choice.currentIndex()) == (1, 0, 0)
    assert decimal.value() == 0


@pytest.mark.parametrize("text", ["all", "ALL", "all 33", " all "])
def test_words_that_stand_for_a_value_can_be_typed(qtbot: QtBot, text: str) -> None:
    field = CountField(-1, 33)
    qtbot.addWidget(field)
    field.setSpecialValueText("all 33")
    field.setValue(7)
    said: list[str] = []
    field.refused.connect(said.append)
    field.selectAll()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert field.value() == -1
    assert field.text() == "all 33"
    assert set(said) <= {""}

from __future__ import annotations

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.ui.elide import ElidedButton, ElidedLabel
from app.ui.theme import ThemeManager


def test_a_long_text_is_shortened_and_whole_in_the_tooltip(qtbot: QtBot) -> None:
    text = "a name that is much too long for so small a place"
    label = ElidedLabel(text, None, Qt.TextElideMode.ElideMiddle)
    qtbot.addWidget(label)
    label.resize(80, 20)
    label.show()
    assert label.is_elided()
    assert label.toolTip() == text
    assert label.minimumSizeHint().width() < label.sizeHint().width()
    label.set_hint("more about it")
    assert label.toolTip() == f"{text}\nmore about it"
    label.resize(2000, 20)
    assert not label.is_elided()
    assert label.toolTip() == "more about it"


def test_fewer_words_stand_in_where_they_fit(qtbot: QtBot) -> None:
    label = ElidedLabel("Draft 21 tokens · context after sending 1 %")
    qtbot.addWidget(label)
    label.set_short("21 tokens · then 1 %", "", "then 1 %")
    label.show()
    label.resize(2000, 20)
    assert label.shown_text() == label.text()
    metrics = label.fontMetrics()
    label.resize(metrics.horizontalAdvance("21 tokens · then 1 %") + 2, 20)
    assert label.shown_text() == "21 tokens · then 1 %"
    assert label.toolTip() == "Draft 21 tokens · context after sending 1 %"
    label.resize(metrics.horizontalAdvance("21 tokens · then 1 %") - 2, 20)
    assert label.shown_text() == "then 1 %"
    label.resize(metrics.horizontalAdvance("then"), 20)
    assert label.shown_text().endswith("…")


def test_line_breaks_become_spaces_and_markup_stays_text(qtbot: QtBot) -> None:
    label = ElidedLabel("one\ntwo  <b>three</b>")
    qtbot.addWidget(label)
    assert label.text() == "one two <b>three</b>"
    assert label.textFormat() == Qt.TextFormat.PlainText


def test_a_button_with_many_words_is_shortened_and_whole_in_the_tooltip(qtbot: QtBot) -> None:
    themes = ThemeManager("dark")
    text = "Temperature 0 · seed 1 · 128 tokens · context 4,096"
    button = ElidedButton(text, None, "Change it")
    button.setProperty("kind", "flat")
    qtbot.addWidget(button)
    button.resize(button.sizeHint())
    button.show()
    assert not button.is_elided()
    assert button.toolTip() == "Change it"
    button.resize(120, button.height())
    assert button.is_elided()
    assert button.toolTip() == f"{text}\nChange it"
    assert button.minimumSizeHint().width() < 120
    # Shortened at its end, not cut at both: no letter comes near the edges.
    picture = button.grab().toImage()
    ground = picture.pixel(2, 2)
    inked = [
        x
        for x in range(picture.width())
        if any(picture.pixel(x, y) != ground for y in range(3, picture.height() - 3))
    ]
    assert inked[0] >= 5
    assert inked[-1] < picture.width() - 5
    assert button.text() == text
    assert themes.theme.is_dark


def test_figures_keep_their_order_from_right_to_left(qtbot: QtBot) -> None:
    label = ElidedLabel("4.2 GiB")
    qtbot.addWidget(label)
    label.resize(label.sizeHint().width() + 40, label.sizeHint().height())
    label.setAlignment(Qt.AlignmentFlag.AlignRight)
    label.show()
    usual = label.grab().toImage()
    label.setAlignment(Qt.AlignmentFlag.AlignLeft)  # where reading begins
    label.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    assert label.grab().toImage() == usual

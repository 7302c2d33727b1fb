from __future__ import annotations

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.ui.elide import ElidedLabel


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


def test_line_breaks_become_spaces_and_markup_stays_text(qtbot: QtBot) -> None:
    label = ElidedLabel("one\ntwo  <b>three</b>")
    qtbot.addWidget(label)
    assert label.text() == "one two <b>three</b>"
    assert label.textFormat() == Qt.TextFormat.PlainText

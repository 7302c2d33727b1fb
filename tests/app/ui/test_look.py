from __future__ import annotations

from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.ui.look import set_look
from app.ui.theme import ThemeManager


def test_a_look_is_applied_to_a_widget_that_was_drawn(qtbot: QtBot) -> None:
    themes = ThemeManager("dark")
    button = QPushButton(" ")
    qtbot.addWidget(button)
    button.resize(80, 40)

    def middle() -> str:
        return button.grab().toImage().pixelColor(40, 10).name()

    assert middle() == themes.theme.css("raised")
    set_look(button, "kind", "primary")
    assert middle() == themes.theme.css("accent_fill")
    set_look(button, "kind", None)
    assert middle() == themes.theme.css("raised")

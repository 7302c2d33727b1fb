from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.ui.icons import IconKeeper, app_icon, icon, pixmap
from app.ui.theme import ThemeManager, make_theme
from resources.loader import resource_path

NAMES = sorted(path.stem for path in resource_path("icons").glob("*.svg"))


def test_there_are_icons() -> None:
    assert {"plimsoll", "app-icon", "send", "stop", "search"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_icon_draws_something_within_its_size(qtbot: QtBot, name: str) -> None:
    picture = pixmap(name, "#ffffff", 24, ratio=2.0)
    assert picture.size() == QSize(48, 48)
    image = picture.toImage()
    drawn = sum(
        image.pixelColor(x, y).alpha() > 0 for x in range(0, 48, 2) for y in range(0, 48, 2)
    )
    assert drawn > 5
    assert "http-equiv" not in Path(resource_path(f"icons/{name}.svg")).read_text()


def test_an_icon_has_the_colour_of_its_token(qtbot: QtBot) -> None:
    theme = make_theme("dark")
    found = icon("stop", theme, "danger", 16)
    middle = found.pixmap(16).toImage().pixelColor(8, 8)
    assert middle.name() == theme.css("danger")
    disabled = found.pixmap(QSize(16, 16), QIcon.Mode.Disabled).toImage().pixelColor(8, 8)
    assert disabled.name() == theme.css("faint")


def test_a_button_keeps_its_icon_in_the_theme(qtbot: QtBot) -> None:
    themes = ThemeManager("dark")
    button = QPushButton()
    qtbot.addWidget(button)
    keeper = IconKeeper(button, themes, "stop", "ink", 16)
    themes.set_mode("light")
    colour = button.icon().pixmap(16).toImage().pixelColor(8, 8).name()
    assert colour == themes.theme.css("ink")
    themes.set_text_size(200)
    assert button.iconSize() == QSize(32, 32)
    keeper.set_icon("plus", "accent")
    assert button.icon().pixmap(32).toImage().pixelColor(16, 16).name() == themes.theme.css(
        "accent"
    )


def test_the_program_has_an_icon_in_the_usual_sizes(qtbot: QtBot) -> None:
    sizes = {size.width() for size in app_icon().availableSizes()}
    assert {16, 32, 256} <= sizes

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import QRect, Qt, QTimer
from PySide6.QtWidgets import QMenu, QPushButton
from pytestqt.qtbot import QtBot

from app.ui.shell.header import Header
from app.ui.shell.views import ContextUse, HeaderModel
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@pytest.fixture
def header(qtbot: QtBot, themes: ThemeManager) -> Header:
    header = Header(themes)
    qtbot.addWidget(header)
    header.preset.set_presets(("Default", "Precise"), "Default")
    header.resize(1440, 44)
    header.show()
    return header


def test_no_model(header: Header) -> None:
    header.model.set_model(HeaderModel())
    assert header.model._name.text() == "Choose a model"
    assert header.model._quantization.isHidden()
    assert header.model._size.isHidden()
    assert header.model._cancel.isHidden()


def test_a_load_shows_progress_and_can_be_cancelled(qtbot: QtBot, header: Header) -> None:
    header.model.set_model(HeaderModel("loading", "Llama", "Q8_0", 1 << 30, progress=0.42))
    assert header.model._name.text() == "Loading Llama… 42 %"
    cancel = header.model._cancel
    assert cancel.isVisible()
    with qtbot.waitSignal(header.model.cancel_requested):
        cancel.click()
    header.model.set_model(HeaderModel("loading", "Llama"))
    assert header.model._name.text() == "Loading Llama…"


def test_a_loaded_model_shows_its_tags(qtbot: QtBot, header: Header) -> None:
    header.model.set_model(HeaderModel("loaded", "Llama", "Q8_0", 8 << 30, detail="/m/llama.gguf"))
    assert header.model._name.text() == "Llama"
    assert header.model._quantization.text() == "Q8_0"
    assert header.model._size.text() == "8.00 GiB"
    assert header.model.button.toolTip() == "/m/llama.gguf"
    assert header.model._cancel.isHidden()
    with qtbot.waitSignal(header.model.pressed):
        header.model.button.click()


def test_a_lost_engine_is_said(header: Header) -> None:
    header.model.set_model(HeaderModel("lost", "Llama", "Q8_0"))
    assert header.model._mark.isVisible()
    assert "has to be loaded again" in header.model.button.accessibleName()


def test_presets_are_listed_and_chosen(qtbot: QtBot, header: Header) -> None:
    preset = header.preset
    preset.set_presets(("Default", "R&D"), "R&D", changed=True)
    assert preset._label.text() == "Preset: R&D *"
    preset._fill()
    actions = {action.text(): action for action in preset._menu.actions() if action.text()}
    assert actions["R&&D"].isChecked()
    with qtbot.waitSignal(preset.preset_chosen) as chosen:
        actions["Default"].trigger()
    assert chosen.args == ["Default"]
    with qtbot.waitSignal(preset.settings_requested):
        actions["Chat settings…"].trigger()


def test_the_inspector_is_offered_when_there_is_one(qtbot: QtBot, header: Header) -> None:
    assert header._inspector.isHidden()
    header.set_inspector_available(True)
    with qtbot.waitSignal(header.inspector_toggled):
        header._inspector.click()


def test_the_sidebar_is_offered_while_it_is_hidden(qtbot: QtBot, header: Header) -> None:
    header.set_sidebar_shown(True)
    assert header._sidebar.isHidden()
    header.set_sidebar_shown(False)
    with qtbot.waitSignal(header.sidebar_toggled):
        header._sidebar.click()


@pytest.mark.parametrize("percent", [100, 150, 200])
@pytest.mark.parametrize("width", [560, 800, 1024, 1440])
def test_nothing_overlaps_at_any_size(
    qtbot: QtBot, header: Header, themes: ThemeManager, width: int, percent: int
) -> None:
    themes.set_text_size(percent)
    header.set_inspector_available(True)
    header.gauge.set_use(ContextUse(131_072, 131_072))
    header.model.set_model(
        HeaderModel(
            "loaded", "a-model-with-a-name-that-is-much-too-long-for-it", "IQ3_XXS", 41 << 30
        )
    )
    header.resize(width, header.height())
    parts = [
        part
        for part in (header._logo, header.model, header.preset, header.gauge, header._inspector)
        if part.isVisible()
    ]
    qtbot.waitUntil(lambda: header._row.minimumSize().width() <= width)
    for one, other in pairwise(parts):
        assert one.geometry().right() < other.geometry().left(), (one, other)
    assert parts[-1].geometry().right() < width
    for button in (header.model.button, header._inspector):
        assert isinstance(button, QPushButton)
        assert button.width() >= button.minimumSizeHint().width()


def test_what_gave_way_comes_back(header: Header) -> None:
    header.model.set_model(HeaderModel("loaded", "Llama-3.1-8B-Instruct", "Q8_0", 8 << 30))
    header.gauge.set_use(ContextUse(1, 2))
    header.resize(420, header.height())
    assert header._name.isHidden()
    header.resize(1440, header.height())
    assert not header._name.isHidden()
    assert not header.model._size.isHidden()


@pytest.mark.parametrize("width", [1024, 1280])
def test_the_name_stays_readable_when_tags_give_way(
    qtbot: QtBot, header: Header, themes: ThemeManager, width: int
) -> None:
    themes.set_text_size(150)
    header.set_inspector_available(True)
    header.gauge.set_use(ContextUse(4_096, 8_192))
    header.model.set_model(
        HeaderModel("loaded", "Llama-3.1-8B-Instruct-abliterated", "Q4_K_M", 5 << 30)
    )
    header.resize(width, header.height())
    name = header.model._name
    qtbot.waitUntil(lambda: name.width() >= min(name.sizeHint().width(), themes.theme.px(150)))
    assert header._row.minimumSize().width() <= width


def test_the_fit_follows_a_longer_name_without_a_resize(qtbot: QtBot, header: Header) -> None:
    header.gauge.set_use(ContextUse(1, 2))
    header.model.set_model(HeaderModel("loaded", "A", "Q8_0", 8 << 30))
    header.resize(700, header.height())
    qtbot.waitUntil(lambda: not header.model._size.isHidden())
    header.model.set_model(HeaderModel("loaded", "a-much-longer-name-of-a-model", "Q8_0", 8 << 30))
    qtbot.waitUntil(header.model._size.isHidden)
    header.model.set_model(HeaderModel("loaded", "A", "Q8_0", 8 << 30))
    qtbot.waitUntil(lambda: not header.model._size.isHidden())


@pytest.mark.parametrize("direction", list(Qt.LayoutDirection)[:2])
def test_the_menu_lies_over_the_window(
    qtbot: QtBot, themes: ThemeManager, direction: Qt.LayoutDirection
) -> None:
    header = Header(themes)
    qtbot.addWidget(header)
    header.setLayoutDirection(direction)
    header.resize(600, 44)
    header.move(100, 0)
    menu = QMenu(header)
    menu.addAction("A command with a rather long name")
    header.set_menu(menu)
    header.show()
    places: list[QRect] = []

    def look() -> None:
        places.append(menu.geometry())
        menu.close()

    QTimer.singleShot(100, look)
    header._menu.showMenu()  # until it is closed
    window = header.geometry()
    assert window.left() <= places[0].left()
    assert places[0].right() <= window.right() + 1

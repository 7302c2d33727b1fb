from __future__ import annotations

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.ui.main_window import MainWindow
from app.ui.shell.views import (
    ContextUse,
    HeaderModel,
    Notice,
    Segment,
    StatusFacts,
)
from app.ui.theme import ThemeManager
from tests.helpers.patient_bot import until_idle

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


def trigger(window: MainWindow, key: str) -> None:
    window.actions_by_key[key].trigger()


def test_the_window_begins_in_the_composer(window: MainWindow) -> None:
    assert window.chat.composer.edit.hasFocus()
    assert window.page == "chat"


def test_measures_of_the_design(window: MainWindow) -> None:
    assert window.header.height() == 44
    assert window.sidebar.width() == 236
    assert window.status.height() == 26
    window.set_inspector(QLabel("inspector"))
    QApplication.processEvents()
    assert window._slot.width() == 392
    assert window.chat.width() == 1440 - 236 - 392


# --- pages ---


def test_pages_are_added_and_shown(qtbot: QtBot, window: MainWindow) -> None:
    page = QLabel("models")
    window.add_page("models", "Models", "models", page)
    with qtbot.waitSignal(window.page_changed) as changed:
        window.sidebar._pages["models"].click()
    assert changed.args == ["models"]
    assert page.isVisible()
    with pytest.raises(ValueError, match="models"):
        window.add_page("models", "Models", "models", QLabel())
    with pytest.raises(KeyError):
        window.show_page("planner")


@pytest.mark.parametrize("way", ["chat", "new", "hit"])
def test_a_chat_comes_back_on_screen_when_one_is_wanted(window: MainWindow, way: str) -> None:
    window.add_page("models", "Models", "models", QLabel())
    window.show_page("models")
    if way == "chat":
        window.sidebar.chats.chat_selected.emit("c1")
    elif way == "new":
        trigger(window, "new_chat")
    else:
        window.sidebar.hit_selected.emit("c1", "m1")
    assert window.page == "chat"
    assert window.chat.isVisible()
    assert not window.sidebar._pages["models"].isChecked()


def test_the_first_run_page_stands_for_the_chat(window: MainWindow) -> None:
    window.set_first_run(True)
    assert window.first_run.isVisible()
    assert window.page == "chat"
    window.set_first_run(False)
    assert window.chat.isVisible()


# --- columns ---


def test_the_sidebar_can_be_hidden(qtbot: QtBot, window: MainWindow) -> None:
    QTest.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    assert window.sidebar.isHidden()
    assert window.header._sidebar.isVisible()
    assert not window.actions_by_key["sidebar"].isChecked()
    window.header._sidebar.click()
    assert window.sidebar.isVisible()


def test_the_inspector_is_there_when_there_is_one(window: MainWindow) -> None:
    assert not window.actions_by_key["inspector"].isVisible()
    window.toggle_inspector()
    assert window._slot.isHidden()
    inspector = QLabel("inspector")
    window.set_inspector(inspector)
    assert inspector.isVisible()
    trigger(window, "inspector")
    assert not inspector.isVisible()
    window.set_inspector(None)
    assert inspector.parent() is None
    assert window.header._inspector.isHidden()


def test_on_a_narrow_window_the_column_asked_for_last_stays(
    qtbot: QtBot, window: MainWindow
) -> None:
    window.set_inspector(QLabel("inspector"))
    window.resize(900, 700)
    qtbot.waitUntil(window._slot.isHidden)
    assert window.sidebar.isVisible()
    trigger(window, "inspector")
    assert window._slot.isVisible()
    assert window.sidebar.isHidden()
    trigger(window, "sidebar")
    assert window.sidebar.isVisible()
    assert window._slot.isHidden()
    window.resize(1440, 900)
    qtbot.waitUntil(window._slot.isVisible)
    assert window.sidebar.isVisible()


# --- state ---


def test_the_state_of_the_window_is_kept(
    qtbot: QtBot, window: MainWindow, themes: ThemeManager
) -> None:
    window.resize(700, 600)
    window.toggle_sidebar()
    data = window.save_state()
    other = MainWindow(themes)
    qtbot.addWidget(other)
    assert other.restore_state(data)
    other.show()
    assert other.sidebar.isHidden()
    assert (other.width(), other.height()) == (700, 600)
    other.close()


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00\xff", b"[]", b"null", b'{"geometry": 5}', b'{"geometry": "!", "sidebar": 1}'],
)
def test_a_damaged_state_is_ignored(window: MainWindow, data: bytes) -> None:
    assert not window.restore_state(data)
    assert window.sidebar.isVisible()


# --- the whole ---


def test_undo_is_offered_above_the_composer(qtbot: QtBot, window: MainWindow) -> None:
    window.show_undo("“Chat 1” was deleted.", "c1")
    toast = window.toast
    assert toast.isVisible()
    assert toast.geometry().bottom() < window.chat.composer.geometry().top()
    with qtbot.waitSignal(toast.undone) as undone:
        toast.undo_button.click()
    assert undone.args == ["c1"]


def test_a_page_that_undoes_its_own_changes_has_the_key(window: MainWindow) -> None:
    own = QLabel("planner")
    own.undoes_itself = True  # type: ignore[attr-defined]
    window.add_page("planner", "Planner", "planner", own)
    undo = window.actions_by_key["undo"]
    assert not undo.isEnabled()
    window.show_undo("“Chat 1” was deleted.", "c1")
    assert undo.isEnabled()
    window.show_page("planner")
    assert not undo.isEnabled()
    window.show_page("chat")
    assert undo.isEnabled()
    window.toast.undo_last()
    assert not undo.isEnabled()


def _inspector_like() -> QWidget:
    inspector = QWidget()
    column = QVBoxLayout(inspector)
    area = QScrollArea()
    area.setWidgetResizable(True)
    facts = QLabel("memory " * 80)
    facts.setWordWrap(True)
    area.setWidget(facts)
    column.addWidget(QPushButton("Pause"))
    column.addWidget(area)
    return inspector


@pytest.mark.parametrize("percent", [100, 150])
@pytest.mark.parametrize("width", [1440, 1024, 620])
def test_an_idle_window_does_nothing(
    qtbot: QtBot, window: MainWindow, themes: ThemeManager, width: int, percent: int
) -> None:
    flash_ms = QApplication.cursorFlashTime()
    QApplication.setCursorFlashTime(0)  # a blinking caret is painted, as it should be
    try:
        themes.set_text_size(percent)
        window.set_inspector(_inspector_like())
        window.header.gauge.set_use(ContextUse(3_000, 8_192))
        window.header.model.set_model(HeaderModel("loaded", "Llama-3.1-8B", "Q8_0", 8 << 30))
        window.header.preset.set_presets(("Default",), "Default")
        window.status.set_facts(StatusFacts((Segment("12.3 tokens/s"),)))
        window.chat.notices.show_notice(Notice("n", "Said at some length. " * 8, details="more"))
        window.resize(width, 700)
        qtbot.waitUntil(lambda: not themes.is_laying_on)
        until_idle(qtbot, 500)  # which it never is where one thing is followed by another
    finally:
        QApplication.setCursorFlashTime(flash_ms)


def test_no_timer_runs_when_nothing_happens(qtbot: QtBot, window: MainWindow) -> None:
    window.set_generating(True)
    window.set_generating(False)
    qtbot.waitUntil(lambda: not [t for t in window.findChildren(QTimer) if t.isActive()])


@pytest.mark.parametrize("direction", list(Qt.LayoutDirection)[:2])
@pytest.mark.parametrize(
    ("width", "height", "percent"), [(1024, 700, 100), (1024, 700, 200), (560, 420, 100)]
)
def test_the_shell_fits_small_windows_and_large_text(
    qtbot: QtBot,
    window: MainWindow,
    themes: ThemeManager,
    direction: Qt.LayoutDirection,
    width: int,
    height: int,
    percent: int,
) -> None:
    window.setLayoutDirection(direction)
    themes.set_text_size(percent)
    window.set_inspector(QLabel("inspector"))
    window.header.gauge.set_use(ContextUse(1000, 2000))
    window.status.set_facts(
        StatusFacts((Segment("CUDA · a device with a long name " * 3),), (Segment("Engine"),))
    )
    window.resize(width, height)
    assert (window.width(), window.height()) == (width, height)
    qtbot.waitUntil(lambda: 150 < window.chat.composer.width() < width)
    central = window.centralWidget()
    assert central is not None
    for part in (window.header, window.status, window.chat.composer):
        corner = part.mapTo(central, part.rect().bottomRight())
        assert part.isVisible()
        assert 0 <= corner.x() < width
        assert corner.y() < height


def test_columns_give_way_to_a_chat_that_needs_more_room(qtbot: QtBot, window: MainWindow) -> None:
    window.set_inspector(QLabel("inspector"))
    window.resize(1100, 700)
    slot, central = window._slot, window.centralWidget()
    assert central is not None
    qtbot.waitUntil(lambda: slot.isVisible() and window.sidebar.isVisible())

    def is_all_inside() -> bool:
        return central.minimumSizeHint().width() <= window.width() == central.width()

    # As messages come whose rows can't be made more narrow.
    for least_px in (500, 700, 850):
        window.chat.setMinimumWidth(least_px)
        qtbot.waitUntil(lambda: window.chat.width() >= window.chat.minimumWidth())
        qtbot.waitUntil(is_all_inside)
        if slot.isVisible():
            assert slot.mapTo(window, slot.rect().bottomRight()).x() < window.width()
    window.chat.setMinimumWidth(0)
    qtbot.waitUntil(lambda: slot.isVisible() and window.sidebar.isVisible())


def test_a_theme_is_changed_while_the_window_stands(
    qtbot: QtBot, window: MainWindow, themes: ThemeManager
) -> None:
    themes.set_mode("light")
    image = window.grab().toImage()
    assert image.pixelColor(3, 300).name() == themes.theme.css("panel")
    composer = window.chat.composer
    middle = composer.mapTo(window, composer.rect().center())
    assert image.pixelColor(middle).name() == themes.theme.css("raised")

"""The whole window by keyboard, for screen readers, with large text, and from right to left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QPlainTextEdit, QTextEdit, QWidget

from app.ui.planner.fields import LogSlider
from tests.app.engine.conftest import FakeScript
from tests.helpers.access import (
    cut_off,
    described,
    name_of,
    nameless,
    overlapping,
    takes_focus,
    unmarked_focus,
)
from tests.helpers.filled_pages import fill
from tests.helpers.window import Program

# The offscreen platform says so for dialogs and for tooltips of what has the keyboard.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)

Open = Callable[..., Program]
PAGES = ("chat", "models", "get_models", "compare", "planner")
DIALOGS = (
    *("settings", "load_settings", "chat_settings", "about", "keyboard_map"),
    *("machine", "typed_model"),
)
LEFT_TO_RIGHT, RIGHT_TO_LEFT = Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft


@pytest.fixture
def direction(request: pytest.FixtureRequest) -> Iterator[Qt.LayoutDirection]:
    """The reading direction of the program, as a language would set it."""
    wanted = getattr(request, "param", LEFT_TO_RIGHT)
    QApplication.setLayoutDirection(wanted)
    yield wanted
    QApplication.setLayoutDirection(LEFT_TO_RIGHT)


@pytest.fixture
def program(
    direction: Qt.LayoutDirection, open_program: Open, fake_script: FakeScript, model: Path
) -> Program:
    """A window with a reply on screen; the other pages are as at a first start."""
    fake_script(replies=["A reply with `code` and a [link](https://example.org)."])
    made = open_program(model).ready()
    made.app.window.resize(1440, 900)
    made.send("Hello")
    made.answered()
    return made


def _show(program: Program, page: str) -> QWidget:
    window = program.app.window
    if page == "get_models":
        program.app.downloads.show_page()
    else:
        window.show_page(page)
    program.qtbot.wait(100)
    program.until(lambda: not program.app.planner.is_planning)
    program.until(lambda: not program.app.models_page.is_filling)
    _at_rest(program, window)
    return window


def _at_rest(program: Program, window: QWidget) -> None:
    """Wait until nothing moves any more: on a busy computer layouts come late."""
    before: list[object] = []
    for _ in range(60):
        program.qtbot.wait(50)
        now: list[object] = [
            w.geometry().getRect() for w in window.findChildren(QWidget) if w.isVisible()
        ]
        if now == before:
            return
        before = now


def _open(program: Program, dialog: str) -> QDialog:
    before = set(QApplication.topLevelWidgets())
    app = program.app
    openers: dict[str, Callable[[], object]] = {
        "settings": app.preferences.open_settings,
        "load_settings": lambda: app.preferences.open_load_settings(app.models.path or ""),
        "chat_settings": app.window.actions_by_key["chat_settings"].trigger,
        "about": app.preferences.open_about,
        "machine": app.planner.add_machine,
        "typed_model": app.planner.type_model,
        "keyboard_map": app.window.actions_by_key["keyboard_map"].trigger,
    }
    openers[dialog]()
    found: list[QDialog] = []

    def shown() -> bool:
        found[:] = [
            w
            for w in QApplication.topLevelWidgets()
            if w not in before and isinstance(w, QDialog) and w.isVisible()
        ]
        return bool(found)

    program.until(shown)
    return found[0]


def _activate(program: Program, window: QWidget) -> None:
    window.activateWindow()
    program.until(window.isActiveWindow)


def _tab_around(program: Program, window: QWidget, key: Qt.Key) -> tuple[list[QWidget], list[str]]:
    """Press a key until it has come around; return what had the focus, and what never had it."""
    _activate(program, window)
    wanted = list(takes_focus(window))
    reached: list[QWidget] = []
    for _ in range(4 * len(wanted) + 20):
        QTest.keyClick(QApplication.focusWidget() or window, key)
        focus = QApplication.focusWidget()
        if focus is None:
            continue
        if reached and focus is reached[0]:
            # Controls that are shown only beside the keyboard are gone where it is not.
            missed = [w for w in wanted if w not in reached and w in list(takes_focus(window))]
            return reached, [described(widget) for widget in missed]
        reached.append(focus)
    return reached, ["the keyboard does not come around"]


@pytest.mark.parametrize("filled", [False, True], ids=["empty", "filled"])
def test_pages_by_name_and_by_tab(program: Program, filled: bool) -> None:
    """All that takes the keyboard has a name and is reached by Tab, and by Shift+Tab back."""
    if filled:
        fill(program.app)
    faults: dict[str, list[str]] = {}
    for page in PAGES:
        window = _show(program, page)
        faults[f"{page}, names"] = nameless(window)
        there, missed = _tab_around(program, window, Qt.Key.Key_Tab)
        faults[f"{page}, Tab"] = missed
        back, missed = _tab_around(program, window, Qt.Key.Key_Backtab)
        faults[f"{page}, Shift+Tab"] = missed
        assert len(there) > 8
        assert {*map(described, back)} == {*map(described, there)}, page
    assert {name: lines for name, lines in faults.items() if lines} == {}


def test_the_first_page_by_name_and_by_tab_and_with_large_text(
    program: Program,
) -> None:
    """What stands in place of the chat while there is no model."""
    window = program.app.window
    window.set_first_run(True)
    window.resize(1024, 700)
    program.app.themes.set_text_size(200)
    program.qtbot.wait(50)
    assert nameless(window) + cut_off(window) + overlapping(window) == []
    _, missed = _tab_around(program, window, Qt.Key.Key_Tab)
    assert missed == []


def test_tab_follows_what_is_read(program: Program) -> None:
    """Header, chats, pages, conversation with its buttons, composer, then the inspector's cards."""
    window = _show(program, "chat")
    program.app.window.chat.composer.setFocus()
    reached, _ = _tab_around(program, window, Qt.Key.Key_Tab)
    names = [name_of(widget) for widget in reached]
    first = names.index("New chat")
    names = names[first:] + names[:first]
    order = ["New chat", "Search all chats", "Models", "Settings", "Transcript", "Regenerate"]
    order += ["Message", "Attach", "Memory budget", "Speed"]
    places = [next(n for n, name in enumerate(names) if name.startswith(w)) for w in order]
    assert places == sorted(places), names


@pytest.mark.parametrize("dialog", DIALOGS)
def test_dialogs_by_name_and_by_tab(program: Program, dialog: str) -> None:
    shown = _open(program, dialog)
    assert nameless(shown) == []
    _, missed = _tab_around(program, shown, Qt.Key.Key_Tab)
    assert missed == []
    shown.close()


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_keyboard_is_seen_on_every_control(program: Program, theme: str) -> None:
    app = program.app
    app.themes.set_mode(theme)  # type: ignore[arg-type]
    fill(app)
    flash_ms = QApplication.cursorFlashTime()
    QApplication.setCursorFlashTime(0)  # a caret is always there
    faults: dict[str, list[str]] = {}
    for page in PAGES:
        window = _show(program, page)
        _activate(program, window)
        faults[page] = unmarked_focus(window)
    for dialog in DIALOGS:
        shown = _open(program, dialog)
        _activate(program, shown)
        faults[dialog] = unmarked_focus(shown)
        shown.close()
    QApplication.setCursorFlashTime(flash_ms)
    assert {name: lines for name, lines in faults.items() if lines} == {}


@pytest.mark.parametrize("percent", [100, 200])
@pytest.mark.parametrize(
    "direction", [LEFT_TO_RIGHT, RIGHT_TO_LEFT], indirect=True, ids=["ltr", "rtl"]
)
def test_no_words_are_cut_off_on_a_small_window(program: Program, percent: int) -> None:
    app = program.app
    app.window.resize(1024, 700)
    app.themes.set_text_size(percent)
    faults: dict[str, list[str]] = {}
    for state in ("empty", "filled"):
        if state == "filled":
            fill(app)
        for page in PAGES:
            window = _show(program, page)
            assert (window.width(), window.height()) == (1024, 700), page
            faults[f"{page}, {state}"] = cut_off(window) + overlapping(window)
    assert {name: lines for name, lines in faults.items() if lines} == {}


@pytest.mark.parametrize("dialog", DIALOGS)
def test_dialogs_fit_a_small_screen_with_large_text(program: Program, dialog: str) -> None:
    program.app.window.resize(1024, 700)
    program.app.themes.set_text_size(200)
    shown = _open(program, dialog)
    # As large as fits a screen of 1024 by 700 with the window manager's frame.
    shown.resize(min(shown.width(), 1000), min(shown.height(), 660))
    program.qtbot.wait(50)
    assert shown.width() <= 1000
    assert shown.height() <= 660
    assert cut_off(shown) + overlapping(shown) == []
    shown.close()


def test_scroll_areas_are_left_by_tab(program: Program) -> None:
    """A text that swallows Tab is a trap for those who have only a keyboard."""
    fill(program.app)
    traps = [
        f"{page}: {described(widget)}"
        for page in PAGES
        for widget in takes_focus(_show(program, page))
        if isinstance(widget, QPlainTextEdit | QTextEdit) and not widget.tabChangesFocus()
    ]
    assert not traps


@pytest.mark.parametrize("direction", [LEFT_TO_RIGHT, RIGHT_TO_LEFT], indirect=True)
def test_sliders_fill_from_where_reading_begins(
    program: Program, direction: Qt.LayoutDirection
) -> None:
    _show(program, "planner")
    theme = program.app.themes.theme
    for slider in program.app.planner.page.findChildren(LogSlider):
        slider.setValue(slider.maximum() // 4)
        picture = slider.grab().toImage()
        ratio, middle = picture.devicePixelRatio(), picture.height() // 2
        inset = round(theme.px(10) * ratio)
        left = picture.pixelColor(inset, middle).name()
        right = picture.pixelColor(picture.width() - 1 - inset, middle).name()
        ends = (left, right) if direction == LEFT_TO_RIGHT else (right, left)
        assert ends == (theme.css("accent"), theme.css("well"))

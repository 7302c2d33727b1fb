"""The whole window by keyboard and for screen readers: names, tab order, nothing cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QFontMetrics
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollBar,
    QWidget,
)

from tests.app.engine.conftest import FakeScript
from tests.helpers.window import Program

Open = Callable[..., Program]
PAGES = ("chat", "models", "get_models", "compare", "planner")
DIALOGS = ("settings", "load_settings", "chat_settings", "about", "keyboard_map")


@pytest.fixture
def program(open_program: Open, fake_script: FakeScript, model: Path) -> Program:
    fake_script(replies=["A reply with `code` and a [link](https://example.org)."])
    made = open_program(model).ready()
    made.app.window.resize(1440, 900)
    made.send("Hello")
    made.answered()
    return made


def _show(program: Program, page: str) -> None:
    window = program.app.window
    if page == "get_models":
        program.app.downloads.show_page()
    else:
        window.show_page(page)
    program.qtbot.wait(200)


def _open(program: Program, dialog: str) -> QDialog:
    before = set(QApplication.topLevelWidgets())
    app = program.app
    openers: dict[str, Callable[[], object]] = {
        "settings": app.preferences.open_settings,
        "load_settings": lambda: app.preferences.open_load_settings(app.models.path or ""),
        "chat_settings": app.window.actions_by_key["chat_settings"].trigger,
        "about": app.preferences.open_about,
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


def _takes_focus(root: QWidget) -> Iterator[QWidget]:
    """Yield what the keyboard can reach below a widget."""
    for widget in root.findChildren(QWidget):
        if (
            widget.isVisible()
            and widget.isEnabled()
            and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
            and not isinstance(widget, QScrollBar)
            and not isinstance(widget.parent(), QAbstractSpinBox | QComboBox)
        ):
            yield widget


def _name(widget: QWidget) -> str:
    interface = QAccessible.queryAccessibleInterface(widget)
    text = interface.text(QAccessible.Text.Name).strip()
    if not text and isinstance(widget, QLineEdit):
        text = widget.placeholderText()
    return text


def _nameless(root: QWidget) -> list[str]:
    return [
        f"{type(widget).__name__} {widget.objectName()} in {type(widget.parent()).__name__}"
        for widget in _takes_focus(root)
        if not _name(widget)
    ]


@pytest.mark.parametrize("page", PAGES)
def test_everything_that_takes_the_keyboard_has_a_name(program: Program, page: str) -> None:
    _show(program, page)
    assert _nameless(program.app.window) == []


@pytest.mark.parametrize("dialog", DIALOGS)
def test_everything_in_a_dialog_has_a_name(program: Program, dialog: str) -> None:
    shown = _open(program, dialog)
    assert _nameless(shown) == []
    shown.close()


@pytest.mark.parametrize("page", PAGES)
def test_tab_reaches_all_of_a_page_and_comes_around(program: Program, page: str) -> None:
    window = program.app.window
    _show(program, page)
    window.activateWindow()
    QTest.qWait(50)
    wanted = {id(w) for w in _takes_focus(window) if w.window() is window}
    reached: set[int] = set()
    first = None
    for _ in range(4 * len(wanted) + 20):
        QTest.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_Tab)
        focus = QApplication.focusWidget()
        if focus is None:
            continue
        if first is None:
            first = focus
        elif focus is first and len(reached) > 1:
            break
        reached.add(id(focus))
    assert first is not None
    names = {
        f"{type(w).__name__} {_name(w)!r}"
        for w in _takes_focus(window)
        if id(w) in wanted - reached and w.isVisible()
    }
    assert not names


def _cut(root: QWidget) -> list[str]:
    """Return labels and buttons that are too narrow or too low for their words."""
    found = []
    for widget in root.findChildren(QWidget):
        if not widget.isVisible() or widget.visibleRegion().isEmpty():
            continue
        if isinstance(widget, QPushButton) and widget.text():
            needed = QFontMetrics(widget.font()).horizontalAdvance(widget.text().replace("&", ""))
            if widget.width() < needed:
                found.append(f"button {widget.text()!r}: {widget.width()} of {needed}")
        elif type(widget) is QLabel and widget.text() and widget.pixmap().isNull():
            if widget.wordWrap():
                needed = widget.heightForWidth(widget.width())
                if widget.height() < needed - 2:
                    found.append(f"label {widget.text()[:40]!r}: {widget.height()} of {needed}")
            elif widget.width() < widget.minimumSizeHint().width() - 1:
                found.append(f"label {widget.text()[:40]!r}: {widget.width()} wide")
    return found


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("percent", [100, 200])
def test_no_words_are_cut_off(program: Program, page: str, percent: int) -> None:
    app = program.app
    app.window.resize(1024, 700)
    app.themes.set_text_size(percent)
    _show(program, page)
    QTest.qWait(100)
    assert app.window.width() <= 1024
    assert app.window.height() <= 700
    assert _cut(app.window) == []


@pytest.mark.parametrize("dialog", ["settings", "load_settings", "chat_settings"])
def test_dialogs_fit_a_small_screen_with_large_text(program: Program, dialog: str) -> None:
    program.app.themes.set_text_size(200)
    shown = _open(program, dialog)
    QTest.qWait(50)
    assert _cut(shown) == []
    shown.close()


def test_scroll_areas_are_left_by_tab(program: Program) -> None:
    """A text that swallows Tab is a trap for those who have only a keyboard."""
    traps = []
    for page in PAGES:
        _show(program, page)
        for widget in _takes_focus(program.app.window):
            if isinstance(widget, QAbstractScrollArea) and hasattr(widget, "tabChangesFocus"):
                if not widget.tabChangesFocus():
                    traps.append(f"{page}: {type(widget).__name__} {_name(widget)!r}")
            elif isinstance(widget, QAbstractButton):
                assert widget.focusPolicy() != Qt.FocusPolicy.NoFocus
    assert not traps

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from app.ui.page_head import PageHead
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@pytest.fixture
def page(qtbot: QtBot) -> QWidget:
    page = QWidget()
    qtbot.addWidget(page)
    return page


def _head(page: QWidget, themes: ThemeManager) -> tuple[PageHead, list[QPushButton]]:
    buttons = [QPushButton(text, page) for text in ("Examples", "Add machine", "Save report")]
    head = PageHead(themes, "Planner", buttons, page)
    page.show()
    return head, buttons


@pytest.mark.parametrize(("width", "percent"), [(900, 100), (420, 100), (600, 200), (320, 200)])
def test_buttons_are_whole_at_any_width(
    qtbot: QtBot, page: QWidget, width: int, percent: int
) -> None:
    themes = ThemeManager("dark", percent)
    head, buttons = _head(page, themes)
    head.set_tag("What fits, how fast, and what breaks first")
    head.resize(width, head.sizeHint().height())
    head.show()
    qtbot.waitUntil(lambda: head._title.width() >= head._title.sizeHint().width())
    head.resize(width, head.sizeHint().height())
    for button in buttons:
        assert button.width() >= button.sizeHint().width()
        place = button.rect().translated(button.mapTo(head, button.rect().topLeft()))
        assert head.rect().contains(place), (button.text(), place, head.rect())
    under = head._title.mapTo(head, head._title.rect().bottomLeft()).y()
    beside = all(b.mapTo(head, b.rect().topLeft()).y() < under for b in buttons)
    assert beside is (width == 900)


def test_a_slogan_is_shown_whole_or_not_at_all(qtbot: QtBot, page: QWidget) -> None:
    head, _ = _head(page, ThemeManager("dark"))
    slogan = "What fits, how fast, and what breaks first"
    head.set_tag(slogan, only_whole=True)
    head.resize(1200, 60)
    assert head._tag.isVisibleTo(head)
    head.resize(640, 60)
    assert not head._tag.isVisibleTo(head)
    # A name may be shortened: its tooltip has all of it.
    head.set_tag(slogan)
    assert head._tag.isVisibleTo(head)
    head.set_tag("")
    assert not head._tag.isVisibleTo(head)


def test_what_was_said_is_kept(page: QWidget, qtbot: QtBot) -> None:
    head, _ = _head(page, ThemeManager("dark"))
    head.say("Saved.")
    head.set_tag("8B")
    assert (head.said(), head.tag()) == ("Saved.", "8B")


def test_all_heads_are_equally_high(qtbot: QtBot, page: QWidget) -> None:
    """Pages do not jump, whatever their buttons are."""
    themes = ThemeManager("dark")
    back, more = QToolButton(page), QToolButton(page)
    heads = [
        PageHead(themes, "Models", [QPushButton("Add", page)], page),
        PageHead(themes, "Get models", [more], page, back),
        PageHead(themes, "Nothing", [], page),
    ]
    page.show()
    for head in heads:
        head.resize(600, 60)
        head.show()
    qtbot.waitUntil(lambda: len({head.sizeHint().height() for head in heads}) == 1)
    assert back.mapTo(heads[1], back.rect().topLeft()).x() < heads[1]._title.x()

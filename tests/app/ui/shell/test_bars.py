from __future__ import annotations

import pytest
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from app.ui.shell.bars import Bar, NoticeArea, OverflowBar
from app.ui.shell.views import Choice, Notice, Overflow
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)

CHOICES = (Choice("reload", "Load again", "primary"), Choice("less", "Fewer layers"))


def test_a_bar_offers_its_choices(qtbot: QtBot, themes: ThemeManager) -> None:
    bar = Bar(themes, "error", "It <b>stopped</b>.", CHOICES)
    qtbot.addWidget(bar)
    chosen: list[str] = []
    bar.chosen.connect(chosen.append)
    assert bar.text == "It <b>stopped</b>."
    assert [button.text() for button in bar.buttons()] == ["Load again", "Fewer layers"]
    for button in bar.buttons():
        button.click()
    assert chosen == ["reload", "less"]


def test_details_unfold(qtbot: QtBot, themes: ThemeManager) -> None:
    bar = Bar(themes, "error", "It stopped.", CHOICES, details="last\nlines")
    qtbot.addWidget(bar)
    bar.show()
    assert not bar._details.isVisible()
    bar._unfold.click()
    assert bar._details.isVisible()
    assert bar._details.toPlainText() == "last\nlines"
    bar._unfold.click()
    assert not bar._details.isVisible()


def test_a_bar_without_buttons_has_no_empty_row(qtbot: QtBot, themes: ThemeManager) -> None:
    bare, full = Bar(themes, "info", "Said."), Bar(themes, "info", "Said.", CHOICES)
    for bar in (bare, full):
        qtbot.addWidget(bar)
        bar.resize(500, 100)
        bar.show()
    assert bare.heightForWidth(500) < full.heightForWidth(500)


def test_notices_of_one_key_replace_each_other(qtbot: QtBot, themes: ThemeManager) -> None:
    area = NoticeArea(themes)
    qtbot.addWidget(area)
    shown: list[bool] = []
    area.shown_changed.connect(shown.append)
    area.show_notice(Notice("crash", "first"))
    area.show_notice(Notice("crash", "second"))
    assert area.notices() == ["crash"]
    assert area.bar("crash").text == "second"
    area.remove_notice("crash")
    area.remove_notice("crash")
    assert area.notices() == []
    assert shown == [True, True, False, False]


def test_the_oldest_notice_gives_way(qtbot: QtBot, themes: ThemeManager) -> None:
    area = NoticeArea(themes)
    qtbot.addWidget(area)
    for number in range(NoticeArea.MOST + 1):
        area.show_notice(Notice(f"n{number}", "text"))
    assert area.notices() == ["n1", "n2", "n3"]
    area.clear()
    assert area.notices() == []


def test_a_notice_says_what_was_chosen_and_can_be_closed(
    qtbot: QtBot, themes: ThemeManager
) -> None:
    area = NoticeArea(themes)
    qtbot.addWidget(area)
    area.show_notice(Notice("crash", "It stopped.", "error", choices=CHOICES))
    with qtbot.waitSignal(area.chosen) as chosen:
        area.bar("crash").buttons()[1].click()
    assert chosen.args == ["crash", "less"]
    cross = area.bar("crash").findChild(QToolButton)
    assert isinstance(cross, QToolButton)
    with qtbot.waitSignal(area.closed) as closed:
        cross.click()
    assert closed.args == ["crash"]
    assert area.notices() == []
    area.show_notice(Notice("stays", "Still true.", closable=False))
    assert area.bar("stays").findChild(QToolButton) is None


def test_overflow_is_shown_until_it_is_over(qtbot: QtBot, themes: ThemeManager) -> None:
    bar = OverflowBar(themes)
    qtbot.addWidget(bar)
    chosen: list[str] = []
    shown: list[bool] = []
    bar.chosen.connect(chosen.append)
    bar.shown_changed.connect(shown.append)
    overflow = Overflow("Too long by 642 tokens.", CHOICES)
    bar.set_overflow(overflow)
    first = bar.bar
    bar.set_overflow(Overflow("Too long by 642 tokens.", CHOICES))  # the same: not rebuilt
    assert bar.bar is first
    assert first is not None
    first.buttons()[0].click()
    bar.set_overflow(None)
    assert bar.bar is None
    assert (chosen, shown) == (["reload"], [True, False])


def test_what_is_done_with_goes_by_itself(
    qtbot: QtBot, themes: ThemeManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NoticeArea, "PASSING_MS", 30)
    area = NoticeArea(themes)
    qtbot.addWidget(area)
    area.show_notice(Notice("failed", "It failed.", "error"))
    area.show_notice(Notice("transfer", "1 chat was added.", passing=True))
    area.show_notice(Notice("fix", "Measured.", passing=True))
    area.show_notice(Notice("fix", "It could not be measured.", "warning"))  # this one stays
    assert area.notices() == ["failed", "transfer", "fix"]
    qtbot.waitUntil(lambda: area.notices() == ["failed", "fix"])
    qtbot.wait(90)
    assert area.notices() == ["failed", "fix"]
    monkeypatch.setattr(NoticeArea, "PASSING_MS", 60_000)
    area.show_notice(Notice("transfer", "1 chat was added.", passing=True))
    area.clear_passing()
    assert area.notices() == ["failed", "fix"]

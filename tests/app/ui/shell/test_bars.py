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


def test_details_unfold_at_their_end(qtbot: QtBot, themes: ThemeManager) -> None:
    details = "\n".join(f"line {number}" for number in range(90))
    bar = Bar(themes, "error", "It stopped.", CHOICES, details=details)
    qtbot.addWidget(bar)
    bar.resize(500, 300)
    bar.show()
    bar._unfold.click()
    scroll = bar._details.verticalScrollBar()
    qtbot.waitUntil(lambda: 0 < scroll.maximum() == scroll.value())


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


def _seen(area: NoticeArea) -> list[str]:
    """Return the texts of the bars that are not hidden, from the top."""
    bars = [area.bar(key) for key in area.notices() if not area.bar(key).isHidden()]
    return [bar.text for bar in sorted(bars, key=lambda bar: bar.y())]


def test_one_notice_is_seen_and_a_way_to_the_others(qtbot: QtBot, themes: ThemeManager) -> None:
    area = NoticeArea(themes)
    qtbot.addWidget(area)
    area.resize(600, 400)
    area.show()
    layout = area.layout()
    assert layout is not None
    area.show_notice(Notice("crash", "It stopped.", "error"))
    assert (_seen(area), area.bar("crash").others) == (["It stopped."], "")
    alone = layout.totalHeightForWidth(600)
    area.show_notice(Notice("tuned", "Measured."))
    area.show_notice(Notice("odd", "A file is odd.", "warning"))
    assert (_seen(area), area.bar("crash").others) == (["It stopped."], "2 more")
    qtbot.waitUntil(lambda: layout.totalHeightForWidth(600) <= alone + 4)
    area.bar("crash")._others.click()
    qtbot.waitUntil(lambda: area.bar("tuned").y() > area.bar("odd").y() > area.bar("crash").y())
    assert _seen(area) == ["It stopped.", "A file is odd.", "Measured."]
    assert [area.bar(key).others for key in area.notices()] == ["Show less", "", ""]
    area.bar("crash")._others.click()
    assert _seen(area) == ["It stopped."]
    area.remove_notice("crash")  # closing one shows the next
    assert (_seen(area), area.bar("odd").others) == (["A file is odd."], "1 more")
    area.remove_notice("odd")
    assert (_seen(area), area.bar("tuned").others) == (["Measured."], "")


def test_what_is_worst_or_passes_stands_in_front(qtbot: QtBot, themes: ThemeManager) -> None:
    area = NoticeArea(themes)
    qtbot.addWidget(area)
    assert area.front == ""
    area.show_notice(Notice("a", "text", "warning"))
    area.show_notice(Notice("b", "text"))
    assert area.front == "a"
    area.show_notice(Notice("c", "text", "warning"))
    assert area.front == "c"
    area.show_notice(Notice("d", "text", passing=True))
    assert area.front == "d"
    area.show_notice(Notice("e", "text", "error"))
    assert area.front == "e"
    area.show_notice(Notice("f", "text", passing=True))
    assert area.front == "f"
    area.clear_passing()
    assert area.front == "e"


def test_a_notice_with_the_keyboard_on_it_stays_in_front(
    qtbot: QtBot, themes: ThemeManager
) -> None:
    area = NoticeArea(themes)
    qtbot.addWidget(area)
    area.show()
    qtbot.waitExposed(area)
    area.show_notice(Notice("asks", "Load again?", choices=CHOICES))
    area.activateWindow()
    button = area.bar("asks").buttons()[0]
    button.setFocus()
    qtbot.waitUntil(button.hasFocus)
    area.show_notice(Notice("crash", "It stopped.", "error"))
    assert area.front == "asks"
    assert not area.bar("asks").isHidden()
    assert area.bar("crash").isHidden()


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


@pytest.mark.parametrize("choices", [(), CHOICES])
def test_a_sentence_has_the_width_whatever_waits_behind_it(
    qtbot: QtBot, themes: ThemeManager, choices: tuple[Choice, ...]
) -> None:
    area = NoticeArea(themes)
    qtbot.addWidget(area)
    area.show_notice(Notice("one", "Said before.", "info", "", choices))
    area.show_notice(Notice("two", "What a narrow window has to wrap. " * 4, "error", "", choices))
    area.resize(354, 400)
    area.show()
    bar = area.bar("two")
    assert bar.others == "1 more"
    margins = bar.width() - bar._text.width()
    alone = Bar(themes, "error", bar.text, choices, closable=True)
    qtbot.addWidget(alone)
    alone.resize(bar.size())
    alone.show()
    assert margins == alone.width() - alone._text.width()
    assert bar._others.mapTo(bar, bar._others.rect().topLeft()).y() >= bar._text.geometry().bottom()
    assert [button.text() for button in bar.buttons()] == [choice.text for choice in choices]
    area.remove_notice("one")
    assert bar.others == ""
    assert bar._buttons.isVisible() == bool(choices)

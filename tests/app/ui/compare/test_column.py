"""A variant's card: streamed text, marked differences, failures."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from app.ui.compare.column import AnswerCard
from app.ui.compare.views import ColumnView
from app.ui.theme import ThemeManager


def card(qtbot: QtBot, themes: ThemeManager) -> AnswerCard:
    made = AnswerCard(themes)
    qtbot.addWidget(made)
    made.resize(320, 260)
    made.show()
    return made


def view(**changes: object) -> ColumnView:
    values = {"key": 0, "label": "Q4_0", "name": "Model", "colour": "weights", "size": "88 MiB"}
    return ColumnView(**(values | changes))  # type: ignore[arg-type]


def marked(shown: AnswerCard) -> list[str]:
    return [
        selection.cursor.selectedText().replace("\u2029", "\n")
        for selection in shown.text.extraSelections()
    ]


def test_streamed_text_takes_the_place_of_what_it_was_doing(
    qtbot: QtBot, themes: ThemeManager
) -> None:
    shown = card(qtbot, themes)
    shown.set_view(view(state="working", doing="Loads."), running=True)
    assert shown.text.toPlainText() == "Loads."
    for piece in ("Red, ", "green ", "and blue."):
        shown.append(piece)
    assert shown.text.toPlainText() == "Red, green and blue."
    # The view that follows holds the same answer and changes nothing.
    cursor = shown.text.textCursor()
    cursor.setPosition(3)
    shown.text.setTextCursor(cursor)
    shown.set_view(view(state="done", answer="Red, green and blue."), running=False)
    assert shown.text.textCursor().position() == 3


def test_differences_are_marked_by_words_and_not_across_empty_lines(
    qtbot: QtBot, themes: ThemeManager
) -> None:
    answer = "One 🎉 two\n\nthree four"
    start = answer.index("two")
    end = answer.index("three") + len("three")
    shown = card(qtbot, themes)
    shown.set_view(view(state="done", answer=answer, differing=((start, end),)), running=False)
    assert marked(shown) == ["two", "three"]
    # Another theme draws the same again.
    themes.set_mode("light")
    assert marked(shown) == ["two", "three"]
    assert shown.text.toPlainText() == answer


def test_failure_is_said_with_what_helps(qtbot: QtBot, themes: ThemeManager) -> None:
    shown = card(qtbot, themes)
    shown.set_view(
        view(state="failed", failure="The engine ended.", advice="Use a smaller context"),
        running=False,
    )
    assert shown.text.toPlainText() == "The engine ended.\nUse a smaller context"
    assert marked(shown) == []


def test_figures_do_not_break_inside(qtbot: QtBot, themes: ThemeManager) -> None:
    shown = card(qtbot, themes)
    figures = (("", "58", "tokens"), ("first token", "0.21", "s"), ("", "90 %", "of ceiling"))
    shown.set_view(view(state="done", answer="x", figures=figures), running=False)
    text = shown._figures.text()
    assert "first&nbsp;token&nbsp;" in text
    assert "90&nbsp;%" in text
    assert "of&nbsp;ceiling" in text


def test_menu_is_for_variants_that_are_not_running(qtbot: QtBot, themes: ThemeManager) -> None:
    shown = card(qtbot, themes)
    shown.set_view(view(is_reference=True), running=False)
    assert not shown._reference.isHidden()
    shown.set_view(view(is_reference=False), running=False)
    assert shown._reference.isHidden()


def test_the_menu_tells_what_measuring_again_does(qtbot: QtBot, themes: ThemeManager) -> None:
    shown = card(qtbot, themes)
    shown.set_view(view(state="done", answer="Red.", can_measure=True), running=False)
    menu = shown.menu()
    assert menu is not None
    assert menu.toolTipsVisible()
    assert [action.text() for action in menu.actions() if action.isEnabled()] == [
        "Hold the others against this one",
        "Measure this one again",
        "Copy the reply",
        "Take out",
    ]
    menu.deleteLater()

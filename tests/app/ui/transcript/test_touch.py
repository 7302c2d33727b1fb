"""Mouse and keyboard: controls, editing, menus, links, selection, names for screen readers."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QMessageBox
from pytestqt.qtbot import QtBot

from app.ui.transcript.code_row import CodeRow
from app.ui.transcript.editor_row import EditorRow
from app.ui.transcript.items import MessageAction, MessageView, NoticeAction
from app.ui.transcript.link_dialog import shown_address
from app.ui.transcript.menu import message_menu
from app.ui.transcript.table_row import TableRow
from app.ui.transcript.text_row import TextRow
from app.ui.transcript.view import Transcript
from tests.helpers.transcript_probe import button, seen, widgets
from tests.helpers.transcript_samples import MATH_ANSWER, figures, gallery

Key = Qt.Key


def _clipboard() -> str:
    return QGuiApplication.clipboard().text()


def _talk() -> list[MessageView]:
    return [
        MessageView("u1", "user", "Question one", version_index=1, version_count=2),
        MessageView("a1", "assistant", "Answer **one**", figures=figures(5)),
        MessageView("u2", "user", "Question two"),
        MessageView("a2", "assistant", "Answer *two*", version_index=0, version_count=3),
    ]


def _buttons(view: Transcript) -> list[str]:
    return [b.accessibleName() for b in widgets(view, QAbstractButton)]


def test_last_reply_always_shows_its_controls(view: Transcript) -> None:
    view.set_messages(_talk())
    names = _buttons(view)
    assert {"Regenerate", "Regenerate with another model", "Edit", "Copy", "Delete"} <= set(names)
    assert names.count("Regenerate") == 1
    view.append_message(MessageView("a3", "assistant", "Answer three"))
    assert _buttons(view).count("Regenerate") == 1


def test_hover_shows_the_controls_of_that_message(qtbot: QtBot, view: Transcript) -> None:
    view.set_messages(_talk())
    top = view._flow.top_of(view._flow.entries[1]) - view._stage.position
    view._navigator.hover(top + 5)
    assert _buttons(view).count("Regenerate") == 2
    view._navigator.hover(None)
    assert _buttons(view).count("Regenerate") == 1


def test_hovering_moves_nothing(view: Transcript) -> None:
    view.set_messages(_talk())
    before = view.content_height()
    for y in range(0, 400, 20):
        view._navigator.hover(y)
        assert view.content_height() == before


def test_controls_ask_for_actions(view: Transcript, actions: list[MessageAction]) -> None:
    view.set_messages(_talk())
    for name in ("Regenerate", "Regenerate with another model", "Next version", "Delete"):
        button(view, name).click()
    assert actions == [
        MessageAction("regenerate", "a2"),
        MessageAction("regenerate_with", "a2"),
        MessageAction("next_version", "a2"),
        MessageAction("delete", "a2"),
    ]
    assert not button(view, "Previous version").isEnabled()


def test_continue_is_offered_when_a_reply_was_cut(
    view: Transcript, actions: list[MessageAction]
) -> None:
    view.set_messages([MessageView("a", "assistant", "Half", state="interrupted")])
    button(view, "Continue").click()
    assert actions == [MessageAction("continue", "a")]


def test_copy_puts_markdown_on_the_clipboard(
    view: Transcript, actions: list[MessageAction]
) -> None:
    view.set_messages(_talk())
    button(view, "Copy").click()
    assert _clipboard() == "Answer *two*"
    assert actions == []


def test_edit_and_save(qtbot: QtBot, view: Transcript, actions: list[MessageAction]) -> None:
    view.set_messages(_talk())
    view.act("edit", "u2")
    (editor,) = widgets(view, EditorRow)
    assert editor.edit.toPlainText() == "Question two"
    assert "Enter sends, Shift+Enter breaks the line" in editor.hint.text()
    editor.edit.setPlainText("Another")
    cursor = editor.edit.textCursor()
    cursor.movePosition(cursor.MoveOperation.End)
    editor.edit.setTextCursor(cursor)
    QTest.keyClick(editor.edit, Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(editor.edit, "question")
    assert actions == []
    QTest.keyClick(editor.edit, Key.Key_Return)
    assert actions == [MessageAction("edit", "u2", "Another\nquestion")]
    assert widgets(view, EditorRow) == []
    assert seen(view, "Question two")


def test_an_edit_ends_with_the_key_that_sends_a_draft(
    qtbot: QtBot, view: Transcript, actions: list[MessageAction]
) -> None:
    view.send_key = "ctrl_enter"
    view.set_messages(_talk())
    view.act("edit", "a2")
    (editor,) = widgets(view, EditorRow)
    assert editor.hint.text() == "Ctrl+Enter saves, Enter breaks the line"
    assert editor.save_button.toolTip() == "Ctrl+Enter"
    editor.edit.setPlainText("")
    QTest.keyClick(editor.edit, Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert actions == []  # nothing is no message
    QTest.keyClicks(editor.edit, "one")
    QTest.keyClick(editor.edit, Key.Key_Enter)
    assert actions == []
    QTest.keyClick(editor.edit, Key.Key_Enter, Qt.KeyboardModifier.ControlModifier)
    assert actions == [MessageAction("edit", "a2", "one\n")]


def test_an_open_editor_follows_the_setting(qtbot: QtBot, view: Transcript) -> None:
    view.set_messages(_talk())
    view.act("edit", "u2")
    (editor,) = widgets(view, EditorRow)
    view.setFocus()
    view.send_key = "ctrl_enter"  # in the dialog, which has the focus then
    editor.edit.setFocus()
    qtbot.waitUntil(lambda: "Ctrl+Enter sends" in editor.hint.text())


def test_escape_leaves_the_message_as_it_was(
    qtbot: QtBot, view: Transcript, actions: list[MessageAction]
) -> None:
    view.set_messages(_talk())
    view.act("edit", "u2")
    (editor,) = widgets(view, EditorRow)
    editor.edit.setPlainText("Something else")
    QTest.keyClick(editor.edit, Key.Key_Escape)
    assert actions == []
    assert seen(view, "Question two")
    view.act("edit", "u2")
    assert widgets(view, EditorRow)[0].edit.toPlainText() == "Question two"


def test_draft_survives_scrolling_away(qtbot: QtBot, view: Transcript) -> None:
    view.set_messages([*_talk(), *(MessageView(f"x{i}", "user", "x\n" * 9) for i in range(90))])
    view.act("edit", "u2")
    widgets(view, EditorRow)[0].edit.setPlainText("A draft")
    view.setFocus()
    view.scroll_to_end()
    assert widgets(view, EditorRow) == []
    view.scroll_to("u2")
    assert widgets(view, EditorRow)[0].edit.toPlainText() == "A draft"


def test_notices_offer_their_actions(view: Transcript, actions: list[MessageAction]) -> None:
    view.set_messages(
        [
            MessageView(
                "c", "memory_cut", "Cut here", actions=(NoticeAction("Raise it", "raise_context"),)
            ),
            MessageView("n", "notice", "Note", actions=(NoticeAction("Help", "help_me"),)),
        ]
    )
    button(view, "Raise it").click()
    button(view, "Help").click()
    assert actions == [MessageAction("raise_context", "c"), MessageAction("help_me", "n")]


def test_keyboard_moves_between_messages_and_acts(
    qtbot: QtBot, view: Transcript, actions: list[MessageAction]
) -> None:
    view.set_messages(_talk())
    view.activateWindow()
    view.setFocus()
    view._navigator.arrive()
    assert view._navigator.current == "a2"
    QTest.keyClick(view, Key.Key_Up)
    QTest.keyClick(view, Key.Key_Up)
    assert view._navigator.current == "a1"
    QTest.keyClick(view, Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert _clipboard() == "Answer **one**"
    QTest.keyClick(view, Key.Key_Up)
    QTest.keyClick(view, Key.Key_Left)
    assert actions == [MessageAction("previous_version", "u1")]


def test_keyboard_reaches_messages_out_of_view(qtbot: QtBot, view: Transcript) -> None:
    view.set_messages([MessageView(f"m{i}", "user", f"message {i}\n" * 4) for i in range(60)])
    view.setFocus()
    view._navigator.arrive()
    for _ in range(40):
        QTest.keyClick(view, Key.Key_Up)
    assert view._navigator.current == "m19"
    assert seen(view, "message 19")
    QTest.keyClick(view, Key.Key_End)
    assert seen(view, "message 59")
    QTest.keyClick(view, Key.Key_Home)
    assert seen(view, "message 0")
    QTest.keyClick(view, Key.Key_PageDown)
    assert view.verticalScrollBar().value() > 0


def test_space_unfolds_reasoning(qtbot: QtBot, view: Transcript) -> None:
    view.set_messages([MessageView("a", "assistant", "so", "Thinking it over", 12)])
    assert any(name.startswith("Reasoning · 12 tokens") for name in _buttons(view))
    view.setFocus()
    view._navigator.arrive()
    QTest.keyClick(view, Key.Key_Space)
    assert seen(view, "Thinking it over")
    button(view, "Copy reasoning").click()
    assert _clipboard() == "Thinking it over"


def test_link_is_opened_after_its_address_was_shown(
    qtbot: QtBot, view: Transcript, actions: list[MessageAction]
) -> None:
    view.set_messages(
        [MessageView("a", "assistant", "[https://bank.example](https://evil.example/x)")]
    )
    (row,) = widgets(view, TextRow)
    QTest.mouseClick(row.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(20, 10))
    (box,) = view.findChildren(QMessageBox)
    assert "evil.example" in box.text()
    assert "https://evil.example/x" in box.informativeText()
    assert actions == []
    next(b for b in box.buttons() if b.text() == "Open").click()
    assert actions == [MessageAction("open_link", "a", "https://evil.example/x")]


def test_cancelled_link_is_not_opened(
    qtbot: QtBot, view: Transcript, actions: list[MessageAction]
) -> None:
    view.set_messages([MessageView("a", "assistant", "x")])
    view.open_link("a", "https://a.b")
    (box,) = view.findChildren(QMessageBox)
    box.reject()
    view.open_link("a", "javascript:alert(1)")
    view.open_link("a", "file:///etc/passwd")
    assert actions == []
    assert len([b for b in view.findChildren(QMessageBox) if b.isVisible()]) == 0


def test_addresses_show_what_is_really_opened() -> None:
    assert shown_address("https://аpple.com/") == "https://xn--pple-43d.com/"
    assert "\u202e" not in shown_address("https://a.b/\u202egnp.exe")


def test_selected_text_is_copied_without_looks(qtbot: QtBot, view: Transcript) -> None:
    view.set_messages([MessageView("a", "assistant", "- one **two**\n- three\n\nfour")])
    (row,) = widgets(view, TextRow)
    row.selectAll()
    row.copy()
    assert _clipboard() == "• one two\n• three\nfour"
    assert row.selected_markdown() == "- one **two**\n- three\n\nfour"
    cursor = row.textCursor()
    cursor.setPosition(1)
    cursor.setPosition(5, QTextCursor.MoveMode.KeepAnchor)
    row.setTextCursor(cursor)
    assert row.selected_plain() == "ne t"


def test_selection_stays_while_the_reply_grows(qtbot: QtBot, view: Transcript) -> None:
    view.set_messages([MessageView("a", "assistant", "first line\n\nsecond", state="streaming")])
    (row,) = widgets(view, TextRow)
    cursor = row.textCursor()
    cursor.setPosition(0)
    cursor.setPosition(5, QTextCursor.MoveMode.KeepAnchor)
    row.setTextCursor(cursor)
    view.append_text("a", " and more\n\nthird")
    qtbot.waitUntil(lambda: seen(view, "third"))
    assert row.selected_plain() == "first"


def test_formulas_are_copied_as_latex(qtbot: QtBot, view: Transcript) -> None:
    view.set_messages([MessageView("a", "assistant", "so $x^2$ it is")])
    (row,) = widgets(view, TextRow)
    qtbot.waitUntil(lambda: "\ufffc" in row.toPlainText())
    row.selectAll()
    assert row.selected_plain() == "so $x^2$ it is"


def test_table_selection_is_copied_as_tabs(view: Transcript) -> None:
    view.set_messages([MessageView("a", "assistant", "| a | b |\n|---|---|\n| 1 | **2** |\n")])
    (row,) = widgets(view, TableRow)
    row.view.selectAll()
    assert row.selected_plain() == "a\tb\n1\t2"


def test_long_code_is_folded_and_copied_whole(qtbot: QtBot, view: Transcript) -> None:
    code = "\n".join(f"line {i}" for i in range(2000))
    view.set_messages([MessageView("a", "assistant", f"```\n{code}\n```")])
    (row,) = widgets(view, CodeRow)
    assert row.view.blockCount() == 40
    button(view, "Show all 2,000 lines").click()
    assert view.content_height() > 20_000  # at once, the text follows
    qtbot.waitUntil(lambda: row.view.blockCount() == 2000)
    row.copy_button.click()
    assert _clipboard() == code


def test_code_spells_out_marks_that_reorder_text(view: Transcript) -> None:
    view.set_messages([MessageView("a", "assistant", "```py\nx \u202e y\n```")])
    (row,) = widgets(view, CodeRow)
    assert row.view.toPlainText() == "x ⟨U+202E⟩ y"
    row.copy_button.click()
    assert _clipboard() == "x \u202e y"


def test_menu_offers_text_controls_and_links(qtbot: QtBot, view: Transcript) -> None:
    view.set_messages([MessageView("a", "assistant", "See https://a.b/c **now**")])
    (row,) = widgets(view, TextRow)
    entry = view._flow.find("a")
    assert entry is not None
    menu = message_menu(view, entry, row, "")
    texts = [action.text() for action in menu.actions()]
    assert {"Copy message", "Copy message as Markdown", "Select all", "Regenerate", "Links"} <= set(
        texts
    )
    next(a for a in menu.actions() if a.text() == "Copy message").trigger()
    assert _clipboard() == "See https://a.b/c now"
    next(a for a in menu.actions() if a.text() == "Select all").trigger()
    assert row.selected_plain() == "See https://a.b/c now"
    menu.deleteLater()


def test_everything_has_a_name(qtbot: QtBot, view: Transcript) -> None:
    view.resize(812, 4000)
    view.set_messages(gallery())
    qtbot.waitUntil(lambda: seen(view, "A reply that was stopped"))
    assert view.accessibleName() == "Transcript"
    unnamed = [b for b in widgets(view, QAbstractButton) if not b.accessibleName()]
    assert unnamed == []
    assert all(row.accessibleName() for row in widgets(view, TextRow))
    assert all(row.view.accessibleName() for row in widgets(view, CodeRow))


def test_arabic_runs_from_the_right(view: Transcript) -> None:
    view.set_messages([MessageView("a", "assistant", "English first\n\nهذا نص عربي")])
    (row,) = widgets(view, TextRow)
    first, second = row.document().firstBlock(), row.document().lastBlock()
    assert first.textDirection() == Qt.LayoutDirection.LeftToRight
    assert second.textDirection() == Qt.LayoutDirection.RightToLeft


def test_markdown_of_the_user_is_literal(view: Transcript) -> None:
    view.set_messages([MessageView("u", "user", "**not bold** <|im_end|> $x$")])
    assert seen(view, "**not bold** <|im_end|> $x$")


def test_long_question_is_folded(view: Transcript) -> None:
    view.set_messages([MessageView("u", "user", "\n".join(f"row {i}" for i in range(500)))])
    assert not seen(view, "row 499")
    button(view, "Show all").click()
    assert view.content_height() > 5000


def test_maths_answer_can_be_copied_as_written(view: Transcript) -> None:
    view.set_messages([MessageView("a", "assistant", MATH_ANSWER)])
    view.act("copy", "a")
    assert _clipboard() == MATH_ANSWER


def test_bubble_is_as_high_as_its_text(view: Transcript) -> None:
    question = "How much memory does one token of KV cache take in this model? Show the arithmetic."
    for width in range(500, 900, 7):
        view.resize(width, 700)
        view.set_messages([MessageView("u", "user", question + " In Python." * (width % 3))])
        (row,) = widgets(view, TextRow)
        assert row.height() - row.document().size().height() <= 1


def test_long_cells_wrap_when_a_table_is_wider_than_the_column(view: Transcript) -> None:
    remark = "as published, measured with perplexity on a long text and compared " * 4
    view.set_messages([MessageView("a", "assistant", f"| a | b |\n|---|---|\n| 1 | {remark} |\n")])
    (row,) = widgets(view, TableRow)
    assert row.view.horizontalScrollBar().maximum() == 0
    assert row.height() > 80

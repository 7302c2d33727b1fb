from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QApplication, QTextEdit
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager
from app.ui.transcript.bubble_row import BubbleRow
from app.ui.transcript.code_row import CodeRow
from app.ui.transcript.end_button import EndButton
from app.ui.transcript.items import MessageView
from app.ui.transcript.text_row import TextRow
from app.ui.transcript.view import Transcript
from tests.helpers.transcript_probe import seen, shown_text, top_on_screen, widgets
from tests.helpers.transcript_samples import conversation, gallery

LONG = "\n\n".join(f"Paragraph number {i}." for i in range(200))


def _chat(count: int) -> list[MessageView]:
    return [MessageView(f"m{i}", "user", f"message {i}\n" * 3) for i in range(count)]


def _live(text: str = "") -> MessageView:
    return MessageView("live", "assistant", text, state="streaming")


def _finish(view: Transcript, text: str) -> None:
    view.update_message(MessageView("live", "assistant", text))


def test_shows_every_kind_of_row(qtbot: QtBot, view: Transcript) -> None:
    view.resize(812, 4000)
    view.set_messages(gallery())
    qtbot.waitUntil(lambda: seen(view, "A reply that was stopped"))
    text = shown_text(view)
    for needle in ("kv_bytes_per_token", "<think>", "vector<int>", "68 KiB", "With a <b>table</b>"):
        assert needle in text


def test_opens_at_the_end(view: Transcript) -> None:
    view.set_messages(_chat(300))
    assert seen(view, "message 299")
    bar = view.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0


def test_only_what_is_near_the_view_has_widgets(qtbot: QtBot, view: Transcript) -> None:
    view.set_messages(conversation(3000))
    bar = view.verticalScrollBar()
    most = 0
    for share in (0.9, 0.5, 0.1, 0.0, 1.0):
        bar.setValue(round(bar.maximum() * share))
        QApplication.processEvents()
        most = max(most, len(view.viewport().findChildren(TextRow)))
    assert most < 80
    opened = [entry for entry in view._flow.entries if entry.is_open]
    assert len(opened) < 150


def test_scrolling_up_through_unknown_heights_does_not_jump(view: Transcript) -> None:
    view.set_messages(conversation(200))
    bar = view.verticalScrollBar()
    for _ in range(40):
        before = {id(w): w.y() for w in widgets(view, TextRow) if w.parent() is view.viewport()}
        bar.setValue(bar.value() - 90)
        moved = {
            w.y() - before[id(w)]
            for w in widgets(view, TextRow)
            if id(w) in before
            and w.parent() is view.viewport()
            and abs(w.y() - before[id(w)]) < 200
        }
        assert moved <= {90}


def test_streaming_follows_a_reader_at_the_end(qtbot: QtBot, view: Transcript) -> None:
    view.set_messages([*_chat(30), _live()])
    for number in range(60):
        view.append_text("live", f"Line {number}.\n\n")
    qtbot.waitUntil(lambda: seen(view, "Line 59."))
    _finish(view, "".join(f"Line {number}.\n\n" for number in range(60)))
    bar = view.verticalScrollBar()
    assert bar.value() == bar.maximum()
    assert not widgets(view, EndButton)


def test_streaming_leaves_a_reader_elsewhere_alone(qtbot: QtBot, view: Transcript) -> None:
    view.set_messages([*_chat(30), _live()])
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() - 600)
    needle = "message 25"
    before = top_on_screen(view, needle)
    limit = bar.maximum()
    for number in range(60):
        view.append_text("live", f"Line {number}.\n\n")
    qtbot.waitUntil(lambda: bar.maximum() > limit + 500)
    assert top_on_screen(view, needle) == before
    (button,) = widgets(view, EndButton)
    button.click()
    assert bar.value() == bar.maximum()
    assert seen(view, "Line 59.")
    assert not widgets(view, EndButton)


def test_first_text_is_drawn_at_once_and_the_rest_together(
    qtbot: QtBot, view: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    view.set_messages([_live()])
    drawn: list[int] = []
    original = view._stage.lay_out

    def lay_out() -> None:
        drawn.append(1)
        original()

    monkeypatch.setattr(view._stage, "lay_out", lay_out)
    view.append_text("live", "first ")
    assert len(drawn) == 1
    assert seen(view, "first")
    for _ in range(50):
        view.append_text("live", "word ")
    assert len(drawn) == 1
    qtbot.waitUntil(lambda: seen(view, "word word"))
    assert len(drawn) == 2


def test_reading_place_is_kept_when_the_width_changes(qtbot: QtBot, view: Transcript) -> None:
    view.set_messages(conversation(60))
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    QApplication.processEvents()
    first = next(w for w in widgets(view, QTextEdit) if w.y() >= 0 and w.toPlainText())
    needle = first.toPlainText()[:20]
    for width in (600, 420, 900, 812):
        view.resize(width, 700)
        QApplication.processEvents()
    assert abs(top_on_screen(view, needle)) < 400


def test_theme_and_text_size_change_at_once(
    qtbot: QtBot, view: Transcript, themes: ThemeManager
) -> None:
    view.set_messages([MessageView("a", "assistant", "Some **text**.\n\n```python\nx = 1\n```")])
    text = widgets(view, TextRow)[0]
    before = text.document().firstBlock().begin().fragment().charFormat().foreground().color()
    height = view.content_height()
    themes.set_mode("light")
    after = text.document().firstBlock().begin().fragment().charFormat().foreground().color()
    assert after == themes.theme.colour("ink") != before
    themes.set_text_size(150)
    assert view.content_height() > height * 1.3


def _is_at_rest(view: Transcript) -> bool:
    """Tell whether nothing is measured and no formula, of another height, is on its way."""
    return not view._stage._idle.isActive() and not view.formulas._pending


def test_a_theme_measures_what_is_on_screen_and_a_text_size_everything(
    qtbot: QtBot, view: Transcript, themes: ThemeManager
) -> None:
    view.set_messages(conversation(60))
    qtbot.waitUntil(lambda: _is_at_rest(view))
    view.verticalScrollBar().setValue(0)
    qtbot.waitUntil(lambda: _is_at_rest(view))
    width = view._stage.column.width()
    rows = [row for entry in view._flow.entries.made() for row in entry.rows]
    far = [row for row in rows if row.widget is None and row.measured_width == width]
    assert far
    height = view.content_height()
    themes.set_mode("light")
    assert all(row.measured_width == width for row in far)
    qtbot.waitUntil(lambda: _is_at_rest(view))
    assert view.content_height() == height
    themes.set_text_size(150)
    assert not any(row.measured_width == width for row in far if row.widget is None)


def test_rows_beside_the_view_come_into_it_in_the_theme_in_force(
    qtbot: QtBot, view: Transcript, themes: ThemeManager
) -> None:
    view.set_messages(conversation(60))
    qtbot.waitUntil(lambda: not view._stage._idle.isActive())
    themes.set_mode("light")
    view.verticalScrollBar().setValue(view.verticalScrollBar().value() - 600)
    qtbot.waitUntil(lambda: not view._stage._idle.isActive())
    found = set()
    for text in widgets(view, TextRow):
        first = text.document().firstBlock().begin()
        if not first.atEnd():
            found.add(first.fragment().charFormat().foreground().color().name())
    assert found <= {themes.theme.css(token) for token in ("ink", "dim", "faint", "accent")}
    assert themes.theme.css("ink") in found


def test_update_replaces_text_note_and_figures(view: Transcript) -> None:
    view.set_messages([_live("Half a")])
    view.update_message(
        MessageView("live", "assistant", "Half a sentence", state="stopped", note="You stopped it.")
    )
    assert seen(view, "Half a sentence")
    assert any(
        w.accessibleName() == "You stopped it." for w in widgets(view, type(view.viewport()))
    )


def test_unknown_message_cannot_be_updated_but_late_text_is_ignored(view: Transcript) -> None:
    with pytest.raises(KeyError):
        view.update_message(MessageView("x", "user", "y"))
    view.append_text("x", "late")
    view.remove_message("x")
    view.scroll_to("x")
    assert view.content_height() > 0


def test_removing_a_message_takes_its_rows_away(view: Transcript) -> None:
    view.set_messages(_chat(3))
    view.remove_message("m1")
    assert not seen(view, "message 1")
    assert seen(view, "message 0")
    assert seen(view, "message 2")


def test_clear_shows_nothing(view: Transcript) -> None:
    view.set_messages(_chat(30))
    view.clear()
    assert shown_text(view) == ""
    assert view.verticalScrollBar().maximum() == 0


def test_scroll_to_a_message_far_away(view: Transcript) -> None:
    view.set_messages(conversation(400))
    view.scroll_to("m31")
    assert 0 <= top_on_screen(view, "Answer 31.") <= 60


def test_reveal_text_selects_the_place(view: Transcript) -> None:
    messages = _chat(50)
    messages[20] = MessageView("m20", "assistant", LONG)
    view.set_messages(messages)
    view.reveal_text("m20", "number 150")
    assert seen(view, "number 150")
    selected = [w for w in widgets(view, TextRow) if w.textCursor().hasSelection()]
    assert [w.textCursor().selectedText() for w in selected] == ["number 150"]
    assert 0 < selected[0].y() + selected[0].cursorRect().y() < 700


def test_one_place_is_selected_at_a_time(view: Transcript) -> None:
    code = "```\nship = 1\n```"
    view.set_messages(
        [MessageView("a", "assistant", f"A ship.\n\n{code}"), MessageView("b", "user", "a ship")]
    )

    def selections() -> list[str]:
        rows: list[TextRow | CodeRow] = [*widgets(view, TextRow), *widgets(view, CodeRow)]
        return [row.selected_plain() for row in rows if row.selected_plain()]

    for message, needle in (("a", "A ship"), ("a", "ship = 1"), ("b", "a ship"), ("a", "A ship")):
        view.reveal_text(message, needle)
        found = selections()
        bubble = view.findChildren(BubbleRow)
        found += [row.text.selected_plain() for row in bubble if row.text.selected_plain()]
        assert set(found) == {needle}


def test_reveal_text_opens_what_is_folded(view: Transcript) -> None:
    lines = "\n".join(f"row {i}" for i in range(400))
    view.set_messages(
        [
            MessageView("u", "user", lines),
            MessageView("a", "assistant", f"```\n{lines}\n```", reasoning="I wonder about owls."),
        ]
    )
    view.reveal_text("u", "row 377")
    assert seen(view, "row 377")
    view.reveal_text("a", "row 388")
    (code,) = widgets(view, CodeRow)
    assert code.selected_plain() == "row 388"
    view.reveal_text("a", "owls")
    assert seen(view, "I wonder about owls.")


def test_long_text_of_another_version_is_opened_again_in_steps(
    qtbot: QtBot, view: Transcript
) -> None:
    view.set_messages([MessageView("a", "assistant", "short", version_count=2)])
    view.update_message(MessageView("a", "assistant", LONG * 4, version_index=1, version_count=2))
    qtbot.waitUntil(lambda: view.content_height() > 5000)
    view.update_message(MessageView("a", "assistant", "short", version_count=2))
    assert view.content_height() < 200


def test_reasoning_folds_and_unfolds_and_can_be_read_unfinished(
    qtbot: QtBot, view: Transcript
) -> None:
    view.set_messages([MessageView("a", "assistant", "", state="streaming")])
    view.append_text("a", "", "Let me **think**")
    assert not seen(view, "Let me")
    view.act("toggle_reasoning", "a")
    assert seen(view, "Let me think")
    view.append_text("a", "", " again")
    qtbot.waitUntil(lambda: seen(view, "Let me think again"))
    view.update_message(
        MessageView("a", "assistant", "", "Let me **think** again", state="interrupted")
    )
    assert seen(view, "Let me think again")
    view.act("toggle_reasoning", "a")
    assert not seen(view, "Let me")


def test_progress_of_the_prompt_is_said(view: Transcript) -> None:
    waiting = MessageView("a", "assistant", "", state="waiting", progress=(1204, 5310))
    view.set_messages([waiting])
    names = [w.accessibleName() for w in widgets(view, type(view.viewport()))]
    assert "Reading the prompt · 1,204 of 5,310 tokens" in names
    view.update_message(replace(waiting, progress=None))
    names = [w.accessibleName() for w in widgets(view, type(view.viewport()))]
    assert "Waiting for the model…" in names


def test_code_is_coloured_when_it_is_complete(qtbot: QtBot, view: Transcript) -> None:
    view.set_messages([_live("```python\n")])
    view.append_text("live", "def f(): pass\n")
    qtbot.waitUntil(lambda: seen(view, "def f"))
    (row,) = widgets(view, CodeRow)
    assert row.view.document().firstBlock().layout().formats() == []
    view.append_text("live", "```\n\ndone")
    _finish(view, "```python\ndef f(): pass\n```\n\ndone")
    qtbot.waitUntil(lambda: bool(row.view.document().firstBlock().layout().formats()))


def test_formulas_arrive_without_moving_the_reader(qtbot: QtBot, view: Transcript) -> None:
    maths = "Energy $E = mc^2$ and\n\n$$\n\\sum_i \\frac{a_i}{b_i}\n$$"
    messages = [MessageView(f"a{i}", "assistant", f"Number {i}. {maths}") for i in range(12)]
    view.set_messages(messages)
    row = widgets(view, TextRow)[-1]
    qtbot.waitUntil(lambda: "\ufffc" in row.toPlainText())
    bar = view.verticalScrollBar()
    assert bar.value() == bar.maximum()


def test_several_changes_are_laid_out_once(view: Transcript) -> None:
    view.set_messages([*_chat(3), MessageView("a", "assistant", "An answer")])
    laid_out: list[int] = []
    original = view._stage.lay_out

    def lay_out() -> None:
        laid_out.append(1)
        original()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view._stage, "lay_out", lay_out)
        view.change_messages(
            gone=("m1",),
            come=((0, MessageView("first", "user", "comes first")), (4, _live("Writing"))),
            other=(MessageView("a", "assistant", "Another answer"),),
        )
    assert len(laid_out) == 1
    assert [shown.id for shown in view.views()] == ["first", "m0", "m2", "a", "live"]
    text = shown_text(view)
    assert "message 1" not in text
    assert text.index("comes first") < text.index("message 0") < text.index("Another answer")
    assert seen(view, "Writing")
    assert view.is_last_reply("live")
    view.change_messages(gone=("live", "nothing"))
    assert view.is_last_reply("a")


def test_a_message_that_comes_back_stands_where_it_stood(view: Transcript) -> None:
    messages = conversation(60)
    view.set_messages(messages)
    view.scroll_to("m30")
    shown, bar = shown_text(view), view.verticalScrollBar().value()
    view.remove_message("m30")
    assert shown_text(view) != shown
    view.change_messages(come=((30, messages[30]),))
    assert shown_text(view) == shown
    assert view.verticalScrollBar().value() == bar

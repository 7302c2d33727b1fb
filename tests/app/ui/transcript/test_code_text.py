from __future__ import annotations

from pytestqt.qtbot import QtBot

from app.ui.transcript.blocks import WRAP, Code
from app.ui.transcript.code_row import CodeRow
from app.ui.transcript.code_text import CodeFiller, CodeView, shown_code
from app.ui.transcript.items import MessageView
from app.ui.transcript.stream_markdown import parse_markdown
from app.ui.transcript.view import Transcript
from tests.helpers.transcript_probe import button, seen, widgets

LINES = "\n".join(f"value_{i} = {i} * rate" for i in range(3000))


def _filler(qtbot: QtBot) -> tuple[CodeView, CodeFiller]:
    view = CodeView(None)
    qtbot.addWidget(view)
    return view, CodeFiller(view)


def test_a_short_text_is_there_at_once(qtbot: QtBot) -> None:
    view, filler = _filler(qtbot)
    assert filler.set_text("a\nb") == "a\nb"
    assert view.toPlainText() == "a\nb"
    assert filler.is_done


def test_a_long_text_is_put_in_by_parts(qtbot: QtBot) -> None:
    view, filler = _filler(qtbot)
    filler.set_text(LINES)
    assert 0 < len(view.toPlainText()) < 13_000
    assert view.toPlainText().endswith("\n")  # whole lines
    qtbot.waitUntil(lambda: filler.is_done)
    assert view.toPlainText() == LINES


def test_a_text_that_grows_while_it_is_put_in(qtbot: QtBot) -> None:
    view, filler = _filler(qtbot)
    filler.set_text(LINES)
    assert filler.set_text(LINES + " more\nand more") == LINES.split("\n")[-1] + " more\nand more"
    qtbot.waitUntil(lambda: filler.is_done)
    assert view.toPlainText() == LINES + " more\nand more"


def test_another_text_takes_the_place_of_one_that_is_put_in(qtbot: QtBot) -> None:
    view, filler = _filler(qtbot)
    filler.set_text(LINES)
    filler.set_text("other")
    qtbot.wait(20)
    assert view.toPlainText() == "other"


def test_what_is_left_can_be_had_at_once(qtbot: QtBot) -> None:
    view, filler = _filler(qtbot)
    filler.set_text(LINES)
    filler.finish()
    assert view.toPlainText() == LINES


def test_endless_lines_are_broken_for_layout_and_ordinary_long_ones_not() -> None:
    text = "x" * 5000
    (block,) = parse_markdown(f"```\n{'y' * 900}\n{text}\n```")
    assert isinstance(block, Code)
    assert WRAP in block.text
    first, *rest = shown_code(block.text).split("\n")
    assert first == "y" * 900
    assert "".join(rest) == text
    assert max(map(len, rest[1:])) <= 200
    assert block.source == "y" * 900 + "\n" + text


def test_text_and_place_of_a_code_block_are_known_before_it_is_whole(
    qtbot: QtBot, view: Transcript
) -> None:
    view.set_messages([MessageView("a", "assistant", f"```\n{LINES}\n```\n\nbehind it")])
    button(view, "Show all 3,000 lines").click()
    height = view.content_height()
    (row,) = widgets(view, CodeRow)
    qtbot.waitUntil(lambda: row.view.blockCount() == 3000)
    assert view.content_height() == height
    view.scroll_to_end()
    assert seen(view, "behind it")


def test_a_text_at_the_end_of_long_code_is_found(view: Transcript) -> None:
    view.set_messages([MessageView("a", "assistant", f"```\n{LINES}\n```")])
    view.reveal_text("a", "value_2999")
    (row,) = widgets(view, CodeRow)
    assert row.selected_plain() == "value_2999"

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from pytestqt.qtbot import QtBot

from app.ui.transcript.bubble_row import BubbleRow
from app.ui.transcript.bubble_slices import bubble_slices
from app.ui.transcript.items import AttachmentView, MessageView
from app.ui.transcript.place_text import shown
from app.ui.transcript.rows import RowKind
from app.ui.transcript.view import Transcript
from tests.helpers.transcript_probe import button, seen, widgets

LONG = "\n".join(f"line {i} of what was sent" for i in range(4000))


def _view(text: str) -> MessageView:
    return MessageView("a", "user", text, attachments=(AttachmentView("notes.txt", 12),))


def test_a_short_text_is_one_slice_however_it_is_asked_for() -> None:
    for whole in (False, True):
        (only,) = bubble_slices(_view("one\ntwo"), whole=whole)
        assert only.pieces == ("one", "two")
        assert (only.first, only.last, only.folded, only.unfolded) == (True, True, False, False)


def test_a_long_text_is_folded_to_its_start() -> None:
    (only,) = bubble_slices(_view(LONG), whole=False)
    assert only.folded
    assert LONG.startswith(only.text)
    assert len(only.pieces) <= 24


@given(text=st.text(st.sampled_from("ab \n\r\u05d0🙂"), max_size=400), times=st.integers(1, 60))
def test_slices_hold_every_character(text: str, times: int) -> None:
    whole = text * times
    plain = whole.replace("\r\n", "\n").replace("\r", "\n")
    slices = bubble_slices(_view(whole), whole=True)
    assert "".join(piece for part in slices for piece in part.pieces) == plain.replace("\n", "")
    assert [part.first for part in slices] == [True, *[False] * (len(slices) - 1)]
    assert [part.last for part in slices] == [*[False] * (len(slices) - 1), True]
    if len(slices) > 1:
        assert all(len(part.pieces) <= 40 and len(part.text) < 6000 for part in slices)


def test_an_endless_line_is_cut_between_words_and_not_at_all_where_it_is_folded() -> None:
    line = " ".join(f"word{number}" for number in range(3000))
    (folded,) = bubble_slices(_view(line), whole=False)
    assert len(folded.pieces) == 1
    pieces = [piece for part in bubble_slices(_view(line), whole=True) for piece in part.pieces]
    assert len(pieces) > 5
    assert all(piece.endswith(" ") for piece in pieces[:-1])
    assert "".join(pieces) == line


def test_a_million_characters_are_laid_out_only_near_the_view(
    qtbot: QtBot, view: Transcript
) -> None:
    view.set_messages([_view("\n".join(f"line {i} " + "x" * 80 for i in range(11_000)))])
    button(view, "Show all").click()
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum() // 2)
    qtbot.waitUntil(lambda: not view._stage._idle.isActive())
    entry = view._flow.find("a")
    assert entry is not None
    assert len(entry.rows) > 200
    laid_out = sum(len(shown(row).text) for row in view._stage.pool.used)
    assert 0 < laid_out < 60_000


def test_slices_stand_without_a_gap_and_are_of_one_width(view: Transcript) -> None:
    view.set_messages([_view(LONG)])
    button(view, "Show all").click()
    entry = view._flow.find("a")
    assert entry is not None
    view.verticalScrollBar().setValue(view._flow.top_of(entry, entry.rows[1]) - 300)
    shown = [bubble for bubble in widgets(view, BubbleRow) if bubble.isVisible()]
    assert len(shown) >= 2
    for above, below in pairwise(shown):
        assert above.geometry().bottom() + 1 == below.geometry().top()
    assert len({(bubble._box.left(), bubble._box.width()) for bubble in shown}) == 1


def test_files_stand_above_and_controls_below(view: Transcript) -> None:
    view.set_messages([_view(LONG)])
    button(view, "Show all").click()
    entry = view._flow.find("a")
    assert entry is not None
    view.verticalScrollBar().setValue(0)
    first = entry.rows[0].widget
    assert [label for _, label in first._files] == ["notes.txt · 12 tokens"]
    assert not first.bar.buttons
    view.scroll_to_end()
    last = entry.rows[-1].widget
    assert not last._files
    assert {b.objectName() for b in last.bar.buttons} >= {"edit", "copy", "delete"}
    button(view, "Show less").click()
    assert [row.kind for row in entry.rows] == [RowKind.BUBBLE]
    assert entry.rows[0].content.folded


def test_a_text_behind_the_fold_is_found(view: Transcript) -> None:
    view.set_messages([_view(LONG)])
    view.reveal_text("a", "line 3456")
    assert seen(view, "line 3456")
    selected = [b.text.selected_plain() for b in widgets(view, BubbleRow)]
    assert "line 3456" in selected


def test_a_text_before_the_fold_is_found_without_unfolding(view: Transcript) -> None:
    view.set_messages([_view(LONG)])
    view.reveal_text("a", "line 3 ")
    entry = view._flow.find("a")
    assert entry is not None
    assert not entry.whole

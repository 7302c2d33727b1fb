from __future__ import annotations

from dataclasses import replace

import pytest

from app.ui.transcript.entries import Entries
from app.ui.transcript.entry import Entry, estimated_height
from app.ui.transcript.items import MessageView, Role, lines_of

VIEWS = [MessageView(f"m{i}", "user", "word " * 60 * i) for i in range(6)]


def test_an_entry_is_made_when_it_is_asked_for_and_kept() -> None:
    entries = Entries(VIEWS)
    assert list(entries.made()) == []
    first = entries[2]
    assert first.view is VIEWS[2]
    assert entries[2] is first
    assert list(entries.made()) == [first]


def test_slices_and_ends() -> None:
    entries = Entries(VIEWS)
    assert [entry.view.id for entry in entries[1:3]] == ["m1", "m2"]
    assert entries[-1].view.id == "m5"
    assert len(entries) == 6


def test_ids_and_views_make_nothing() -> None:
    entries = Entries([*VIEWS, Entry(MessageView("made", "user", "x"))])
    assert entries.ids() == [*(view.id for view in VIEWS), "made"]
    assert [view.id for view in entries.views()] == list(reversed(entries.ids()))
    assert len(list(entries.made())) == 1


def test_heights_are_the_same_before_and_after_an_entry_is_made() -> None:
    entries = Entries(VIEWS)
    before = entries.heights(1.0)
    assert before == [estimated_height(view) for view in VIEWS]
    list(entries)
    assert entries.heights(1.0) == before


def test_taking_out_and_adding() -> None:
    entries = Entries(VIEWS)
    assert entries.pop(0).view is VIEWS[0]
    entries.append(VIEWS[0])
    assert entries.ids() == ["m1", "m2", "m3", "m4", "m5", "m0"]


def test_putting_in_anywhere() -> None:
    entries = Entries(VIEWS[1:])
    entries.insert(0, VIEWS[0])
    entries.insert(6, MessageView("last", "user", "x"))
    assert entries.ids() == [*(view.id for view in VIEWS), "last"]
    assert list(entries.made()) == []


def test_newest_reply_makes_nothing() -> None:
    entries = Entries([MessageView("a", "assistant", "x"), *VIEWS])
    assert entries.last_reply() == "a"
    assert list(entries.made()) == []
    assert Entries(VIEWS).last_reply() == ""


@pytest.mark.parametrize("role", ["user", "assistant", "notice"])
def test_lines_that_were_counted_beforehand_change_no_height(role: Role) -> None:
    text = "word " * 200 + "\n\nmore"
    known = MessageView("a", role, text, lines=lines_of(text))
    assert estimated_height(known) == estimated_height(MessageView("a", role, text))
    assert known == MessageView("a", role, text)


def test_text_that_grows_is_not_measured_by_lines_of_before() -> None:
    entry = Entry(MessageView("a", "assistant", "x", state="streaming", lines=1))
    entry.append("\n" * 50, "")
    assert estimated_height(entry.view) == estimated_height(
        MessageView("a", "assistant", "x" + "\n" * 50)
    )


def test_caret_stands_in_one_row_however_many_come_at_once() -> None:
    entry = Entry(MessageView("a", "assistant", "Some text", state="streaming"))
    entry.open()

    def carets() -> list[int]:
        entry.sync()
        return [number for number, row in enumerate(entry.rows) if row.caret]

    assert carets() == [0]
    entry.append(" goes on.\n\n| a |\n|---|\n| 1 |\n\nMore.\n\n```\nx\n```\n\nThe end", "")
    assert carets() == [4]
    entry.append(".\n\n```\ny", "")
    assert carets() == []
    entry.append("\n```\n\nLast", "")
    assert carets() == [6]
    entry.set_view(replace(entry.view, state="complete"))
    assert carets() == []

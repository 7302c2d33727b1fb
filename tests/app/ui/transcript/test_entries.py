from __future__ import annotations

from app.ui.transcript.entries import Entries
from app.ui.transcript.entry import Entry, estimated_height
from app.ui.transcript.items import MessageView

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

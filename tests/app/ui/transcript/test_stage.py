from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.ui.transcript.items import MessageView
from app.ui.transcript.stage import Stage
from app.ui.transcript.view import Transcript
from tests.helpers.transcript_probe import seen
from tests.helpers.transcript_samples import conversation


def _chat(count: int) -> list[MessageView]:
    return [
        MessageView(f"m{i}", "assistant" if i % 2 else "user", f"message {i}") for i in range(count)
    ]


def test_opening_thousands_makes_entries_for_what_is_near_the_end(
    qtbot: QtBot, view: Transcript
) -> None:
    view.set_messages(_chat(5000))
    assert seen(view, "message 4999")
    qtbot.waitUntil(lambda: not view._stage._idle.isActive())
    assert len(list(view._flow.entries.made())) < 80


def test_going_to_the_first_of_thousands_makes_none_between(qtbot: QtBot, view: Transcript) -> None:
    view.set_messages(_chat(5000))
    view.verticalScrollBar().setValue(0)
    qtbot.waitUntil(lambda: not view._stage._idle.isActive())
    assert seen(view, "message 0")
    assert len(list(view._flow.entries.made())) < 160


def test_one_call_works_on_one_row_where_there_is_no_time(
    qtbot: QtBot, slow_view: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked: list[str] = []
    original = Stage._work_on

    def work_on(stage: Stage, placed: object, end: float) -> None:
        worked.append("row")
        original(stage, placed, end)  # type: ignore[arg-type]

    monkeypatch.setattr(Stage, "_work_on", work_on)
    slow_view.set_messages(_chat(300))
    assert len(worked) == 1
    assert not slow_view._stage.in_view_done
    qtbot.waitUntil(lambda: slow_view._stage.in_view_done)
    assert len(worked) > 10
    assert seen(slow_view, "message 299")


def test_the_last_words_come_first(qtbot: QtBot, slow_view: Transcript) -> None:
    slow_view.set_messages(_chat(300))
    while not seen(slow_view, "message 299"):
        assert not seen(slow_view, "message 295")
        slow_view.lay_out()
    qtbot.waitUntil(lambda: seen(slow_view, "message 295"))


def test_what_stood_there_stays_in_sight_until_all_of_the_new_is(
    qtbot: QtBot, slow_view: Transcript
) -> None:
    slow_view.set_messages(_chat(300))
    assert not slow_view.viewport().updatesEnabled()
    qtbot.waitUntil(lambda: slow_view._stage.in_view_done)
    assert slow_view.viewport().updatesEnabled()


def test_a_view_that_takes_long_is_shown_as_far_as_it_is(
    qtbot: QtBot, slow_view: Transcript
) -> None:
    slow_view.set_messages(_chat(300))
    slow_view._stage.stop()
    qtbot.waitUntil(slow_view.viewport().updatesEnabled)
    assert not slow_view._stage.in_view_done


def test_a_short_view_is_shown_at_once(view: Transcript) -> None:
    view.set_messages(_chat(4))
    assert view.viewport().updatesEnabled()


def test_slow_and_quick_machines_end_with_the_same_layout(
    qtbot: QtBot, view: Transcript, slow_view: Transcript
) -> None:
    messages = conversation(40)
    places = []
    for shown in (view, slow_view):
        shown.set_messages(messages)
        qtbot.waitUntil(lambda shown=shown: not shown._stage._idle.isActive())  # type: ignore[misc]
        rows = [row.widget.widget() for row in shown._stage.pool.used]
        places.append(sorted((w.y(), w.height(), type(w).__name__) for w in rows if w.isVisible()))
    assert places[0] == places[1]
    assert len(places[0]) > 5


def test_finding_a_text_does_not_wait_for_its_turn(slow_view: Transcript) -> None:
    slow_view.set_messages(_chat(300))
    slow_view.reveal_text("m101", "message 101")
    assert seen(slow_view, "message 101")


def test_a_message_can_be_edited_where_there_is_no_time(slow_view: Transcript) -> None:
    slow_view.set_messages(_chat(300))
    slow_view.act("edit", "m100")
    entry = slow_view._flow.find("m100")
    assert entry is not None
    assert entry.rows[0].widget.edit.toPlainText() == "message 100"

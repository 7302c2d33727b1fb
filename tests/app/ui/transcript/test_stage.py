from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager
from app.ui.transcript.entry import Entry
from app.ui.transcript.flow import Flow, Placed
from app.ui.transcript.items import MessageView
from app.ui.transcript.stage import Stage
from app.ui.transcript.view import Transcript
from tests.helpers.transcript_probe import seen
from tests.helpers.transcript_samples import conversation

_EVER_MS = 600_000  # what stood there is drawn over soon, else, on a busy machine


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
    slow_view._curtain._late.setInterval(_EVER_MS)
    slow_view.set_messages(_chat(300))
    assert not slow_view.viewport().updatesEnabled()
    qtbot.waitUntil(slow_view.viewport().updatesEnabled)
    assert slow_view._stage.in_view_done


def test_a_view_that_takes_long_is_shown_as_far_as_it_is(
    qtbot: QtBot, slow_view: Transcript
) -> None:
    slow_view.set_messages(_chat(300))
    slow_view._stage._idle.timeout.disconnect()  # as if there were never time
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


def _narrower(view: Transcript) -> None:
    view.resize(view.width() - 50, view.height())


def _otherwise_coloured(view: Transcript) -> None:
    themes = view._themes
    themes.set_mode("light" if themes.theme.is_dark else "dark")


@pytest.mark.parametrize("change", [_narrower, _otherwise_coloured])
def test_what_is_beside_the_view_waits_until_width_or_theme_has_settled(
    qtbot: QtBot,
    view: Transcript,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Transcript], None],
) -> None:
    stage = view._stage

    def is_measured_beside() -> bool:
        return stage._next_ahead(view.viewport().height()) is None

    view.set_messages(_chat(300))
    qtbot.waitUntil(is_measured_beside)
    monkeypatch.setattr("app.ui.transcript.stage._SETTLED_MS", 600_000)
    change(view)
    qtbot.waitUntil(lambda: stage.in_view_done)
    qtbot.wait(50)
    assert not is_measured_beside()
    monkeypatch.setattr("app.ui.transcript.stage._SETTLED_MS", 1)
    change(view)
    qtbot.waitUntil(is_measured_beside)


def test_finding_a_text_does_not_wait_for_its_turn(slow_view: Transcript) -> None:
    slow_view.set_messages(_chat(300))
    slow_view.reveal_text("m101", "message 101")
    assert seen(slow_view, "message 101")


def test_finding_a_text_far_away_shows_its_row_alone_at_first(
    qtbot: QtBot, slow_view: Transcript
) -> None:
    slow_view._curtain._late.setInterval(_EVER_MS)
    slow_view.set_messages(_chat(300))
    qtbot.waitUntil(lambda: not slow_view._stage._idle.isActive())
    slow_view.reveal_text("m101", "message 101")
    assert slow_view.places._selected.selected_plain() == "message 101"
    done_at_once = slow_view._stage.in_view_done
    assert not done_at_once
    # What stood in the view stays in sight until what is beside the row is there, too.
    assert not slow_view.viewport().updatesEnabled()
    qtbot.waitUntil(slow_view.viewport().updatesEnabled)
    assert slow_view._stage.in_view_done
    assert seen(slow_view, "message 100")
    assert slow_view.places._selected.selected_plain() == "message 101"


class _Clock:
    """A clock that stands unless it is told otherwise; ``work_s`` passes with each row."""

    now_s = 0.0
    work_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def timed(
    qtbot: QtBot, themes: ThemeManager, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Transcript, _Clock, list[str]]]:
    """A transcript with a clock of ours, and the rows it works on."""
    clock = _Clock()
    worked: list[str] = []
    original = Stage._work_on

    def work_on(stage: Stage, placed: Placed, end: float) -> None:
        worked.append(placed.entry.view.id)
        clock.now_s += clock.work_s
        original(stage, placed, end)

    monkeypatch.setattr(Stage, "_work_on", work_on)
    made = Transcript(themes, clock=clock)
    qtbot.addWidget(made)
    made.resize(812, 700)
    made.show()
    qtbot.waitExposed(made)
    yield made, clock, worked
    made.clear()
    made.close_workers()


def test_calls_of_one_turn_share_its_time(timed: tuple[Transcript, _Clock, list[str]]) -> None:
    view, clock, worked = timed
    clock.work_s = 0.002
    view.set_messages(_chat(300))
    first = len(worked)
    assert 1 < first < 5
    view.lay_out()  # the view was resized, for one: a row more, not as many as before
    assert len(worked) == first + 1
    clock.now_s += 1  # another turn
    view.lay_out()
    assert len(worked) == 2 * first + 1


def test_what_was_done_before_counts_as_time_of_the_turn(
    timed: tuple[Transcript, _Clock, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    view, clock, worked = timed
    clock.work_s = 0.002
    original = Flow.set_entries

    def set_entries(flow: Flow, entries: Sequence[Entry | MessageView]) -> None:
        clock.now_s += 0.5  # a chat of very many messages
        original(flow, entries)

    monkeypatch.setattr(Flow, "set_entries", set_entries)
    view.set_messages(_chat(300))
    assert len(worked) == 1


def test_a_view_that_took_time_is_drawn_in_a_turn_of_its_own(
    qtbot: QtBot, timed: tuple[Transcript, _Clock, list[str]]
) -> None:
    view, clock, _ = timed
    clock.work_s = 0.0006
    view.set_messages(_chat(3))
    assert view._stage.in_view_done
    assert not view.viewport().updatesEnabled()
    qtbot.waitUntil(view.viewport().updatesEnabled)


def test_a_message_can_be_edited_where_there_is_no_time(slow_view: Transcript) -> None:
    slow_view.set_messages(_chat(300))
    slow_view.act("edit", "m100")
    entry = slow_view._flow.find("m100")
    assert entry is not None
    assert entry.rows[0].widget.edit.toPlainText() == "message 100"

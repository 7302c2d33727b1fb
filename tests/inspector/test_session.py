from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import msgspec
import pytest

from gguf_tools.plan import Plan
from inspector.judged import as_judged
from inspector.records import Identity, TurnStats, decode_record, encode_record
from inspector.session import Session, replayed, spread
from inspector.speed import judge, speed_view
from tests.inspector.conftest import MIB, cpu, loaded, machine, sample, turn

PlanOf = Callable[..., Plan]


def test_used_tokens_follow_the_prompt_and_the_reply() -> None:
    session = Session()
    assert session.used_tokens == 0
    session.conversation([turn(prompt_tokens=100, reply_tokens=50)])
    assert session.used_tokens == 150
    session.turn_started(prompt_tokens=200, reused_tokens=140, new_tokens=60)
    assert session.used_tokens == 140
    session.read(30)
    assert session.used_tokens == 170
    session.tokens(5)
    assert session.used_tokens == 205
    session.turn_finished(turn(prompt_tokens=200, reply_tokens=9))
    assert session.used_tokens == 209
    assert len(session.turns) == 2
    session.conversation([])
    assert session.used_tokens == 0


def test_what_the_engine_counted_stands_above_the_last_turn(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    loaded(session)
    session.chat(1331)  # told before the turns are: the order is not ours
    session.conversation([turn(prompt_tokens=30, reply_tokens=17)])
    assert session.used_tokens == 1331
    session.chat(None)
    assert session.used_tokens == 47
    session.chat(1331)
    session.turn_started(prompt_tokens=1340, reused_tokens=0, new_tokens=1340)
    assert session.used_tokens == 0
    session.turn_finished(turn(prompt_tokens=1340, reply_tokens=10))
    assert session.used_tokens == 1350
    session.chat(1350)
    session.loading(None)
    assert session.chat_tokens is None


def _holds_all(session: Session) -> bool:
    return session.has_evaluated


def test_stopped_prompt_and_what_was_added_since_are_not_in_the_cache(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    record = loaded(session)
    stopped = turn(record, prompt_tokens=900, reply_tokens=0)
    few = msgspec.structs.replace(stopped.stats, reused_tokens=0, evaluated_tokens=128)
    session.conversation([msgspec.structs.replace(stopped, stats=few)])
    assert session.used_tokens == 900
    assert not _holds_all(session)
    whole = turn(record, prompt_tokens=900, reply_tokens=10)
    session.conversation([whole])
    assert _holds_all(session)
    session.chat(1200)  # an edited reply is longer
    assert not _holds_all(session)


def test_another_chats_turn_takes_the_cache(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    record = loaded(session)
    session.conversation([turn(record, prompt_tokens=900, reply_tokens=10)])
    session.chat(910)
    assert (session.has_evaluated, session.has_begun) == (True, True)
    session.chat(910, 0)
    assert (_holds_all(session), session.has_begun) == (False, False)
    session.chat(910, 300)
    assert not _holds_all(session)
    session.turn_started(prompt_tokens=920, reused_tokens=0, new_tokens=920)
    session.turn_finished(turn(record, prompt_tokens=920, reply_tokens=10))
    assert _holds_all(session)


def test_replies_at_once_take_room_until_they_end() -> None:
    session = Session()
    session.turn_started(prompt_tokens=216, reused_tokens=215, new_tokens=1)
    session.tokens(99)
    session.branch(1, 50)
    session.branch(1, 99)
    session.branch(2, 98)
    assert session.used_tokens == 216 + 99 + 99 + 98
    session.branch(2, None)
    assert session.used_tokens == 216 + 99 + 99
    session.branch(0, None)  # the first one stays in the cache
    assert session.used_tokens == 216 + 99 + 99
    session.turn_ended()
    session.branch(1, 100)
    assert session.used_tokens == 0


def test_late_messages_of_an_ended_turn_change_nothing() -> None:
    session = Session()
    session.read(10)
    session.tokens(10, 5.0)
    assert session.live is None
    assert session.state == "empty"


def test_peak_is_that_of_the_turn(plan_of: PlanOf) -> None:
    session = Session()
    session.memory(sample(private_mib=900))
    session.planned(plan_of())
    loaded(session, after=sample(private_mib=300))
    session.memory(sample(private_mib=500))
    session.memory(sample(private_mib=400))
    assert session.peak_bytes == 500 * MIB
    session.turn_started(prompt_tokens=1, reused_tokens=0, new_tokens=1)
    session.memory(sample(private_mib=450))
    assert session.peak_bytes == 450 * MIB


def test_first_sample_with_the_engines_memory_completes_the_load(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    loaded(session, after=None)
    first = sample(private_mib=300)
    session.memory(first)
    session.memory(sample(private_mib=700))
    assert session.load is not None
    assert session.load.after == first


def test_prefill_rate_is_the_usual_one_of_late_turns(plan_of: PlanOf) -> None:
    session = Session()
    assert session.prefill_per_s is None
    session.planned(plan_of())
    assert session.plan is not None
    assert session.prefill_per_s == session.plan.prefill_per_s
    session.conversation(
        [turn(evaluated_tokens=100, prefill_s=seconds) for seconds in (1.0, 2.0, 4.0)]
    )
    assert session.prefill_per_s == pytest.approx(50)
    session.draft(25)
    assert session.first_token_s == pytest.approx(0.5)


def test_a_new_plan_does_not_unload(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    record = loaded(session)
    session.planned(plan_of(n_ctx=512))
    assert session.load is record
    assert session.settings is record.settings
    assert session.state == "ready"


def test_turns_of_another_model_say_nothing_about_this_one(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    mine = loaded(session, identity=Identity(engine="e", fingerprint="mine"))
    other = msgspec.structs.replace(mine, identity=Identity(engine="e", fingerprint="other"))
    session.conversation([turn(mine), turn(other, decode_s=0.001)])
    assert session.comparable == (session.turns[0],)
    assert session.last == session.turns[0]
    assert session.used_tokens == session.turns[1].stats.context_used_tokens


@pytest.mark.parametrize("count", [0, 1, 239, 240, 241, 480, 2501])
def test_turns_are_spread_over_all_with_the_newest_among_them(count: int) -> None:
    turns = [turn() for _ in range(count)]
    chosen = spread(turns, 240)
    assert len(chosen) <= 240
    assert len(chosen) >= min(count, 120)
    if count:
        assert chosen[-1] is turns[-1]
        places = [next(i for i, t in enumerate(turns) if t is one) for one in chosen]
        steps = {after - before for before, after in pairwise(places)}
        assert len(steps) <= 1
        assert places[0] < max(steps, default=1)


def test_comparable_turns_follow_the_turns_and_the_model(plan_of: PlanOf) -> None:
    session = Session()
    session.conversation([turn(), turn()])
    first = session.comparable
    assert session.comparable is first
    session.turn_finished(turn())
    assert len(session.comparable) == 3
    session.conversation([])
    assert not session.comparable


def test_before_there_is_a_rate_no_time_of_decoding_is_known() -> None:
    session = Session()
    session.turn_started(prompt_tokens=100, reused_tokens=40, new_tokens=60)
    session.tokens(5)
    assert session.live is not None
    stats = session.live.stats
    assert (stats.prompt_tokens, stats.reused_tokens, stats.evaluated_tokens) == (100, 40, 60)
    assert (stats.reply_tokens, stats.decode_s, stats.replies_at_once) == (5, 0.0, 1)
    assert stats.decode_per_s is None
    session.tokens(21, 40.0)
    session.branch(1, 3)
    stats = session.live.stats
    assert (stats.decode_s, stats.replies_at_once) == (0.5, 2)
    assert stats.decode_per_s == pytest.approx(40.0)


def test_turns_are_chosen_evenly_with_the_newest_among_them() -> None:
    turns = [turn(prompt_tokens=count) for count in range(10)]

    def chosen(most: int) -> list[int]:
        return [item.stats.prompt_tokens for item in spread(turns, most)]

    assert spread(turns, 10) is turns  # nothing is copied where all are wanted
    assert chosen(11) == [*range(10)]
    assert chosen(9) == chosen(5) == [1, 3, 5, 7, 9]
    assert chosen(4) == [0, 3, 6, 9]
    assert chosen(1) == [9]


def test_a_finished_turn_keeps_the_bandwidth_that_it_was_judged_with(plan_of: PlanOf) -> None:
    """A bandwidth measured later counts from the next turn on."""
    session = Session()
    session.planned(plan_of(n_ctx=1024))
    loaded(session)
    session.turn_started(prompt_tokens=10, reused_tokens=0, new_tokens=10)
    session.turn_finished(turn(decode_s=1.0))
    before = speed_view(session)
    faster = machine(host=cpu(bandwidth_bytes_per_s=160e9))
    session.planned(plan_of(faster, n_ctx=1024))
    after = speed_view(session)
    assert before is not None
    assert after is not None
    assert before.decode.ceiling is not None
    assert after.decode.ceiling == before.decode.ceiling
    session.turn_started(prompt_tokens=10, reused_tokens=0, new_tokens=10)
    session.turn_finished(turn(decode_s=1.5))
    later = speed_view(session)
    assert later is not None
    assert later.decode.ceiling == pytest.approx(4 * before.decode.ceiling, rel=0.01)


def test_what_a_turn_was_judged_with_is_kept_with_it(plan_of: PlanOf) -> None:
    """Another start of the program reads the turn back and knows no more than was kept."""
    session = Session()
    session.planned(plan_of(n_ctx=1024))
    record = loaded(session)
    session.turn_started(prompt_tokens=10, reused_tokens=0, new_tokens=10)
    session.turn_finished(turn(record, decode_s=1.0))
    before = speed_view(session)
    kept = decode_record(encode_record(session.turns[-1].stats), TurnStats)
    assert kept.judged is not None

    again = Session()
    again.planned(plan_of(machine(host=cpu(bandwidth_bytes_per_s=160e9)), n_ctx=1024))
    later = loaded(again, at_ms=record.at_ms + 1)
    again.conversation([msgspec.structs.replace(turn(record), stats=kept)])
    after = speed_view(again)
    assert before is not None
    assert after is not None
    assert before.decode.ceiling is not None
    assert after.decode == before.decode
    assert "40.0 GB/s" in after.decode.formula
    # Of the load's record alone nothing of it could be known.
    bare = msgspec.structs.replace(kept, judged=None)
    again.conversation([msgspec.structs.replace(turn(later), stats=bare)])
    now = speed_view(again)
    assert now is not None
    assert now.decode.ceiling == pytest.approx(4 * before.decode.ceiling, rel=0.01)


BUSY = "Other programs use 1.1 processor cores, python the most of them."


def test_the_cause_of_a_slow_turn_is_kept_with_it(plan_of: PlanOf) -> None:
    """What ran then is known in that moment alone: not at a restart, nor when it grows quiet."""
    session = Session()
    session.planned(plan_of(n_ctx=1024))
    record = loaded(session)
    session.busy = BUSY
    session.turn_finished(turn(record, decode_s=100.0))
    told = judge(session)
    assert told.kind == "below"
    assert told.sentence.endswith(BUSY)
    session.busy = ""
    assert judge(session) == told
    # While the next turn is read and written the finding is of this one as before.
    session.turn_started(prompt_tokens=10, reused_tokens=0, new_tokens=10)
    session.planned(plan_of(machine(host=cpu(bandwidth_bytes_per_s=160e9)), n_ctx=1024))
    session.tokens(20, 30.0)
    assert judge(session) == told
    session.turn_ended()

    kept = decode_record(encode_record(session.turns[-1].stats), TurnStats)
    read = msgspec.structs.replace(turn(record), stats=kept)
    assert judge(replayed(record, [read])).sentence == told.sentence
    again = Session()
    again.planned(plan_of(machine(host=cpu(bandwidth_bytes_per_s=160e9)), n_ctx=1024))
    loaded(again, at_ms=record.at_ms + 1)
    again.conversation([read])
    again.busy = "Other programs use 3.0 processor cores."  # now, and not then
    assert judge(again) == told


def test_a_turn_that_was_fast_enough_keeps_no_cause(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(n_ctx=1024))
    session.busy = BUSY
    plan = session.plan
    assert plan is not None
    point = plan.rate_at(60)
    assert point is not None
    assert point.low is not None
    judged = session.judged_now(turn(reply_tokens=101, decode_s=100 / point.low).stats)
    assert judged is not None
    assert judged.causes == ()


def test_a_turn_without_a_known_bandwidth_keeps_none(plan_of: PlanOf) -> None:
    session = Session()
    assert session.judged_now(turn().stats) is None
    session.planned(plan_of(machine(host=cpu(bandwidth_bytes_per_s=None)), n_ctx=1024))
    assert session.judged_now(turn().stats) is None


def test_what_is_kept_of_a_prediction_is_that_of_the_plan_at_its_depths(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(n_ctx=1024))
    plan = session.plan
    assert plan is not None
    for prompt_tokens, reply_tokens in ((10, 0), (10, 300), (900, 124), (5000, 200)):
        stats = turn(prompt_tokens=prompt_tokens, reply_tokens=reply_tokens).stats
        judged = session.judged_now(stats)
        assert judged is not None
        for depth in (prompt_tokens, stats.mean_depth_tokens, prompt_tokens + reply_tokens):
            assert as_judged(plan, judged).rate_at(depth) == plan.rate_at(depth)


def test_a_turn_of_a_chat_that_is_not_on_screen_is_followed_and_not_shown() -> None:
    session = Session()
    session.conversation([turn()])
    session.chat(120, 0)
    session.turn_is_elsewhere = True
    session.turn_started(prompt_tokens=100, reused_tokens=40, new_tokens=60)
    session.tokens(5, 40.0)
    seen = [(session.live is None, session.state, session.used_tokens)]
    assert not session.has_evaluated
    session.turn_is_elsewhere = False
    seen.append((session.live is None, session.state, session.used_tokens))
    session.turn_is_elsewhere = True
    session.turn_ended()
    session.turn_is_elsewhere = False
    seen.append((session.live is None, session.state, session.used_tokens))
    assert seen == [(True, "ready", 120), (False, "writing", 105), (True, "ready", 120)]

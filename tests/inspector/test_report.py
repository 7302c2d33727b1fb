from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
import pytest

from gguf_tools.plan import Plan
from gguf_tools.units import format_bytes
from inspector.report import read_report, report_as_json, report_as_markdown
from inspector.session import Session
from tests.inspector.conftest import buffer, loaded, turn

PlanOf = Callable[..., Plan]


def test_report_tells_what_was_recorded(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    record = loaded(session)
    turns = [turn(record), turn(record, decode_s=100.0, samples=((1, 0.0), (21, 20.0)))]
    text = report_as_markdown("A chat | with\nbreaks", turns)
    assert text.startswith("# A chat | with breaks: what was measured")
    assert "| CPU | weights |" in text
    assert "test machine" in text
    assert "40.0 GB/s (measured)" in text
    assert "at least" in text  # the slow turn is explained
    data = json.loads(json.dumps(report_as_json("A chat", turns)))
    assert data["loads"][record.id]["plan_errors"][0]["error"] == 0
    first, second = data["turns"]
    assert first["load"] == record.id
    assert first["efficiency"] < 1
    assert second["stats"]["samples"] == [[1, 0.0], [21, 20.0]]
    assert second["decode_over_depth"] == [[111, 1.0]]
    assert "expected" in second["explanation"]


def test_a_turn_without_a_rate_has_no_share_of_the_ceiling(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    silent = turn(loaded(session), reply_tokens=1, decode_s=0.0, samples=())
    (told,) = report_as_json("A chat", [silent])["turns"]
    assert told["decode_per_s"] is None
    assert told["ceiling"] > 0
    assert told["efficiency"] is None


def test_turns_without_a_load_keep_their_figures() -> None:
    data = report_as_json("x", [turn()])
    assert data["loads"] == {}
    assert data["turns"][0]["decode_per_s"] == 50
    assert data["turns"][0]["ceiling"] is None
    assert "| 50.0 | — | — |" in report_as_markdown("x", [turn()])


def test_a_chat_without_figures_says_so() -> None:
    assert "No turn of this chat has figures." in report_as_markdown("", [])
    assert report_as_markdown("", []).startswith("# Untitled chat")


def test_each_load_is_judged_by_its_own_turns(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    first = loaded(session, at_ms=1)
    settings = msgspec.structs.replace(first.settings, flash_attention=False)
    second = msgspec.structs.replace(first, at_ms=2, settings=settings)
    assert second.id != first.id
    slow = turn(second, decode_s=100.0, samples=((1, 0.0), (101, 100.0)))
    text = report_as_markdown("Two", [turn(first), slow, turn()])
    before, _, after = text.partition("attention off")
    assert "attention on" in before
    assert "at least" in after
    assert before.count("## Load of") == 2
    unknown = msgspec.structs.replace(
        first, settings=msgspec.structs.replace(settings, flash_attention=None)
    )
    assert "attention unknown" in report_as_markdown("One", [turn(unknown)])


def test_a_report_comes_back() -> None:
    turns = [turn(), turn(decode_s=4.0)]
    data = json.dumps(report_as_json("A chat", turns)).encode()
    title, found = read_report(data)
    assert title == "A chat"
    assert [item.stats for item in found] == [item.stats for item in turns]
    for wrong in (b"", b"[]", b"{}", b"\xff", b"[" * 100_000):
        with pytest.raises(ValueError, match="no report"):
            read_report(wrong)


def test_parts_of_a_continued_reply_are_named() -> None:
    first = turn()
    part = msgspec.structs.replace(first, part=2, parts=3)
    assert "part 2 of 3" in report_as_markdown("x", [part])
    assert "part " not in report_as_markdown("x", [first])


def test_a_finding_stands_with_the_load_whose_turn_it_is_of(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    first = loaded(session, at_ms=1)
    settings = msgspec.structs.replace(first.settings, flash_attention=False)
    second = msgspec.structs.replace(first, at_ms=2, settings=settings)
    slow = turn(second, decode_s=100.0, samples=((1, 0.0), (101, 100.0)))
    text = report_as_markdown("Two", [turn(first, decode_s=100 / 60_000), slow])
    _title, before, after = text.split("## Load of ")
    said = "- **Decoding is slower than predicted.**"
    assert said not in before
    assert said in after


def test_an_error_is_told_where_it_is_one(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    record = loaded(session)
    assert record.plan is not None
    host = record.plan.devices[0]
    off = msgspec.structs.replace(
        record,
        buffers=(
            buffer("CPU_Mapped", "weights", host.weights_bytes),
            buffer("CPU", "compute", 2 * host.compute_bytes),
        ),
    )
    text = report_as_markdown("A chat", [turn(off)])
    weights, compute = (format_bytes(size) for size in (host.weights_bytes, host.compute_bytes))
    assert f"| CPU | weights | {weights} | {weights} | +0.0% |" in text
    twice = format_bytes(2 * host.compute_bytes)
    assert f"| CPU | compute | {compute} | {twice} | -50.0% |" in text

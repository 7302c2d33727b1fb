"""Replies as they come from tokens: A31, A32 and A34 together, and what is counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.text import Delta, ReplyText


def feed(reply: ReplyText, *pieces: str | bytes) -> Delta:
    out = [reply.feed(p.encode() if isinstance(p, str) else p) for p in pieces]
    out.append(reply.finish())
    return Delta("".join(d.answer for d in out), "".join(d.reasoning for d in out))


def test_a32_a_turn_end_of_ordinary_tokens_stops() -> None:
    reply = ReplyText(turn_ends=["<|im_end|>"])
    assert feed(reply, "Yes.", "<", "|im", "_end", "|>", "\n<|im_start|>user\nMore?") == Delta(
        "Yes."
    )
    assert (reply.stopped_by, reply.stop_kind) == ("<|im_end|>", "turn_end")
    assert reply.raw == "Yes.<|im_end|>"


def test_a32_a_role_marker_at_the_start_of_a_line_stops() -> None:
    reply = ReplyText(role_markers=["USER:", "<|im_start|>user"])
    assert feed(reply, "The USER: field.\n", "USER", ": hi") == Delta("The USER: field.\n")
    assert (reply.stopped_by, reply.stop_kind) == ("USER:", "role_marker")


def test_a32_it_stops_inside_reasoning_too() -> None:
    reply = ReplyText(turn_ends=["<|im_end|>"], role_markers=["USER:"])
    assert feed(reply, "<think>hm", "<|im_end|>") == Delta("", "hm")
    assert reply.stop_kind == "turn_end"
    assert reply.in_reasoning
    reply = ReplyText(role_markers=["USER:"], opened_by="<think>")
    assert feed(reply, "hm\nUSER: x") == Delta("", "hm\n")


def test_the_users_stops_leave_reasoning_alone() -> None:
    reply = ReplyText(stops=["\n\n"])
    assert feed(reply, "<think>a\n\nb</think>\n\n", "One", "\n", "\nTwo") == Delta("One", "a\n\nb")
    assert (reply.stopped_by, reply.stop_kind) == ("\n\n", "stop_string")


def test_text_held_for_a_stop_comes_before_a_turn_end() -> None:
    reply = ReplyText(stops=["STOP"], turn_ends=["<|end|>"])
    assert feed(reply, "a STO", "<|end|>") == Delta("a STO")
    reply = ReplyText(stops=["STOP"])
    assert feed(reply, "a STO") == Delta("a STO")
    reply = ReplyText(stops=["STOP"], turn_ends=["<|end|>"])
    assert feed(reply, "a STOP b<|end|>") == Delta("a ")
    assert reply.stop_kind == "stop_string"


def test_nothing_comes_after_the_end() -> None:
    reply = ReplyText(stops=["."])
    assert reply.feed(b"Yes. No") == Delta("Yes")
    assert reply.feed(b"more") == Delta()
    assert reply.finish() == Delta()
    assert not reply.finish()


def test_a31_a_reply_cut_inside_a_character() -> None:
    reply = ReplyText()
    assert feed(reply, "ok ", "🙂".encode()[:2]) == Delta("ok ")
    assert reply.raw == "ok "


def test_a31_a_control_token_after_half_a_character() -> None:
    reply = ReplyText()
    assert reply.feed("🙂".encode()[:2]) == Delta()
    delta = reply.feed(b"<|x|>", is_control=True)
    assert "<|x|>" not in delta.answer
    assert reply.feed(b"a").answer == "a"


@pytest.mark.parametrize(
    ("pieces", "tokens"),
    [
        (["Yes", "."], 0),
        (["<think>", "a", "b", "</think>", "Yes"], 4),
        (["\n", "<", "think", ">", "a", "</think>", "\n", "Yes"], 6),
        (["<", "b", ">"], 0),
        (["<think>", "a"], 2),
    ],
)
def test_reasoning_tokens(pieces: list[str], tokens: int) -> None:
    reply = ReplyText()
    feed(reply, *pieces)
    assert reply.reasoning_tokens == tokens


def test_raw_is_all_that_was_generated() -> None:
    reply = ReplyText(stops=["END"])
    reply.feed(b"<think>", is_control=True)
    reply.feed(b"a")
    assert reply.raw == "<think>a"
    reply.feed(b"</think>b END c")
    assert reply.raw == "<think>a</think>b END c"


@given(st.lists(st.sampled_from(["a", "\n", "<", "think", ">", "</", "🙂", " ", "STOP", "USER:"])))
def test_cutting_does_not_matter(words: list[str]) -> None:
    """Pieces, single bytes and all at once give the same reply."""

    def reply() -> ReplyText:
        return ReplyText(stops=["STOP"], role_markers=["USER:"])

    text = "".join(words)
    whole, pieces, single = reply(), reply(), reply()
    expected = feed(whole, text)
    assert feed(pieces, *words) == expected
    assert feed(single, *(bytes([b]) for b in text.encode())) == expected
    assert whole.stopped_by == pieces.stopped_by == single.stopped_by
    if whole.stopped_by is None:
        assert whole.raw == pieces.raw == text

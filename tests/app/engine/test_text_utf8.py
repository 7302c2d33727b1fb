"""Situation A31: characters cut between tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.text.utf8 import Utf8Stream

FAMILY = "👨‍👩‍👧‍👦"


def fed(*pieces: bytes) -> list[str]:
    stream = Utf8Stream()
    return [*(stream.feed(piece) for piece in pieces), stream.finish()]


def test_a31_an_emoji_of_four_tokens_appears_with_the_last() -> None:
    assert fed(*(bytes([b]) for b in "🙂".encode())) == ["", "", "", "🙂", ""]


@pytest.mark.parametrize("text", [FAMILY, "e\u0301a\u0308", "שלום עולם", "مرحبا", "日本語", "नमस्ते"])
def test_a31_nothing_is_held_longer_than_a_character(text: str) -> None:
    stream = Utf8Stream()
    for character in text:
        data = character.encode()
        assert [stream.feed(bytes([b])) for b in data[:-1]] == [""] * (len(data) - 1)
        assert stream.feed(data[-1:]) == character


def test_a31_a_stray_byte_is_one_mark_and_the_stream_goes_on() -> None:
    assert fed(b"ab", b"\x9f", b"cd") == ["ab", "\ufffd", "cd", ""]
    assert fed(b"ab\x9fcd") == ["ab\ufffdcd", ""]
    # a character begun and not ended: known as soon as the next one comes
    assert fed(b"\xf0\x9f", b"a") == ["", "\ufffda", ""]


@pytest.mark.parametrize("data", [b"\xed\xa0\x80", b"\xed\xa0\xbd\xed\xb8\x80"])
def test_a31_bytes_that_look_like_surrogates_are_replaced(data: bytes) -> None:
    text = "".join(fed(b"a", data, b"b"))
    assert text.strip("\ufffd") == text
    assert set(text[1:-1]) == {"\ufffd"}
    text.encode()


@pytest.mark.parametrize("data", [b"\xc0\x80", b"\xff", b"\xf5\x80\x80\x80", b"\xf4\x90\x80\x80"])
def test_a31_overlong_and_impossible_bytes(data: bytes) -> None:
    assert set("".join(fed(data))) == {"\ufffd"}


def test_a31_a_character_cut_by_the_end_is_dropped() -> None:
    stream = Utf8Stream()
    assert stream.feed("ok 🙂".encode()[:-1]) == "ok "
    assert stream.finish() == ""
    assert stream.feed(b"new") == "new"


@given(st.text(), st.data())
def test_a31_any_cutting_of_valid_text_gives_the_text(text: str, data: st.DataObject) -> None:
    raw = text.encode("utf-8", "ignore")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=10)))
    pieces = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert "".join(fed(*pieces)) == raw.decode()


@given(st.lists(st.binary(max_size=5), max_size=20))
def test_a31_any_bytes_give_valid_text_however_they_are_cut(pieces: list[bytes]) -> None:
    text = "".join(fed(*pieces))
    text.encode()
    assert text == "".join(fed(b"".join(pieces)))

"""Situation A34: reasoning and answer in one stream."""

from __future__ import annotations

import pytest

from app.engine.text import Delta, ReplyText, opened_by, opens_reasoning
from app.engine.text.reasoning import HARMONY, TAGS, without_empty_reasoning


def deltas(text: str, size: int, reply: ReplyText) -> list[Delta]:
    data = text.encode()
    out = [reply.feed(data[at : at + size]) for at in range(0, len(data), size)]
    return [*out, reply.finish()]


def split(text: str, size: int = 10_000, **options: object) -> tuple[str, str, bool]:
    """Return reasoning, answer, and whether the reasoning was left open."""
    reply = ReplyText(**options)  # type: ignore[arg-type]
    out = deltas(text, size, reply)
    return (
        "".join(d.reasoning for d in out),
        "".join(d.answer for d in out),
        reply.in_reasoning,
    )


SIZES = pytest.mark.parametrize("size", [1, 2, 3, 5, 10_000])


@SIZES
def test_a34_opened_by_the_prompt(size: int) -> None:
    opened = opened_by("<|A|><think>\n")
    assert split("abc</think>ans", size, opened_by=opened) == ("abc", "ans", False)
    assert split("\nabc\n</think>\n\nans", size, opened_by=opened) == ("abc\n", "ans", False)


@SIZES
def test_a34_never_closed_is_readable_and_said(size: int) -> None:
    assert split("<think>abc", size) == ("abc", "", True)
    assert split("<think>abc</thi", size) == ("abc</thi", "", True)
    assert split("abc", size, opened_by="<think>") == ("abc", "", True)


@SIZES
@pytest.mark.parametrize("tag", sorted(TAGS))
def test_a34_no_flash_of_tags(tag: str, size: int) -> None:
    text = f"\n {tag}\nhm <b> [x]\n{TAGS[tag]}\n\nYes."
    reply = ReplyText()
    out = deltas(text, size, reply)
    assert "".join(d.reasoning for d in out) == "hm <b> [x]\n"
    assert "".join(d.answer for d in out) == "Yes."
    assert not reply.in_reasoning


@SIZES
def test_a34_a_closing_tag_in_the_answer_is_literal(size: int) -> None:
    answer = "```\nprint('</think>')\n```\nand <think>more</think>"
    assert split("<think>a</think>\n" + answer, size) == ("a", answer, False)
    assert split(answer, size) == ("", answer, False)


@SIZES
def test_a34_a_tag_further_on_opens_nothing(size: int) -> None:
    for text in ("So <think>x</think>", "<thinker>x", "<b>x</b>", "< think>", "[THIN", "<|"):
        assert split(text, size) == ("", text, False)


@SIZES
def test_leading_white_space_of_an_answer_stays(size: int) -> None:
    assert split("\n  def f():\n", size) == ("", "\n  def f():\n", False)
    assert split(" \n", size) == ("", " \n", False)


@SIZES
def test_a34_empty_reasoning(size: int) -> None:
    assert split("<think>\n\n</think>\n\nYes.", size) == ("", "Yes.", False)


HARMONY_REPLY = (
    "<|channel|>analysis<|message|>hm\n<|end|>"
    "<|start|>assistant<|channel|>commentary<|message|>Let me see. <|end|>"
    "<|start|>assistant<|channel|>analysis<|message|>more<|end|>"
    "<|start|>assistant<|channel|>final<|message|>Yes < no.<|return|>"
)


@SIZES
def test_a34_channels(size: int) -> None:
    assert split(HARMONY_REPLY, size) == ("hm\nmore", "Let me see. Yes < no.", False)
    cut = "<|channel|>analysis<|message|>hm"
    assert split(cut, size) == ("hm", "", True)
    assert split("<|channel|>final<|message|>Yes", size) == ("", "Yes", False)
    tool = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
    assert split(tool, size)[1] == ""


@SIZES
def test_a34_channels_opened_by_the_prompt(size: int) -> None:
    opened = opened_by("<|start|>assistant<|channel|>analysis<|message|>")
    assert opened == HARMONY
    text = "hm<|end|><|start|>assistant<|channel|>final<|message|>Yes"
    assert split(text, size, opened_by=opened) == ("hm", "Yes", False)


@SIZES
def test_a_header_that_never_ends_is_shown(size: int) -> None:
    text = "I lost the format. " * 20
    assert split("<|channel|>" + text, size) == ("", text, False)
    broken = "<|channel|>final<|message|>Yes.<|end|>" + text
    assert split(broken, size) == ("", "Yes." + text, False)


def test_a_reply_of_nothing_but_white_space_is_not_held_for_ever() -> None:
    reply = ReplyText()
    out = [reply.feed(b"\n").answer for _ in range(1000)]
    assert out[-1] == "\n"
    assert "".join(out) == "\n" * 1000


def test_a34_channels_of_control_tokens_leave_typed_marks_alone() -> None:
    reply = ReplyText()
    pieces = [
        *(("<|channel|>", True), ("final", False), ("<|message|>", True)),
        *(("The mark <|end|> ends <|channel|>s.", False), ("<|return|>", True)),
    ]
    out = [reply.feed(text.encode(), is_control=control) for text, control in pieces]
    assert "".join(d.answer for d in out) == "The mark <|end|> ends <|channel|>s."


def test_control_tokens_are_never_shown_but_open_and_close() -> None:
    reply = ReplyText()
    pieces = [
        *(("<|unknown|>", True), ("<think>", True), ("\nhm", False), ("<|tool|>", True)),
        *(("</think>", True), ("\n\nYes", False), ("<|tool|>", True), (" no", False)),
    ]
    out = [reply.feed(text.encode(), is_control=control) for text, control in pieces]
    assert "".join(d.reasoning for d in out) == "hm"
    assert "".join(d.answer for d in out) == "Yes no"


def test_a_tag_of_several_tokens() -> None:
    reply = ReplyText()
    pieces = [("<|channel>", True), ("thought", False), ("\nhm", False), ("<channel|>", True)]
    out = [reply.feed(text.encode(), is_control=control) for text, control in pieces]
    assert "".join(d.reasoning for d in out) == "hm"
    assert reply.feed(b"Yes").answer == "Yes"


@pytest.mark.parametrize(
    ("prompt", "tag"),
    [
        ("…<|assistant|>\n<think>\n", "<think>"),
        ("…<|assistant|>[THINK]", "[THINK]"),
        ("…<|CHATBOT_TOKEN|><|START_THINKING|>", "<|START_THINKING|>"),
        ("…<|assistant|>\n<think>\n\n</think>\n\n", None),
        ("…[THINK][/THINK]", None),
        ("…<|channel>thought\n<channel|>", None),
        ("…<|channel>thought\n", "<|channel>thought"),
        ("what is <think>?<|end|><|assistant|>", None),
        ("…<|start|>assistant<|channel|>final<|message|>", None),
        ("…<|start|>assistant", None),
        ("", None),
    ],
)
def test_a34_what_a_prompt_opens(prompt: str, tag: str | None) -> None:
    assert opened_by(prompt) == tag
    assert opens_reasoning(prompt) == (tag is not None)


def test_reasoning_that_a_prompt_closed_is_taken_off() -> None:
    assert without_empty_reasoning("a<think>\n\n</think>\n\n") == "a"
    assert without_empty_reasoning("a</think>") == "a"
    assert without_empty_reasoning("a<think>\n") == "a<think>\n"

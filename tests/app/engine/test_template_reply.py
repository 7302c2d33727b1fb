"""Replies that are gone on with, that reason, and that must end: situations A32 and A34."""

from __future__ import annotations

import pytest

from app.engine.templates.builtin import BUILTIN_TEMPLATES, BuiltinTemplate
from app.engine.templates.prompt import ChatTemplate
from app.engine.templates.renderer import TemplateRenderer
from app.engine.text import opens_reasoning
from tests.helpers.template_sources import (
    CHATML,
    OPENED,
    SILENT,
    STRICT,
    THINKING,
    messages,
    template,
)

# --- going on with a reply ------------------------------------------------------------------


@pytest.mark.parametrize("source", [CHATML, STRICT, SILENT, THINKING, OPENED])
@pytest.mark.parametrize("text", ["The answer is", "The answer is ", "a\n\n", " 1"])
def test_a_reply_stays_open_exactly_where_it_ends(
    renderer: TemplateRenderer, source: str, text: str
) -> None:
    chat = template(renderer, source)
    before = messages(("s", "S"), ("u", "U"), ("a", "A"), ("u", "V"))
    prompt = chat.render([*before, *messages(("a", text))], continue_reply=True)
    assert prompt.endswith(text)
    longer = chat.render([*before, *messages(("a", text + " and more"))], continue_reply=True)
    assert longer == prompt + " and more"


@pytest.mark.parametrize("name", sorted(BUILTIN_TEMPLATES))
def test_going_on_continues_what_was_generated(renderer: TemplateRenderer, name: str) -> None:
    chat = template(renderer, None, name)
    turns = messages(("u", "U"))
    opening = chat.render(turns)
    generated = " 4" if name in {"llama-2", "mistral", "vicuna"} else "4"
    go_on = chat.render([*turns, *messages(("a", generated))], continue_reply=True)
    assert go_on == opening + generated


def test_going_on_with_nothing_is_a_new_reply(renderer: TemplateRenderer) -> None:
    chat = template(renderer, CHATML)
    turns = messages(("u", "U"))
    empty = chat.render([*turns, *messages(("a", ""))], continue_reply=True)
    assert empty == chat.render(turns)
    assert chat.render(turns, continue_reply=True) == chat.render(turns)


def test_going_on_after_reasoning(renderer: TemplateRenderer) -> None:
    before = messages(("u", "U"))
    answered = [*before, *messages(("a", "A ", "R"))]
    cut = [*before, *messages(("a", "", "R and"))]

    chat = template(renderer, THINKING)
    start = chat.render(before)
    assert chat.render(answered, continue_reply=True) == start + "<think>\nR\n</think>\n\nA "
    assert chat.render(cut, continue_reply=True) == start + "<think>\nR and"
    # the switch is off by now, but the reply began with it on
    off = chat.render(cut, continue_reply=True, thinking=False)
    assert off == start + "<think>\nR and"

    chat = template(renderer, OPENED)
    start = chat.render(before)
    assert chat.render(answered, continue_reply=True) == start + "R\n</think>\n\nA "
    assert chat.render(cut, continue_reply=True) == start + "R and"

    chat = template(renderer, CHATML)
    start = chat.render(before)
    assert chat.render(answered, continue_reply=True) == start + "<think>\nR\n</think>\n\nA "


def test_a34_a_prompt_that_opens_reasoning_is_recognised(renderer: TemplateRenderer) -> None:
    opened = template(renderer, OPENED)
    prompt = opened.render(messages(("u", "U")))
    assert opens_reasoning(prompt)
    text = opened.reply_text(prompt)
    assert text.in_reasoning
    delta = text.feed(b"abc</think>ans")
    assert (delta.reasoning, delta.answer) == ("abc", "ans")
    assert not opens_reasoning(template(renderer, CHATML).render(messages(("u", "<think>"))))
    switched_off = template(renderer, THINKING).render(messages(("u", "U")), thinking=False)
    assert not opens_reasoning(switched_off)


def test_a34_going_on_inside_reasoning_and_inside_an_answer(renderer: TemplateRenderer) -> None:
    chat = template(renderer, THINKING)
    turns = messages(("u", "U"), ("a", "", "half a"))
    prompt = chat.render(turns, continue_reply=True)
    text = chat.reply_text(prompt, continued=turns[-1])
    assert text.feed(b" thought</think>A").reasoning == " thought"
    turns = messages(("u", "U"), ("a", "half an", "R"))
    prompt = chat.render(turns, continue_reply=True)
    text = chat.reply_text(prompt, continued=turns[-1])
    assert text.feed(b"<think> is a tag").answer == "<think> is a tag"


def test_a34_tags_are_learnt_from_the_template(renderer: TemplateRenderer) -> None:
    source = THINKING.replace("<think>", "<muse:in>").replace("</think>", "<muse:out>")
    chat = template(renderer, source)
    assert chat.reasoning_tags()["<muse:in>"] == "<muse:out>"
    text = chat.reply_text(chat.render(messages(("u", "U"))))
    delta = text.feed(b"<muse:in>\nhm<muse:out>\n\nA")
    assert (delta.reasoning, delta.answer) == ("hm", "A")


# --- A32 ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "turn_end", "markers"),
    [
        (CHATML, "<|im_end|>", ("<|im_start|>user", "<|im_start|>system")),
        (STRICT, "</turn>", ("<turn>user",)),
        (THINKING, "<|im_end|>", ("<|im_start|>user", "<|im_start|>system")),
        (OPENED, "<|end|>", ("<|U|>",)),
        (SILENT, "", ()),
        # the last reply is not closed, the one before is
        (
            (
                "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}"
                "{% if not loop.last %}<|eot|>{% endif %}{% endfor %}"
            ),
            "<|eot|>",
            ("<|user|>", "<|system|>"),
        ),
        # two closings that begin alike
        (
            (
                "{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}"
                "{% if loop.last %}<|return|>{% else %}<|end|>{% endif %}{% endfor %}"
            ),
            "<|return|>",
            ("<|start|>user<|message|>", "<|start|>system<|message|>"),
        ),
        # end of text after the last turn only
        (
            (
                "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
                "{{ eos_token }}"
            ),
            "<|end|>",
            ("<|user|>", "<|system|>"),
        ),
    ],
)
def test_a32_ends_and_markers_are_learnt(
    renderer: TemplateRenderer, source: str, turn_end: str, markers: tuple[str, ...]
) -> None:
    chat = template(renderer, source)
    assert chat.used == "file"
    assert chat.turn_end() == turn_end
    assert chat.role_markers() == markers


@pytest.mark.parametrize("built_in", BUILTIN_TEMPLATES.values(), ids=lambda t: t.name)
def test_a32_built_in_formats_keep_what_they_promise(
    renderer: TemplateRenderer, built_in: BuiltinTemplate
) -> None:
    # the same through the child and without it
    chosen, read = template(renderer, None, built_in.name), template(renderer, built_in.source)
    turns = messages(("s", "S"), ("u", "U"), ("a", "A"), ("u", "V"))
    assert chosen.render(turns) == read.render(turns)
    assert all(word in chosen.render(turns) for word in "SUAV")
    assert chosen.supports_system
    token_ends_it = "" if built_in.name == "plain" else "</s>"
    assert chosen.turn_end() == (built_in.turn_end or token_ends_it)
    assert set(chosen.stops) == set(built_in.stops) - {built_in.turn_end}


def test_a32_a_model_that_talks_to_itself_is_stopped(renderer: TemplateRenderer) -> None:
    chat = template(renderer, CHATML)
    prompt = chat.render(messages(("u", "U")))

    # neither text is a special token of the vocabulary
    text = chat.reply_text(prompt)
    assert text.feed(b"Fine.<|im_").answer == "Fine."
    assert not text.feed(b"end|>\n<|im_start|>user\nAnd")
    assert (text.stopped_by, text.stop_kind) == ("<|im_end|>", "turn_end")
    text = chat.reply_text(prompt)
    assert text.feed(b"Fine.\n<|im_start|>user\nAnd").answer == "Fine.\n"
    assert (text.stopped_by, text.stop_kind) == ("<|im_start|>user", "role_marker")


def test_a32_a_model_may_write_about_its_special_tokens(renderer: TemplateRenderer) -> None:
    known = {"<|im_start|>", "<|im_end|>"}
    chat = ChatTemplate(CHATML, None, "", "", renderer, known_tokens=known.__contains__)
    lesson = "ChatML:\n<|im_start|>user\nHi<|im_end|>\nThat is all."
    text = chat.reply_text("")
    assert text.feed(lesson.encode()).answer + text.finish().answer == lesson
    assert text.stopped_by is None
    # the tokens themselves still end the reply
    text = chat.reply_text("")
    assert text.feed(b"Fine.").answer == "Fine."
    assert not text.feed(b"<|im_start|>", is_control=True)
    assert not text.feed(b"user")
    assert text.stop_kind == "role_marker"

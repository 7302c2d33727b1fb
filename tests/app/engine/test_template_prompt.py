"""Conversations as they are, with the real child: situations A24, A27 and A28."""

from __future__ import annotations

import pytest

from app.engine.templates.renderer import TemplateRenderer
from tests.helpers.template_sources import (
    CHATML,
    OPENED,
    SILENT,
    STRICT,
    THINKING,
    messages,
    template,
)


def test_the_files_template_is_used_as_it_is(renderer: TemplateRenderer) -> None:
    chat = template(renderer, CHATML)
    assert (chat.used, chat.notice, chat.failure, chat.stops) == ("file", None, None, ())
    assert chat.supports_system
    assert not chat.thinking
    assert chat.render(messages(("s", "S"), ("u", "U"))) == (
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"
    )
    closed = chat.render(messages(("u", "U"), ("a", "A")), add_generation_prompt=False)
    assert closed.endswith("A<|im_end|>\n")


# --- A27 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [STRICT, SILENT])
def test_a27_system_text_goes_into_the_first_user_turn(
    renderer: TemplateRenderer, source: str
) -> None:
    chat = template(renderer, source)
    assert not chat.supports_system
    assert chat.notice is None
    prompt = chat.render(messages(("s", "Be brief."), ("u", "Hi"), ("a", "Yes?"), ("u", "Bye")))
    assert prompt.count("Be brief.\n\nHi") == 1
    assert prompt == chat.render(messages(("u", "Be brief.\n\nHi"), ("a", "Yes?"), ("u", "Bye")))


def test_a27_a_system_message_alone_can_be_measured(renderer: TemplateRenderer) -> None:
    assert "Be brief." in template(renderer, STRICT).render(messages(("s", "Be brief.")))
    picky = "{% if messages[-1].role != 'user' %}{{ raise_exception('No question') }}{% endif %}"
    chat = template(renderer, picky + CHATML)
    assert "Be brief." in chat.render(messages(("s", "Be brief.")))


def test_a27_an_empty_system_message_is_none(renderer: TemplateRenderer) -> None:
    chat = template(renderer, CHATML)
    assert chat.render(messages(("s", "  "), ("u", "Hi"))) == chat.render(messages(("u", "Hi")))


# --- A28 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [STRICT, SILENT, CHATML])
def test_a28_two_questions_in_a_row_are_joined(renderer: TemplateRenderer, source: str) -> None:
    chat = template(renderer, source)
    twice = messages(("u", "One"), ("u", "Two"))
    assert chat.render(twice) == chat.render(messages(("u", "One\n\nTwo")))
    assert [m.content for m in twice] == ["One", "Two"]


def test_a28_a_reply_stopped_before_its_first_word_is_left_out(renderer: TemplateRenderer) -> None:
    chat = template(renderer, STRICT)
    stopped = messages(("u", "One"), ("a", ""), ("u", "Two"), ("a", " \n", "only thoughts"))
    assert chat.render(stopped) == chat.render(messages(("u", "One\n\nTwo")))


def test_a28_a_deleted_question_leaves_two_replies(renderer: TemplateRenderer) -> None:
    chat = template(renderer, STRICT)
    prompt = chat.render(messages(("u", "U"), ("a", "One"), ("a", "Two"), ("u", "V")))
    assert prompt == chat.render(messages(("u", "U"), ("a", "One\n\nTwo"), ("u", "V")))


def test_a28_a_conversation_may_begin_with_the_assistant(renderer: TemplateRenderer) -> None:
    greeting = messages(("s", "S"), ("a", "Welcome!"), ("u", "Hi"))
    prompt = template(renderer, STRICT).render(greeting)
    assert prompt.startswith("<s><turn>user\n")
    assert prompt.index("Welcome!") < prompt.index("Hi")
    assert "assistant\nWelcome!" in template(renderer, CHATML).render(greeting)


def test_a28_system_message_in_the_middle(renderer: TemplateRenderer) -> None:
    turns = messages(("u", "U"), ("a", "A"), ("s", "Now in French."), ("u", "V"))
    assert "Now in French.\n\nV" in template(renderer, STRICT).render(turns)
    assert "system\nNow in French.<|im_end|>" in template(renderer, CHATML).render(turns)
    last = messages(("u", "U"), ("a", "A"), ("s", "Now in French."))
    assert "user\nNow in French." in template(renderer, STRICT).render(last)


def test_a28_a_template_that_moves_system_text_does_not_lose_the_first(
    renderer: TemplateRenderer,
) -> None:
    hoisting = (
        "{% set ns = namespace(s='') %}{% for m in messages %}{% if m.role == 'system' %}"
        "{% set ns.s = m.content %}{% endif %}{% endfor %}{{ ns.s }}"
        "{% for m in messages if m.role != 'system' %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    )
    turns = messages(("s", "First."), ("u", "U"), ("a", "A"), ("s", "Second."), ("u", "V"))
    prompt = template(renderer, hoisting).render(turns)
    assert prompt == "First.[user]U[assistant]A[user]Second.\n\nV"


# --- A24 ------------------------------------------------------------------------------------


def test_a24_reasoning_is_given_to_templates_that_take_it(renderer: TemplateRenderer) -> None:
    chat = template(renderer, THINKING)
    turns = messages(("u", "U"), ("a", "A", "R"))
    assert "<think>\nR\n</think>\n\nA" in chat.render(turns, add_generation_prompt=False)
    later = chat.render([*turns, *messages(("u", "thanks"))])
    assert "R" not in later.replace("<|im", "")
    assert "assistant\nA<|im_end|>" in later


def test_a24_reasoning_is_left_out_otherwise(renderer: TemplateRenderer) -> None:
    turns = messages(("u", "U"), ("a", "A", "secret thoughts"), ("u", "V"))
    for source in (CHATML, STRICT, OPENED):
        assert "secret" not in template(renderer, source).render(turns)


@pytest.mark.parametrize("key", ["reasoning", "thinking"])
def test_a24_other_names_of_reasoning(renderer: TemplateRenderer, key: str) -> None:
    source = (
        "{% for m in messages %}[{{ m.role }}]{% if m." + key + " %}<t>{{ m['" + key + "'] }}</t>"
        "{% endif %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
    )
    chat = template(renderer, source)
    assert "<t>R</t>A" in chat.render(messages(("u", "U"), ("a", "A", "R"), ("u", "V")))
    assert chat.reasoning_tags()["<t>"] == "</t>"


def test_a24_the_time_is_pinned(renderer: TemplateRenderer) -> None:
    chat = template(renderer, "{{ strftime_now('%H:%M:%S.%f') }}" + CHATML)
    now = "2024-07-26T08:09:10"
    first = chat.render(messages(("u", "U")), now=now)
    assert first.startswith("08:09:10")
    later = chat.render(messages(("u", "U"), ("a", "A"), ("u", "V")), now=now)
    assert later.startswith(first)


def test_a24_the_switch_for_reasoning(renderer: TemplateRenderer) -> None:
    chat = template(renderer, THINKING)
    assert chat.thinking
    turns = messages(("u", "U"))
    assert chat.render(turns) == chat.render(turns, thinking=True)
    assert chat.render(turns, thinking=False).endswith("<think>\n\n</think>\n\n")
    commented = template(renderer, "{# enable_thinking does nothing here #}" + CHATML)
    assert not commented.thinking

"""Conversations and templates as they are, with the real child: situations A24, A27 to A30, A32."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.engine.protocol import ChatMessage
from app.engine.templates.builtin import BUILTIN_TEMPLATES, BuiltinTemplate
from app.engine.templates.errors import TemplateError
from app.engine.templates.prompt import ChatTemplate
from app.engine.templates.renderer import TemplateRenderer
from app.engine.text import opens_reasoning

CHATML = BUILTIN_TEMPLATES["chatml"].source

# refuses a system message and turns that do not alternate
STRICT = """
{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {{- raise_exception('System role not supported') }}
{%- endif %}
{%- for message in messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Conversation roles must alternate user/assistant/...') }}
    {%- endif %}
    {{- '<turn>' + ('model' if message['role'] == 'assistant' else message['role']) + '\\n' }}
    {{- message['content'] | trim + '</turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<turn>model\\n' }}{% endif %}
"""

# says nothing about a system message, it just never appears
SILENT = """
{%- for m in messages %}
    {%- if m.role == 'user' %}{{ 'Q: ' + m.content + '\\n' }}
    {%- elif m.role == 'assistant' %}{{ 'A: ' + m.content + '\\n' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ 'A:' }}{% endif %}
"""

# keeps reasoning of the newest reply, drops it from earlier ones, closes it by a switch
THINKING = """
{%- set ns = namespace(last=-1) %}
{%- for m in messages if m.role == 'user' %}
    {%- set ns.last = messages.index(m) %}
{%- endfor %}
{%- for m in messages %}
    {{- '<|im_start|>' + m.role + '\\n' }}
    {%- if m.role == 'assistant' and loop.index0 > ns.last %}
        {{- '<think>\\n' + (m.reasoning_content or '').strip('\\n') + '\\n</think>\\n\\n' }}
    {%- endif %}
    {{- m.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
"""

# opens the reasoning itself and leaves it out of earlier replies
OPENED = """
{%- for m in messages %}
    {%- if m.role == 'assistant' %}{{ '<|A|>' + m.content.split('</think>')[-1] + '<|end|>' }}
    {%- else %}{{ '<|U|>' + m.content }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|A|><think>\\n' }}{% endif %}
"""


@pytest.fixture(scope="module")
def renderer() -> Iterator[TemplateRenderer]:
    with TemplateRenderer() as renderer:
        renderer.render("", {})
        yield renderer


def template(
    renderer: TemplateRenderer, source: str | None, name: str | None = None
) -> ChatTemplate:
    return ChatTemplate(source, name, "<s>", "</s>", renderer)


def messages(*turns: tuple[str, str] | tuple[str, str, str]) -> list[ChatMessage]:
    roles = {"s": "system", "u": "user", "a": "assistant"}
    return [
        ChatMessage(
            id=str(number),
            role=roles[turn[0]],  # type: ignore[arg-type]
            content=turn[1],
            reasoning=turn[2] if len(turn) == 3 else None,
        )
        for number, turn in enumerate(turns)
    ]


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


# --- A29, A30 -------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [None, "", " \n"])
def test_a29_no_template_is_said(renderer: TemplateRenderer, source: str | None) -> None:
    chat = template(renderer, source)
    assert chat.used == "vicuna"
    assert chat.notice is not None
    assert "no chat template" in chat.notice
    assert "Vicuna" in chat.notice
    assert chat.render(messages(("u", "Hi"))) == "<s>USER: Hi\nASSISTANT:"


@pytest.mark.parametrize(
    ("name", "tokens"),
    [(t.name, t.tokens) for t in BUILTIN_TEMPLATES.values() if t.tokens],
)
def test_a29_the_vocabulary_tells_the_format(
    renderer: TemplateRenderer, name: str, tokens: tuple[str, ...]
) -> None:
    chat = ChatTemplate(None, None, "", "", renderer, known_tokens=set(tokens).__contains__)
    assert chat.used == name
    assert chat.notice is not None


def test_a29_another_format_or_plain_completion_can_be_chosen(renderer: TemplateRenderer) -> None:
    chat = template(renderer, CHATML, "plain")
    assert (chat.used, chat.notice) == ("plain", None)
    turns = messages(("u", "Once upon"), ("a", " a time"), ("u", "The end."))
    assert chat.render(turns) == "<s>Once upon a time\nThe end."
    assert chat.turn_end() == ""
    assert chat.role_markers() == ()


def test_a29_an_unknown_format_is_said(renderer: TemplateRenderer) -> None:
    chat = template(renderer, CHATML, "klingon")
    assert chat.used == "file"
    assert chat.notice == "There is no chat format called klingon."


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("one\n{% frobnicate %}", ("frobnicate", "line 2")),
        ("one\n{{ messages[0].content | frob }}", ("frob", "line 2")),
        ("{{ get_date() }}{{ messages[0].content }}", ("get_date", "line 1")),
        ("Always the same text.", ("leaves out what the user says",)),
        ("{{ messages[0].content }}{{ raise_exception('No, thanks.') }}", ("No, thanks",)),
        ("{% if messages|length > 1 %}{{ x.y }}{% endif %}{{ messages[0].content }}", ("'x'",)),
    ],
)
def test_a30_a_broken_template_is_replaced_visibly(
    renderer: TemplateRenderer, source: str, words: tuple[str, ...]
) -> None:
    chat = template(renderer, source)
    assert chat.used == "vicuna"
    assert isinstance(chat.failure, TemplateError)
    assert chat.notice is not None
    for word in (*words, "Vicuna"):
        assert word in chat.notice
    assert chat.notice.count(".") - chat.notice.count("No, thanks.") <= 2
    assert "Hi" in chat.render(messages(("u", "Hi")))


def test_a09_a_hostile_template_is_replaced_visibly() -> None:
    loop = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    with TemplateRenderer(time_limit_s=0.3) as renderer:
        chat = template(renderer, loop)
        assert chat.failure is not None
        assert chat.failure.kind == "time"
        assert chat.used == "vicuna"
        chat = template(renderer, CHATML + "{% if messages | length > 6 %}" + loop + "{% endif %}")
        assert chat.used == "file"
        with pytest.raises(TemplateError, match="longer"):
            chat.render(messages(*[("u", "U"), ("a", "A")] * 5))


def test_a30_a_fallback_needs_no_child() -> None:
    with TemplateRenderer(command=["/no/such/program"]) as renderer:
        chat = template(renderer, CHATML)
        assert chat.used == "vicuna"
        assert chat.notice is not None
        assert "does not start" in chat.notice
        assert chat.render(messages(("u", "Hi"))) == "<s>USER: Hi\nASSISTANT:"


def test_a30_tools_as_a_list_where_none_fails(renderer: TemplateRenderer) -> None:
    chat = template(renderer, "{% for t in tools %}{{ t }}{% endfor %}" + CHATML)
    assert chat.used == "file"
    assert chat.render(messages(("u", "Hi"))).startswith("<|im_start|>user\nHi")


def test_a30_content_as_typed_parts_where_text_is_not_seen(renderer: TemplateRenderer) -> None:
    source = (
        "{% for m in messages %}[{{ m.role }}]{% for part in m.content %}"
        "{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}{% endfor %}"
    )
    chat = template(renderer, source)
    assert chat.used == "file"
    assert chat.render(messages(("s", "S"), ("u", "U"))) == "[system]S[user]U"


def test_none_is_never_a_word(renderer: TemplateRenderer) -> None:
    nothing = ChatMessage(id="1", role="assistant", content="", reasoning=None)
    broken = ChatMessage(id="2", role="user", content=None)  # type: ignore[arg-type]
    chat = template(renderer, "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}")
    prompt = chat.render([*messages(("u", "U")), nothing, broken])
    assert "None" not in prompt
    assert "None" not in template(renderer, THINKING).render(messages(("u", "U"), ("a", "A")))


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

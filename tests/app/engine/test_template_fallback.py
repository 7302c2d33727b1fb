"""Templates that are missing, broken or want something else: situations A09, A29 and A30."""

from __future__ import annotations

import pytest

from app.engine.protocol import ChatMessage
from app.engine.templates.builtin import BUILTIN_TEMPLATES
from app.engine.templates.errors import TemplateError
from app.engine.templates.prompt import ChatTemplate
from app.engine.templates.renderer import TemplateRenderer
from tests.helpers.template_sources import (
    CHATML,
    THINKING,
    messages,
    template,
)

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

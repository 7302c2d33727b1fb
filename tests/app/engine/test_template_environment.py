from __future__ import annotations

import pytest

from app.engine.templates.environment import MAX_SOURCE_CHARS, render
from app.engine.templates.errors import TemplateError

NOON = "2024-07-26T12:00:00+02:00"
MESSAGES = [{"role": "user", "content": "Hällo <b>"}]


def failure(source: str, **values: object) -> TemplateError:
    with pytest.raises(TemplateError) as caught:
        render(source, values)
    return caught.value


def test_blocks_leave_no_lines_behind() -> None:
    source = "a\n    {% if true %}\n  b\n    {% endif %}\nc"
    assert render(source, {}) == "a\n  b\nc"


def test_a30_loop_controls() -> None:
    source = "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}"
    assert render(source + "{% if i > 2 %}{% break %}{% endif %}{% endfor %}", {}) == "023"


def test_a30_generation_tags_print_their_body_in_a_scope_of_its_own() -> None:
    source = (
        "{% set x = 'out' %}{% generation %}{% set x = 'in' %}{{ x }}{% endgeneration %} {{ x }}"
    )
    assert render(source, {}) == "in out"


def test_a30_strftime_now_tells_the_pinned_time() -> None:
    assert render("{{ strftime_now('%d %b %Y, %H:%M') }}", {}, NOON) == "26 Jul 2024, 12:00"
    assert render("{{ strftime_now('%Y') }}", {}).isdigit()


def test_a_time_that_is_none_is_the_callers_fault() -> None:
    with pytest.raises(ValueError, match="isoformat"):
        render("x", {}, "yesterday")


def test_a30_tojson_is_that_of_the_reference_renderer() -> None:
    value = {"b": "ä<&>'", "a": [1, None]}
    assert render("{{ v | tojson }}", {"v": value}) == '{"b": "ä<&>\'", "a": [1, null]}'
    assert render("{{ v | tojson(ensure_ascii=true) }}", {"v": "ä"}) == '"\\u00e4"'
    compact = "{{ v | tojson(separators=(',', ':'), sort_keys=true) }}"
    assert render(compact, {"v": {"b": 1, "a": 2}}) == '{"a":2,"b":1}'
    assert render("{{ v | tojson(indent=2) }}", {"v": [1]}) == "[\n  1\n]"


def test_text_is_not_escaped() -> None:
    assert render("{{ messages[0].content }}", {"messages": MESSAGES}) == "Hällo <b>"


def test_a30_undefined_variables_are_empty() -> None:
    assert render("[{{ nobody }}][{{ messages[0].nothing }}]", {"messages": MESSAGES}) == "[][]"
    assert render("{{ 'yes' if nobody is defined else 'no' }}", {}) == "no"


def test_a30_tools_are_none_unless_given() -> None:
    source = "{% if tools is none %}none{% else %}{{ tools | length }}{% endif %}"
    assert render(source, {}) == "none"
    assert render(source, {"tools": []}) == "0"


def test_a30_an_unknown_tag_is_named_with_its_line() -> None:
    error = failure("one\ntwo\n{% frobnicate %}")
    assert (error.kind, error.line) == ("syntax", 3)
    assert "frobnicate" in str(error)
    assert "line 3" in str(error)


@pytest.mark.parametrize(
    ("source", "kind", "word"),
    [
        ("\n{{ 'x' | frobnicate }}", "syntax", "frobnicate"),
        ("\n{{ frobnicate('x') }}", "undefined", "frobnicate"),
        ("\n{{ nobody.name }}", "undefined", "nobody"),
        ("\n{{ raise_exception('Conversation roles must alternate') }}", "raised", "alternate"),
        ("\n{{ 'a' + none }}", "raised", "TypeError"),
        ("\n{{ 1 / 0 }}", "raised", "ZeroDivisionError"),
        ("\n{% include 'other' %}", "raised", "loader"),
    ],
)
def test_errors_say_what_and_where(source: str, kind: str, word: str) -> None:
    error = failure(source)
    assert (error.kind, error.line) == (kind, 2)
    assert word in error.message
    assert "\n" not in str(error)


def test_a_long_complaint_is_cut_to_a_sentence() -> None:
    assert len(str(failure("{{ raise_exception('x ' * 100000) }}"))) < 400


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a' * 1000000000 }}",
        "{{ 1000000000 * [0] }}",
        "{{ ('a',) * 1000000000 }}",
        "{{ 10 ** 100000 }}",
        "{{ (10 ** 1000) * (10 ** 1000) }}",
        "{{ '%1000000000s' % 'a' }}",
        "{{ '%.1000000000f' % 1.0 }}",
        "{{ '%*d' % (1000000000, 1) }}",
        "{{ '%(a)1000000000s' % {'a': 1} }}",
        "{{ '%1000000000s' | format('a') }}",
        "{{ '{:>1000000000}'.format('a') }}",
        "{{ '{:{w}}'.format('a', w=1000000000) }}",
        "{{ '{a:>1000000000}'.format_map({'a': 1}) }}",
        "{{ ('{:>1000000000}' | attr('format'))('a') }}",
        "{{ 'a'.ljust(1000000000) }}",
        "{{ ('a' | attr('zfill'))(1000000000) }}",
        "{{ '\t'.expandtabs(1000000000) }}",
        "{{ 'a' | center(1000000000) }}",
        "{{ ['a'] | map('center', 1000000000) | list }}",
        "{{ 'a\nb' | indent(1000000000) }}",
        "{{ [1] | batch(1000000000, 0) | list }}",
        "{{ [1] | slice(1000000000) | list }}",
        "{{ v | tojson(indent=1000000000) }}",
        "{{ range(1000000000) | list }}",
    ],
)
def test_a09_one_operation_can_not_make_something_huge(source: str) -> None:
    assert failure(source, v=[1]).kind == "refused"


CHAINS = [
    "''.__class__",
    "''['__class__'].__mro__",
    "(messages | attr('__class__')).__base__",
    "messages.append({'role': 'system'})",
    "messages[0].update({'role': 'system'})",
    "self.__init__.__globals__",
    "cycler.__init__.__globals__.os.popen('id').read()",
    "joiner.__init__.__globals__",
    "namespace.__init__.__globals__",
    "raise_exception.__globals__",
    "strftime_now.__self__.__class__",
    "'{0.__class__.__mro__}'.format('a')",
    "'{a.__class__.__mro__}'.format_map({'a': 1})",
    "([].__iter__ | attr('__self__')).__class__",
    "(messages | map(attribute='__class__') | list)[0].__mro__",
]


@pytest.mark.parametrize("chain", CHAINS)
def test_a09_attribute_chains_lead_nowhere(chain: str) -> None:
    messages = [{"role": "user"}]
    source = "{% set found = " + chain + " %}{{ found.anything }}"
    assert failure(source, messages=messages).kind in {"refused", "undefined"}
    assert messages == [{"role": "user"}]


def test_a09_no_filler_text() -> None:
    assert failure("{{ lipsum(1000) }}").kind == "undefined"


def test_ordinary_formatting_still_works() -> None:
    assert render("{{ '%-5s|%05.1f|%%' % ('a', 2.5) }}", {}) == "a    |002.5|%"
    assert render("{{ '{:>5}|{{}}|{x}'.format('a', x=1) }}", {}) == "    a|{}|1"
    assert render("{{ '-' * 5 }}{{ 7 * 6 }}{{ 2 ** 10 }}", {}) == "-----421024"
    assert render("{{ 20240726 | string | center(12) }}", {}) == "  20240726  "
    assert render("{{ v | indent(2) }}", {"v": "x" * 20000 + "\ny"}).endswith("\n  y")


def test_a09_output_is_counted_in_bytes_while_it_is_made() -> None:
    source = "{% for i in range(1000) %}{{ 'ä' * 1000 }}{% endfor %}"
    with pytest.raises(TemplateError) as caught:
        render(source, {}, max_output_bytes=1_999_999)
    assert caught.value.kind == "output"
    assert len(render(source, {}, max_output_bytes=2_000_000)) == 1_000_000


def test_a_template_of_absurd_length_is_refused() -> None:
    assert failure("x" * (MAX_SOURCE_CHARS + 1)).kind == "refused"


def test_half_a_character_in_a_literal_becomes_a_replacement_mark() -> None:
    assert render(r"{{ 'a\ud83db' }}", {}) == "a\ufffdb"

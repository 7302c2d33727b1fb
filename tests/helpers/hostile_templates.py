"""Hostile chat templates, made from a seed, through the real renderer and its child process."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from typing import Any, Final

from app.engine.templates.builtin import BUILTIN_TEMPLATES
from app.engine.templates.errors import TemplateError
from app.engine.templates.renderer import TemplateRenderer
from tests.helpers.hostile_values import mutated, spoiled
from tests.helpers.patience import PATIENCE_S

__all__ = ["attack_templates"]

_TIME_LIMIT_S: Final = 0.4
_OUTPUT_LIMIT_BYTES: Final = 1_000_000
# What a template would like to reach, and what costs time, memory or stack.
_REACHES: Final = (
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ self.__init__.__globals__ }}",
    "{{ cycler.__init__.__globals__.os.environ }}",
    "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "{{ namespace.__init__.__globals__ }}",
    "{{ messages.__class__ }}{{ messages.append({}) }}{{ messages.clear() }}",
    "{{ raise_exception.__globals__ }}",
    "{{ strftime_now.__globals__ }}{{ strftime_now('%s' * 9999) }}",
    "{{ ('%c' * 999) | format(*range(999)) }}",
    "{{ '{0.__class__}'.format(messages) }}",
    "{{ messages | attr('__class__') | attr('__mro__') }}",
    "{{ messages | map(attribute='__class__') | list }}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}{{ os }}",
    "{% extends 'x' %}",
    "{{ range(10 ** 12) | list }}",
    "{% for i in range(10 ** 6) %}{{ i }}{% endfor %}",
    "{% set x = 'a' * 10 ** 9 %}{{ x | length }}",
    "{{ 10 ** 10 ** 10 }}",
    "{{ 'x' | center(10 ** 9) }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{{ messages | tojson | tojson | tojson }}",
    "{{ [messages] * 10 ** 6 | string }}",
    "{% if 1 %}" * 200 + "x" + "{% endif %}" * 200,
    "{{ " + "(" * 300 + "1" + ")" * 300 + " }}",
    "{{ " + "1+" * 3000 + "1 }}",
    "{% raw %}{{ messages }}",
    "{{ '\\ud800' }}{{ '\\x00' }}",
    "{{ raise_exception('no') }}",
    "{# " + "x" * 10_000,
)
_VALUES: Final[dict[str, Any]] = {
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hi", "reasoning_content": "r"},
    ],
    "add_generation_prompt": True,
    "bos_token": "<s>",
    "eos_token": "</s>",
    "tools": None,
}


def attack_templates(
    rounds: int, chance: random.Random, ends: Counter[str] | None = None
) -> list[str]:
    """Render hostile templates; return what went wrong, a sentence each.

    A template may be rendered or refused in a sentence. It may not hang, bring its child's parent
    down, put out more than the limit, or spoil the next template. ``ends`` gets how often which
    came.
    """
    problems = []
    counts = Counter[str]() if ends is None else ends
    sources = [template.source for template in BUILTIN_TEMPLATES.values()]
    limits = {"time_limit_s": _TIME_LIMIT_S, "output_limit_bytes": _OUTPUT_LIMIT_BYTES}
    with TemplateRenderer(**limits) as renderer:  # type: ignore[arg-type]
        for number in range(rounds):
            seed = chance.random()
            own = random.Random(seed)
            source, values = _template(own, sources), _values(own)
            problem, end = _one(renderer, source, values)
            counts[end] += 1
            if problem:
                problems.append(f"template {number}, seed {seed}: {problem}: {source[:200]!r}")
    return problems


def _template(chance: random.Random, sources: list[str]) -> str:
    source = chance.choice(sources)
    way = chance.randrange(4)
    if way == 0:
        return spoiled(source.encode(), chance).decode("utf-8", "replace")
    if way == 1:
        return "".join(chance.sample(_REACHES, chance.randint(1, 3)))
    parts = re.split(r"(?<=[%}]})", source)  # behind each tag, so that most of it stays sound
    for _ in range(chance.choice([1, 1, 2, 5])):
        at = chance.randrange(len(parts) + 1)
        parts.insert(at, chance.choice(parts if way == 2 else _REACHES))
    return "".join(parts)


def _values(chance: random.Random) -> dict[str, Any]:
    return mutated(_VALUES, chance) if chance.random() < 0.5 else dict(_VALUES)


def _one(renderer: TemplateRenderer, source: str, values: dict[str, Any]) -> tuple[str, str]:
    begun_s = time.monotonic()
    end = "rendered"
    try:
        text = renderer.render(source, values, "2026-01-02T03:04:05")
    except TemplateError as error:
        end = error.kind
        if not 5 < len(str(error)) < 600 or "Traceback" in str(error):
            return f"no sentence: {str(error)[:700]!r}", end
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}", "other error"
    else:
        if len(text.encode("utf-8", "replace")) > _OUTPUT_LIMIT_BYTES:
            return f"{len(text)} characters came out", end
        if "root:" in text or "<class " in text or "environ(" in text:
            return f"it reached what it should not: {text[:200]!r}", end
    took_s = time.monotonic() - begun_s
    if took_s > PATIENCE_S:
        return f"took {took_s:.1f} s", end
    try:
        fine = renderer.render("fine {{ 1 + 1 }}", {})
    except Exception as error:
        return f"the next template: {type(error).__name__}: {error}", end
    return ("" if fine == "fine 2" else f"the next template became {fine[:100]!r}"), end

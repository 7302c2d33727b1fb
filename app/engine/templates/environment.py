"""Rendering one chat template: a pure function of its source, its values and the time.

Templates in the wild are written against the reference renderer, so whatever that one offers is
offered here: trimmed blocks, loop controls, ``{% generation %}``, ``raise_exception``,
``strftime_now`` and a ``tojson`` that does not escape HTML. They also come from untrusted files,
so operations whose cost has nothing to do with the size of the template are bounded here, and
output is counted while it is produced. What no check can bound from the inside (time, memory) is
bounded by the process that this runs in, see `app.engine.templates.renderer`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache, wraps
from string import Formatter
from typing import Any, Final, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, LoopControlExtension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from app.engine.templates.errors import TemplateError, TemplateErrorKind

__all__ = ["MAX_OUTPUT_BYTES", "MAX_SOURCE_CHARS", "render"]

MAX_SOURCE_CHARS: Final = 1_000_000
MAX_OUTPUT_BYTES: Final = 10_000_000

_MAX_ITEMS: Final = 1_000_000  # characters or elements that one multiplication may make
_MAX_WIDTH: Final = 10_000  # of a format, a padding or an indentation
_MAX_POWER_BITS: Final = 4_096
_MAX_SENTENCE_CHARS: Final = 300

_PADDING_METHODS: Final = frozenset({"center", "expandtabs", "ljust", "rjust", "zfill"})
_WIDTH_FILTERS: Final = ("batch", "center", "indent", "slice", "truncate", "wordwrap")
_NUMBER: Final = re.compile(r"\d+")
# %5.2f, %(name)-30s; the width may also be a star, taken from the values
_PERCENT_FIELD: Final = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(\*|\d*)(?:\.(\*|\d*))?")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_TEMPLATE_FILE: Final = "<template>"  # how Jinja names a template that came as a string


class _RaisedError(jinja2.TemplateError):
    """What ``raise_exception`` of a template raises."""


class _TooMuchError(SecurityError):
    """An operation that would make something huge."""


class _GenerationTag(Extension):
    """Accepts ``{% generation %}``, which marks assistant text for training and prints nothing.

    The body gets a scope of its own, as it has in the reference renderer.
    """

    tags = {"generation"}  # noqa: RUF012 - declared so by Jinja

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


class _ChatEnvironment(ImmutableSandboxedEnvironment):
    """Jinja's immutable sandbox, with bounds on what one operation may make."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "*":
            _check_product(left, right)
        elif operator == "**":
            _check_power(left, right)
        elif isinstance(left, str):
            _check_percent_format(left)
        return super().call_binop(context, operator, left, right)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        if getattr(obj, "__name__", None) in _PADDING_METHODS:
            _check_widths(args, kwargs)
        return super().call(context, obj, *args, **kwargs)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        wrapped = super().wrap_str_format(value)
        if wrapped is not None:
            _check_brace_format(value.__self__)
        return wrapped


def _check_product(left: Any, right: Any) -> None:
    for sequence, times in ((left, right), (right, left)):
        if isinstance(sequence, str | bytes | list | tuple) and isinstance(times, int):
            if len(sequence) * times > _MAX_ITEMS:
                raise _TooMuchError("it repeats a text or a list too often")
            return
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() + right.bit_length())


def _check_power(base: Any, exponent: Any) -> None:
    if isinstance(base, int) and isinstance(exponent, int):
        _check_bits(base.bit_length() * abs(exponent))


def _check_bits(bits: int) -> None:
    if bits > _MAX_POWER_BITS:
        raise _TooMuchError("it computes with a number that is too large")


def _check_percent_format(text: str) -> None:
    for width in _PERCENT_FIELD.finditer(text):
        for part in width.groups(""):
            if part == "*" or (part and int(part[:9]) > _MAX_WIDTH):
                raise _TooMuchError("it formats with a width that is too large")


def _check_brace_format(text: str) -> None:
    """Refuse a ``str.format`` text whose widths are too large or come from the values."""
    for _literal, _field, spec, _conversion in Formatter().parse(text):
        if spec and ("{" in spec or any(int(n[:9]) > _MAX_WIDTH for n in _NUMBER.findall(spec))):
            raise _TooMuchError("it formats with a width that is too large")


def _check_widths(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    for value in (*args, *kwargs.values()):
        size = len(value) if isinstance(value, str) else value
        if isinstance(size, int | float) and abs(size) > _MAX_WIDTH:
            raise _TooMuchError("it pads a text too far")


def _bounded(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that refuses arguments beyond the widest padding."""
    # the value that is filtered may be long; it comes first, after the environment if that is asked
    passed = getattr(original, "jinja_pass_arg", None)
    skip = 1 if passed is None else 2

    @wraps(original)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        _check_widths(args[skip:], kwargs)
        return original(*args, **kwargs)

    return bounded


def _format_filter(value: Any, *args: Any, **kwargs: Any) -> str:
    if args and kwargs:
        raise TypeError("the format filter takes positions or names, not both")
    text = str(value)
    _check_percent_format(text)
    return text % (kwargs or args)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    if indent is not None:
        _check_widths((indent,), {})
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _raise_exception(message: object = "") -> NoReturn:
    raise _RaisedError(str(message))


@lru_cache(maxsize=1)
def _environment() -> _ChatEnvironment:
    environment = _ChatEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[_GenerationTag, LoopControlExtension],
        cache_size=0,
    )
    for name in _WIDTH_FILTERS:
        environment.filters[name] = _bounded(environment.filters[name])
    environment.filters["format"] = _format_filter
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    # makes random filler text of any length, which no prompt needs
    del environment.globals["lipsum"]
    return environment


@lru_cache(maxsize=16)
def _compile(source: str) -> jinja2.Template:
    return _environment().from_string(source)


def render(
    source: str,
    values: Mapping[str, object],
    now: str | None = None,
    *,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
) -> str:
    """Return the text that a template makes.

    Args:
        source: the template.
        values: its variables; ``tools`` and ``documents`` are none unless given.
        now: what ``strftime_now`` takes for the time, ISO 8601; None is the time of the call.
        max_output_bytes: largest result, in bytes of UTF-8.

    Raises:
        TemplateError: the template is faulty, refused or makes too much.
        ValueError: ``now`` is no time.
    """
    time = datetime.now().astimezone() if now is None else datetime.fromisoformat(now)
    if len(source) > MAX_SOURCE_CHARS:
        raise TemplateError("refused", None, "The chat template is too long")
    try:
        return _generate(_compile(source), values, time, max_output_bytes)
    except TemplateError:
        raise
    except Exception as error:  # a template can raise whatever its operations raise
        raise _as_template_error(error) from error


def _generate(
    template: jinja2.Template, values: Mapping[str, object], time: datetime, max_output_bytes: int
) -> str:
    variables = {"tools": None, "documents": None, "strftime_now": time.strftime, **values}
    parts: list[str] = []
    left_bytes = max_output_bytes
    for part in template.generate(variables):
        left_bytes -= len(part.encode("utf-8", "replace"))
        if left_bytes < 0:
            raise TemplateError("output", None, "The chat template makes too much text")
        parts.append(part)
    # a template can spell half a character in a literal, which no model can be given
    return _SURROGATE.sub("\ufffd", "".join(parts))


def _as_template_error(error: Exception) -> TemplateError:
    kind, reason = _classify(error)
    line = error.lineno if isinstance(error, jinja2.TemplateSyntaxError) else _line_of(error)
    return TemplateError(kind, line, reason)


def _classify(error: Exception) -> tuple[TemplateErrorKind, str]:
    text = _one_line(str(error))
    match error:
        case jinja2.TemplateSyntaxError():
            return "syntax", f"The chat template can't be read: {text}"
        case SecurityError():
            return "refused", f"The chat template was refused: {text}"
        case _RaisedError():
            return "raised", f"The chat template refuses this chat: {text}"
        case jinja2.UndefinedError():
            return "undefined", f"The chat template needs something that is missing: {text}"
        case jinja2.TemplateError():
            return "refused", f"The chat template was refused: {text or type(error).__name__}"
        case MemoryError():
            return "memory", "The chat template takes too much memory"
        case RecursionError():
            return "refused", "The chat template was refused: it calls itself too often"
        case OverflowError():
            return "refused", f"The chat template was refused: {text}"
        case SyntaxError():
            return "syntax", f"The chat template can't be read: {text}"
        case _:
            return "raised", f"The chat template failed: {type(error).__name__}: {text}"


def _one_line(text: str) -> str:
    flat = " ".join(text[: 2 * _MAX_SENTENCE_CHARS].split())
    return flat if len(flat) <= _MAX_SENTENCE_CHARS else flat[: _MAX_SENTENCE_CHARS - 1] + "…"


def _line_of(error: BaseException) -> int | None:
    """Return the innermost template line that an error passed through."""
    line: int | None = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _TEMPLATE_FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line

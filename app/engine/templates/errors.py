"""The one error of chat templates, in a module that costs nothing to import."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

__all__ = ["TEMPLATE_ERROR_KINDS", "TemplateError", "TemplateErrorKind"]

TemplateErrorKind: TypeAlias = Literal[
    "syntax",  # does not compile
    "refused",  # reached for something that the sandbox keeps from it
    "raised",  # the template itself, or an operation in it, raised
    "time",
    "output",
    "memory",
    "undefined",  # used a helper or a value that does not exist
]
TEMPLATE_ERROR_KINDS: Final[tuple[TemplateErrorKind, ...]] = get_args(TemplateErrorKind)


class TemplateError(Exception):
    """A template that could not be rendered.

    Attributes:
        kind: what went wrong, one of `TEMPLATE_ERROR_KINDS`.
        line: line of the template, counted from 1; None if it is not known.
        message: one sentence that a user can read.
    """

    def __init__(self, kind: TemplateErrorKind, line: int | None, message: str) -> None:
        super().__init__(kind, line, message)
        self.kind: TemplateErrorKind = kind
        self.line = line
        self.message = message

    def __str__(self) -> str:
        where = "" if self.line is None else f" (line {self.line})"
        return f"{self.message.rstrip('.')}{where}."

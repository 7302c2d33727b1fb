"""Colours of code: Pygments in small steps, results kept, nothing on the way of a repaint.

A lexer is a generator, so a long block is worked off between events, a few milliseconds at a
time. Code that is still being written, or is very long, stays plain.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeAlias

from PySide6.QtCore import QObject, QTimer, Slot

__all__ = ["Highlighter", "LineSpans", "Spans", "iter_line_spans"]

CodeStyle: TypeAlias = Literal["keyword", "function", "number", "string", "type", "comment"]
LineSpans: TypeAlias = list[tuple[int, int, str]]
"""(start, length, style) of one line, in UTF-16 units, as Qt counts."""
Spans: TypeAlias = list[LineSpans]

MAX_CODE: Final = 120_000
_STEP_S: Final = 0.004
_LIMIT_S: Final = 3.0
_KEPT: Final = 128

_STYLES: Final = (
    ("Token.Keyword.Type", "type"),
    ("Token.Keyword.Constant", "number"),
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Name.Function", "function"),
    ("Token.Name.Decorator", "function"),
    ("Token.Name.Tag", "keyword"),
    ("Token.Name.Attribute", "function"),
    ("Token.Name.Class", "type"),
    ("Token.Name.Exception", "type"),
    ("Token.Name.Builtin", "function"),
    ("Token.Name.Namespace", "type"),
    ("Token.Literal.Number", "number"),
    ("Token.Literal.String", "string"),
    ("Token.Literal", "string"),
    ("Token.Comment.Preproc", "keyword"),
    ("Token.Comment", "comment"),
    ("Token.Generic.Deleted", "number"),
    ("Token.Generic.Inserted", "string"),
    ("Token.Generic.Heading", "function"),
    ("Token.Generic.Subheading", "function"),
)


def _style_of(token: str) -> str:
    for prefix, style in _STYLES:
        if token.startswith(prefix):
            return style
    return ""


def _units(text: str) -> int:
    """Return the length in UTF-16 units."""
    if text.isascii():
        return len(text)
    return len(text) + sum(char > "\uffff" for char in text)


def iter_line_spans(code: str, language: str) -> Iterator[Spans]:
    """Yield the spans after each token: the same list, growing, a list a line.

    An unknown language yields nothing.
    """
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return
    styles: dict[object, str] = {}
    found: Spans = [[]]
    column = 0
    called: tuple[str, LineSpans, int, int] | None = None
    for _, token, value in lexer.get_tokens_unprocessed(code):
        style = styles.get(token)
        if style is None:
            style = styles[token] = _style_of(str(token))
        # Most lexers leave a called name plain; the design gives functions their colour.
        if not style and called is not None and value[:1] == "(":
            _, line, start, length = called
            line.append((start, length, "function"))
        called = None
        for index, part in enumerate(value.split("\n")):
            if index:
                found.append([])
                column = 0
            length = _units(part)
            if style and length:
                found[-1].append((column, length, style))
            elif length and part.isidentifier():
                called = (part, found[-1], column, length)
            column += length
        yield found


class Highlighter(QObject):
    """Works off requests between events.

    A request is forgotten by `cancel`; its callback gets the finished spans.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept: OrderedDict[tuple[str, str], Spans] = OrderedDict()
        self._jobs: OrderedDict[object, tuple[str, str, Callable[[Spans], None]]] = OrderedDict()
        self._running: tuple[object, Iterator[Spans], float] | None = None
        self._spans: Spans = []
        self._timer = QTimer(self)
        self._timer.setInterval(6)
        self._timer.timeout.connect(self._step)

    def known(self, code: str, language: str) -> Spans | None:
        """Return the spans if they are known already."""
        found = self._kept.get((language, code))
        if found is not None:
            self._kept.move_to_end((language, code))
        return found

    def request(
        self, owner: object, code: str, language: str, done: Callable[[Spans], None]
    ) -> None:
        """Ask for the spans; one request an owner."""
        self.cancel(owner)
        if not language or len(code) > MAX_CODE:
            return
        self._jobs[owner] = (code, language, done)
        self._timer.start()

    def cancel(self, owner: object) -> None:
        """Forget a request."""
        self._jobs.pop(owner, None)
        if self._running is not None and self._running[0] is owner:
            self._running = None

    @Slot()
    def _step(self) -> None:
        end = time.perf_counter() + _STEP_S
        while time.perf_counter() < end:
            if self._running is None:
                if not self._jobs:
                    self._timer.stop()
                    return
                owner = next(iter(self._jobs))
                code, language, _ = self._jobs[owner]
                self._running = (owner, iter_line_spans(code, language), 0.0)
                self._spans = []
            owner, spans, used = self._running
            begun = time.perf_counter()
            finished = False
            while not finished and time.perf_counter() < end:
                found = next(spans, None)
                finished = found is None
                self._spans = found if found is not None else self._spans
            used += time.perf_counter() - begun
            self._running = (owner, spans, used)
            if finished or used > _LIMIT_S:
                self._finish(owner)

    def _finish(self, owner: object) -> None:
        code, language, done = self._jobs.pop(owner)
        self._running = None
        self._kept[(language, code)] = self._spans
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        done(self._spans)

"""Colours of code: Pygments in small steps, results kept, nothing on the way of a repaint.

A lexer is a generator, so a long block is worked off between events, a few milliseconds at a
time. Pygments and a language's lexer are imported in a thread when first needed. Code that is
still being written, or is very long, stays plain.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from PySide6.QtCore import QObject, QTimer, Slot

from app.ui.transcript.worker import Worker

if TYPE_CHECKING:
    from pygments.lexer import Lexer

__all__ = ["MAX_CODE", "Highlighter", "LineSpans", "Spans", "iter_line_spans", "load_lexer"]

CodeStyle: TypeAlias = Literal["keyword", "function", "number", "string", "type", "comment"]
LineSpans: TypeAlias = list[tuple[int, int, str]]
"""(start, length, style) of one line, in UTF-16 units, as Qt counts."""
Spans: TypeAlias = list[LineSpans]

MAX_CODE: Final = 120_000
_STEP_S: Final = 0.004
_LIMIT_S: Final = 3.0
_KEPT: Final = 128
_LANGUAGES: Final = 64

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


def load_lexer(language: str) -> Lexer | None:
    """Return the lexer of a language, None when there is none.

    The first call for a language imports modules, which takes as long as several frames.
    """
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def iter_line_spans(code: str, lexer: Lexer) -> Iterator[Spans]:
    """Yield the spans after each token: the same list, growing, a list a line."""
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


@dataclass(slots=True)
class _Job:
    """A request that is being worked off."""

    owner: object
    code: str
    language: str
    done: Callable[[Spans], None]
    steps: Iterator[Spans] | None = None
    spans: Spans = field(default_factory=list)
    used_s: float = 0.0


class Highlighter(QObject):
    """Works off requests between events.

    A request is forgotten by `cancel`; its callback gets the finished spans.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept: OrderedDict[tuple[str, str], Spans] = OrderedDict()
        self._jobs: dict[object, _Job] = {}
        self._lexers: dict[str, Lexer | None] = {}
        self._loading: set[str] = set()
        self._worker = Worker("lexers", self)
        self._worker.finished.connect(self._on_loaded)
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
        if not language or len(code) > MAX_CODE or self._worker.closed:
            return
        self._jobs[owner] = _Job(owner, code, language, done)
        if language in self._lexers:
            self._timer.start()
        elif language not in self._loading:
            self._loading.add(language)
            self._worker.submit(language, partial(load_lexer, language))

    def cancel(self, owner: object) -> None:
        """Forget a request."""
        self._jobs.pop(owner, None)

    def close(self) -> None:
        """Stop working."""
        self._timer.stop()
        self._jobs.clear()
        self._worker.close()

    @Slot(object, object)
    def _on_loaded(self, language: Any, lexer: Any) -> None:
        self._loading.discard(language)
        if len(self._lexers) > _LANGUAGES:
            self._lexers.clear()  # a text may name any number of languages
        self._lexers[language] = lexer
        self._timer.start()

    def _next_job(self) -> _Job | None:
        for job in self._jobs.values():
            if job.language in self._lexers:
                return job
        return None

    @Slot()
    def _step(self) -> None:
        end = time.perf_counter() + _STEP_S
        while (now := time.perf_counter()) < end:
            job = self._next_job()
            if job is None:
                self._timer.stop()
                return
            if job.steps is None:
                lexer = self._lexers[job.language]
                job.steps = iter_line_spans(job.code, lexer) if lexer is not None else iter(())
            finished = False
            while not finished and time.perf_counter() < end:
                found = next(job.steps, None)
                finished = found is None
                job.spans = found if found is not None else job.spans
            job.used_s += time.perf_counter() - now
            if finished or job.used_s > _LIMIT_S:
                self._finish(job)

    def _finish(self, job: _Job) -> None:
        del self._jobs[job.owner]
        self._kept[(job.language, job.code)] = job.spans
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        job.done(job.spans)

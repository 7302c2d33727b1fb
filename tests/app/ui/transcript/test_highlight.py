from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.ui.transcript.highlight import MAX_CODE, Highlighter, Spans, iter_line_spans, load_lexer

PYTHON = "def f(x):\n    return 2 * g(x)  # twice 🙂\ns = '🙂' + 'b'\n"


def _spans(code: str, language: str) -> Spans:
    lexer = load_lexer(language)
    assert lexer is not None
    *_, last = [[], *iter_line_spans(code, lexer)]
    return last


def test_spans_by_line() -> None:
    first, second, _, _ = _spans(PYTHON, "python")
    assert (0, 3, "keyword") in first
    assert (4, 1, "function") in first
    assert (4, 6, "keyword") in second
    assert (11, 1, "number") in second
    assert (15, 1, "function") in second  # a called name


def test_places_are_counted_as_qt_counts() -> None:
    third = _spans(PYTHON, "python")[2]
    strings = [(start, length) for start, length, style in third if style == "string"]
    assert max(start + length for start, length in strings) == len("s = 'xx' + 'b'")


def test_unknown_language_has_no_colours() -> None:
    assert load_lexer("no-such-language") is None


@pytest.fixture
def highlighter(qtbot: QtBot) -> Iterator[Highlighter]:
    made = Highlighter()
    yield made
    made.close()


def test_work_is_done_between_events_and_kept(qtbot: QtBot, highlighter: Highlighter) -> None:
    results: list[Spans] = []
    highlighter.request("owner", PYTHON, "python", results.append)
    assert results == []
    qtbot.waitUntil(lambda: len(results) == 1)
    assert highlighter.known(PYTHON, "python") is results[0]
    assert results[0] == _spans(PYTHON, "python")


def test_cancelled_and_too_long_requests_never_answer(
    qtbot: QtBot, highlighter: Highlighter
) -> None:
    results: list[Spans] = []
    highlighter.request("a", "x = 1", "python", results.append)
    highlighter.cancel("a")
    highlighter.request("b", "x" * (MAX_CODE + 1), "python", results.append)
    highlighter.request("c", "y = 2", "python", results.append)
    qtbot.waitUntil(lambda: bool(results))
    assert highlighter.known("x = 1", "python") is None
    assert len(results) == 1


def test_block_of_an_unknown_language_is_answered_plainly(
    qtbot: QtBot, highlighter: Highlighter
) -> None:
    results: list[Spans] = []
    highlighter.request("a", "x", "no-such-language", results.append)
    qtbot.waitUntil(lambda: results == [[]])

"""Nothing of a reply's text may be left out, however strange its Markdown is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.ui.transcript.blocks import Block, Code, Formula, Paragraph, Rule, Span, Table
from app.ui.transcript.items import MessageView
from app.ui.transcript.markdown import MAX_COLUMNS
from app.ui.transcript.stream_markdown import StreamMarkdown, parse_markdown
from app.ui.transcript.view import Transcript
from tests.helpers.transcript_probe import seen

_DEEP = {
    "bullets in one line": "* " * 200 + "inner",
    "numbers in one line": "1. " * 60 + "inner",
    "list 15 deep": "\n".join("  " * i + f"- item{i}" for i in range(15)),
    "list 40 deep": "\n".join("  " * i + f"- item{i}" for i in range(40)),
    "quote 25 deep": ">" * 25 + " inner",
    "quotes and lists": "> - " * 40 + "inner",
    "code below the limit": "- " * 30 + "```py\ninner",
}


def _texts(block: Block) -> list[str]:
    def of(spans: tuple[Span, ...]) -> str:
        return "".join(f"{span.text}\t{span.href}\t" if span.href else span.text for span in spans)

    match block:
        case Paragraph():
            return [block.place.marker, of(block.spans)]
        case Code():
            return [block.place.marker, block.language, block.info, block.source]
        case Formula():
            return [block.place.marker, block.text]
        case Table():
            return [of(cell) for row in (block.header, *block.rows) for cell in row]
        case Rule():
            return [block.place.marker]


def _words_shown(text: str) -> set[str]:
    shown = "\n".join(part for block in parse_markdown(text) for part in _texts(block))
    return set(re.findall(r"[A-Za-z]+[0-9]*", shown))


@pytest.mark.parametrize("name", _DEEP)
def test_what_lies_too_deep_is_shown_and_what_follows_too(name: str) -> None:
    source = _DEEP[name] + "\n\nafter it\n\n# end"
    assert set(re.findall(r"(?:item|inner|after|end)[0-9]*", source)) <= _words_shown(source)


def test_marks_of_what_lies_too_deep_are_shown() -> None:
    (*_, last) = parse_markdown("* " * 40 + "inner")
    assert isinstance(last, Paragraph)
    text = "".join(span.text for span in last.spans)
    assert text.startswith("* * ")
    assert text.endswith(" inner")


def test_cells_without_a_column_stand_in_the_last_one() -> None:
    source = "> | a | b |\n> |---|---|\n> | 1 | 2 | three \\| 3 | **four** |"
    (table,) = parse_markdown(source)
    assert isinstance(table, Table)
    assert table.rows == (((Span("1"),), (Span("2 | three | 3 | "), Span("four", bold=True))),)


_word = st.integers(0, 10_000).map(lambda number: f"w{number}")
_lead = st.lists(
    st.sampled_from(["> ", ">", "- ", "* ", "1. ", "  ", "    ", "+ ", "\t"]), max_size=40
).map("".join)
_mark = st.sampled_from(
    [
        "",
        "# ",
        "```",
        "~~~",
        "| ",
        "**",
        "_",
        "`",
        "$",
        "$$",
        "[",
        "](",
        "![",
        "<",
        "\\",
        "---",
        "&",
    ]
)
_piece = st.tuples(_mark, _word, _mark).map("".join)
_line = st.tuples(_lead, st.lists(_piece, max_size=5).map(" ".join)).map("".join)
_table = st.lists(st.lists(_word, min_size=1, max_size=6), min_size=1, max_size=4).map(
    lambda rows: "\n".join(
        ["| h | k |", "|---|---|", *("| " + " | ".join(row) + " |" for row in rows)]
    )
)
_deep_list = st.integers(1, 50).flatmap(
    lambda depth: st.lists(_word, min_size=depth, max_size=depth).map(
        lambda words: "\n".join("  " * i + f"- {word}" for i, word in enumerate(words))
    )
)
_repeated = st.tuples(
    st.sampled_from(["> ", ">", "* ", "- ", "1. ", "> - "]), st.integers(1, 120), _word
).map(lambda made: made[0] * made[1] + made[2])
_markdown = st.lists(
    st.one_of(_line, _line, _table, _deep_list, _repeated, st.just("")), max_size=12
).map("\n".join)


@settings(max_examples=120, deadline=None)
@given(_markdown)
def test_every_word_is_shown(source: str) -> None:
    assert set(re.findall(r"w[0-9]+", source)) <= _words_shown(source)


@settings(max_examples=30, deadline=None)
@given(_markdown, st.integers(1, 50))
def test_pieces_of_a_deep_text_give_the_same_blocks(source: str, size: int) -> None:
    stream = StreamMarkdown()
    for at in range(0, len(source), size):
        stream.feed(source[at : at + size])
        stream.update()
    stream.finish()
    assert stream.blocks == parse_markdown(source)


def test_wide_tables_keep_their_words() -> None:
    wide = "|a" * (MAX_COLUMNS + 9) + "\n" + "|-" * (MAX_COLUMNS + 9) + "\n| inner"
    assert "inner" in _words_shown(wide)


def test_titles_of_links_and_pictures_are_text() -> None:
    source = '[one](https://a.b "two") ![three](https://a.b/c.png "four") [five](x:y "six")'
    assert {"one", "two", "three", "four", "five", "six"} <= _words_shown(source)


def test_deep_text_is_on_the_screen(view: Transcript) -> None:
    view.set_messages([MessageView("a", "assistant", "* " * 200 + "inner\n\nafter it")])
    assert seen(view, "inner")
    assert seen(view, "after it")

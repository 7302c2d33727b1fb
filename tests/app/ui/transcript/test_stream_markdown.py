from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.ui.transcript.blocks import Code, Formula, Paragraph, Table, plain_text
from app.ui.transcript.stream_markdown import (
    MAX_LINE,
    MAX_PARAGRAPH,
    StreamMarkdown,
    parse_markdown,
)
from tests.helpers.transcript_samples import CODE_ANSWER, MATH_ANSWER, RICH_ANSWER

# Pieces that begin, continue, interrupt and end blocks, so that random joins meet every rule.
PIECES = (
    "word ", "two words", "\n", "\n\n", "\r\n", "\r", "# ", "#", "## head\n", "- ", "* ", "1. ",
    "7) ", "   ", "    ", "```", "```py\n", "~~~\n", "````", "`code`", "**", "*", "_", "~~",
    "> ", ">", "---\n", "***\n", "===\n", "| a | b |\n", "|---|:-:|\n", "| 1 |\n", "|", "$$\n",
    "$$", "$x^2$", "$5 and $10", "\\[\n", "\\]\n", "\\(y\\)", "[t](http://a.b)", "![i](u.png)",
    "<think>", "vector<int>", "<|im_end|>", "http://a.b/c ", "[ ] ", "[x] ", "&amp;", "\x00",
    "\ufdd0", "🙂", "日本", "שלום ", "\t", "\\", "[a]: http://x.y\n", "x" * 1200, "y " * 700,
)  # fmt: skip


def _streamed(text: str, cuts: list[int], updates: list[bool]) -> StreamMarkdown:
    stream = StreamMarkdown()
    edges = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    for index in range(len(edges) - 1):
        stream.feed(text[edges[index] : edges[index + 1]])
        if updates[index % len(updates)]:
            stream.update()
    stream.finish()
    return stream


@settings(max_examples=300, deadline=None)
@given(
    pieces=st.lists(st.sampled_from(PIECES), max_size=30),
    cuts=st.lists(st.integers(0, 4000), max_size=40),
    updates=st.lists(st.booleans(), min_size=1, max_size=5),
)
def test_any_chunking_gives_the_blocks_of_the_whole(
    pieces: list[str], cuts: list[int], updates: list[bool]
) -> None:
    text = "".join(pieces)
    assert _streamed(text, cuts, updates).blocks == parse_markdown(text)


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=300), cuts=st.lists(st.integers(0, 300), max_size=20))
def test_any_text_can_be_streamed(text: str, cuts: list[int]) -> None:
    assert _streamed(text, cuts, [True]).blocks == parse_markdown(text)


@pytest.mark.parametrize("text", [CODE_ANSWER, RICH_ANSWER, MATH_ANSWER])
@pytest.mark.parametrize("seed", range(5))
def test_answers_of_all_kinds_stream_alike(text: str, seed: int) -> None:
    chance = random.Random(seed)
    cuts = sorted(chance.sample(range(len(text)), 60))
    assert _streamed(text, cuts, [True, False]).blocks == parse_markdown(text)


def test_frozen_blocks_are_only_appended_to() -> None:
    stream = StreamMarkdown()
    before: list[object] = []
    for char in RICH_ANSWER:
        stream.feed(char)
        stream.update()
        assert all(old is new for old, new in zip(before, stream.frozen, strict=False))
        assert len(stream.frozen) >= len(before)
        before = list(stream.frozen)
    assert len(before) > 10


def test_finished_blocks_freeze_while_the_reply_goes_on() -> None:
    stream = StreamMarkdown()
    stream.feed("one\n\ntwo\n\n- a\n- b\n- c")
    stream.update()
    assert plain_text(tuple(stream.frozen)) == "one\ntwo\n• a"
    assert plain_text(stream.tail) == "• b\n• c"


def test_half_a_line_never_freezes_what_is_above() -> None:
    stream = StreamMarkdown()
    stream.feed("some text\n#")
    stream.update()
    assert stream.frozen == []
    stream.feed("hashtag and more\n")
    stream.finish()
    assert [type(block) for block in stream.blocks] == [Paragraph]


def test_open_fence_is_code_that_only_grows() -> None:
    stream = StreamMarkdown()
    stream.feed("text\n\n```python\nx = 1\n")
    stream.update()
    assert stream.tail == (Code("x = 1", "python", closed=False),)
    stream.feed("y = ")
    stream.update()
    assert stream.tail == (Code("x = 1\ny = ", "python", closed=False),)
    stream.feed("2\n``")
    stream.update()
    assert stream.tail == (Code("x = 1\ny = 2", "python", closed=False),)
    stream.feed("`\n")
    stream.update()
    assert stream.frozen[-1] == Code("x = 1\ny = 2", "python")


def test_markdown_inside_an_open_fence_stays_text() -> None:
    stream = StreamMarkdown()
    stream.feed("```\n# not a heading\n\n- not a list\n</think>\n~~~\n")
    stream.update()
    (code,) = stream.tail
    assert isinstance(code, Code)
    assert code.text == "# not a heading\n\n- not a list\n</think>\n~~~"


def test_numbers_of_a_list_go_on_after_its_items_are_frozen() -> None:
    text = "1. a\n2. b\n7. c\n8. d\n"
    blocks = _streamed(text, list(range(len(text))), [True]).blocks
    assert [block.place.marker for block in blocks] == ["1.", "2.", "3.", "4."]


def test_table_grows_row_by_row() -> None:
    stream = StreamMarkdown()
    stream.feed("| a | b |\n|---|---|\n")
    for number in range(50):
        stream.feed(f"| {number} | **x** |\n")
        stream.update()
    (table,) = stream.tail
    assert isinstance(table, Table)
    assert len(table.rows) == 50
    stream.feed("| half")
    stream.update()
    (table,) = stream.tail
    assert isinstance(table, Table)
    assert table.rows[-1][0][0].text == "half"


def test_endless_line_is_broken_for_layout_and_whole_for_the_reader() -> None:
    line = "abc " * 25_000
    blocks = parse_markdown(line)
    assert len(blocks) > 10
    assert all(len(plain_text((block,))) <= MAX_PARAGRAPH + MAX_LINE for block in blocks)
    assert " ".join(plain_text((block,)) for block in blocks) == line.strip()


@pytest.mark.parametrize(
    "word",
    ["word{} ", "word{}, ", "`code{}` ", "**bold {}** ", "back{}\\\\ ", "x{};y,z ", "日本語{}"],
)
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_long_paragraph_keeps_every_space(word: str, step: int) -> None:
    line = "".join(word.format(number) for number in range(3900 // len(word.format(100)))).strip()
    lead = "a " * 30  # short enough to be one paragraph, long enough to be broken for layout
    stream = StreamMarkdown()
    text = lead + line
    for at in range(0, len(text), step):
        stream.feed(text[at : at + step])
    stream.finish()
    (block,) = stream.blocks
    shown = text.replace("`", "").replace("**", "").replace("\\\\", "\\")
    assert plain_text((block,)) == shown


def test_code_within_a_long_paragraph_keeps_its_spaces() -> None:
    code = " ".join(f"w{number}" for number in range(600))
    (block,) = parse_markdown(f"`{code}`")
    assert plain_text((block,)) == code


def test_endless_line_of_code_is_copied_whole() -> None:
    line = "0123456789abcdef" * 6250
    (code,) = parse_markdown(f"```json\n{line}\n```")
    assert isinstance(code, Code)
    assert max(len(part) for part in code.text.split("\n")) <= MAX_LINE + 1
    assert code.source == line


def test_nul_is_shown_as_a_replacement_and_noncharacters_are_dropped() -> None:
    (block,) = parse_markdown("a\x00b\ufdd0c")
    assert plain_text((block,)) == "a\ufffdbc"


def test_unclosed_mathematics_stays_readable() -> None:
    stream = StreamMarkdown()
    stream.feed("$$\nE = mc")
    stream.update()
    assert stream.tail == (Formula("E = mc", closed=False),)
    stream.feed("^2\n$$\n")
    stream.finish()
    assert stream.blocks == (Formula("E = mc^2"),)


def test_advance_works_in_bounded_steps() -> None:
    stream = StreamMarkdown()
    stream.feed((RICH_ANSWER + "\n\n") * 20)
    steps = 1
    while stream.advance(2000):
        steps += 1
    assert steps > 5
    stream.finish()
    assert stream.blocks == parse_markdown((RICH_ANSWER + "\n\n") * 20)


def test_finished_text_takes_no_more() -> None:
    stream = StreamMarkdown()
    stream.finish()
    with pytest.raises(ValueError, match="finished"):
        stream.feed("more")

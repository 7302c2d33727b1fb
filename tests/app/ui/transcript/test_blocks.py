from __future__ import annotations

import pytest

from app.ui.transcript.blocks import WRAP, Code, plain_text, to_markdown
from app.ui.transcript.stream_markdown import parse_markdown
from tests.helpers.transcript_samples import CODE_ANSWER, RICH_ANSWER


@pytest.mark.parametrize("text", [CODE_ANSWER, RICH_ANSWER, "> a\n\n1. x\n2. y\n\n$$\nz\n$$"])
def test_markdown_of_blocks_reads_back_as_the_same_text(text: str) -> None:
    blocks = parse_markdown(text)
    assert plain_text(parse_markdown(to_markdown(blocks))) == plain_text(blocks)


def test_plain_text_has_markers_and_tabs_but_no_marks() -> None:
    text = "- **a**\n\n| x | y |\n|---|---|\n| 1 | 2 |\n"
    assert plain_text(parse_markdown(text)) == "• a\nx\ty\n1\t2"


def test_fence_of_copied_code_is_longer_than_any_in_it() -> None:
    assert to_markdown((Code("```\nx\n```", "md"),)) == "````md\n```\nx\n```\n````"


def test_breaks_for_layout_are_not_copied() -> None:
    code = Code(f"ab{WRAP}cd")
    assert code.source == "abcd"
    assert plain_text((code,)) == "abcd"

"""A code block is as high as its lines, at every size of text and in every script."""

from __future__ import annotations

import pytest

from app.ui.theme import ThemeManager
from app.ui.transcript.code_row import CodeRow
from app.ui.transcript.code_text import CodeView
from app.ui.transcript.items import MessageView
from app.ui.transcript.view import Transcript
from tests.helpers.transcript_probe import widgets

LATIN = "\n".join(f"line {number}" for number in range(30))
MIXED = "\n".join(f"# 日本語 العربية 🚢 {number}" for number in range(30))


def lines_px(view: CodeView) -> float:
    """Return what Qt needs for all lines."""
    block, height = view.document().begin(), 0.0
    while block.isValid():
        height += view.blockBoundingRect(block).height()
        block = block.next()
    return height


@pytest.mark.parametrize("size", [75, 100, 110, 150, 200])
@pytest.mark.parametrize("code", [LATIN, MIXED], ids=["latin", "mixed"])
def test_no_line_is_cut(view: Transcript, themes: ThemeManager, size: int, code: str) -> None:
    themes.set_text_size(size)
    view.resize(800, 900)
    view.set_messages([MessageView("a", "assistant", f"```python\n{code}\n```")])
    (row,) = widgets(view, CodeRow)
    assert row.view.height() >= lines_px(row.view)
    assert row.view.height() <= lines_px(row.view) + 20


def test_a_block_that_grows_is_as_high_as_one_that_came_whole(view: Transcript) -> None:
    view.resize(800, 900)
    view.set_messages([MessageView("a", "assistant", "", state="streaming")])
    text = f"```python\n{MIXED}\n```"
    for start in range(0, len(text), 7):
        view.append_text("a", text[start : start + 7])
    view._redraws._flush()
    (row,) = widgets(view, CodeRow)
    assert row.view.blockCount() == 30
    assert row.view.height() >= lines_px(row.view)
    assert row.view.text_height(30) == pytest.approx(lines_px(row.view), abs=1)

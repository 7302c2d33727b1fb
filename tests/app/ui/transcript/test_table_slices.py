from __future__ import annotations

import pytest

from app.ui.transcript.blocks import Table
from app.ui.transcript.items import MessageView
from app.ui.transcript.stream_markdown import parse_markdown
from app.ui.transcript.table_row import TableRow
from app.ui.transcript.table_slices import SLICE_ROWS, column_widths, slices_of
from app.ui.transcript.view import Transcript
from tests.helpers.transcript_probe import widgets


def _table(rows: int) -> Table:
    body = "".join(f"| {i} | {'x' * i} |\n" for i in range(rows))
    (table,) = parse_markdown(f"| a | b |\n|---|---|\n{body}")
    assert isinstance(table, Table)
    return table


def test_slices_cover_the_table_once() -> None:
    table = _table(60)
    slices = list(slices_of(table, live=False))
    assert [piece.first for piece in slices] == list(range(0, 60, SLICE_ROWS))
    assert tuple(row for piece in slices for row in piece.rows) == table.rows
    assert [piece.last for piece in slices] == [False, False, False, False, True]
    (widest,) = {piece.widest for piece in slices}
    texts = [tuple("".join(span.text for span in cell) for cell in column) for column in widest]
    assert texts == [("a", "10"), ("b", "x" * 59)]


def test_table_without_rows_shows_its_header() -> None:
    (piece,) = slices_of(_table(0), live=False)
    assert piece.last
    assert [cell for _, cell in piece.widest] == [(), ()]


def test_full_slices_of_a_growing_table_do_not_change() -> None:
    before = list(slices_of(_table(SLICE_ROWS + 5), live=True))
    after = list(slices_of(_table(SLICE_ROWS + 6), live=True))
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_columns_that_fit_keep_their_widths() -> None:
    assert column_widths([50, 80], 200, 40) == [50, 80]


def test_long_columns_wrap_and_short_ones_do_not() -> None:
    assert column_widths([50, 900], 400, 60) == [50, 350]
    assert column_widths([900, 50, 700], 450, 60) == [200, 50, 200]


def test_many_columns_are_scrolled_to_rather_than_crushed() -> None:
    assert column_widths([200.0, 90.0] * 10, 400, 110) == [110, 90] * 10


def test_the_rule_between_two_slices_is_drawn(view: Transcript) -> None:
    lines = "\n".join(f"| {number} | b |" for number in range(3 * SLICE_ROWS))
    view.set_messages([MessageView("a", "assistant", f"| n | t |\n|---|---|\n{lines}\n")])
    parts = [part for part in widgets(view, TableRow) if part._slice.first]
    assert parts
    for part in parts:
        picture = part.grab().toImage()
        rule = view.style_in_force.colour("line").name()
        assert picture.pixelColor(6, 0).name() == rule
        assert picture.pixelColor(6, 3).name() != rule


def test_code_counts_for_wider_than_text_of_the_same_length() -> None:
    (table,) = parse_markdown("| a |\n|---|\n| plain text |\n| `code text` |\n| text only |\n")
    assert isinstance(table, Table)
    (piece,) = slices_of(table, live=False)
    ((_, cell),) = piece.widest
    assert cell[0].code


@pytest.mark.parametrize(
    ("head", "cell"),
    [
        ("type", "Q4_K"),
        ("Q", "`blk.499.attn_q.weight`"),
        ("A head of bold words", "x"),
        ("note", "**bold WORDS** and `code`"),
        ("名前", "模型名稱"),
    ],
)
def test_a_cell_that_has_room_stands_in_one_line(view: Transcript, head: str, cell: str) -> None:
    body = f"| {cell} | 1 |\n" * 3
    view.set_messages([MessageView("a", "assistant", f"| {head} | n |\n|---|---|\n{body}")])
    (row,) = widgets(view, TableRow)
    grid = row._grid
    assert grid is not None
    for line in range(grid.rows()):
        layout = grid.cellAt(line, 0).firstCursorPosition().block().layout()
        assert layout.lineCount() == 1
    assert row.view.width() < view._stage.column.width() / 2  # and takes no more than it needs

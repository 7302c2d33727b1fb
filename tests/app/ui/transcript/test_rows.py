from __future__ import annotations

from app.ui.transcript.place_text import shown
from app.ui.transcript.rows import BlockRows, Row, RowKind
from app.ui.transcript.stream_markdown import StreamMarkdown, parse_markdown
from app.ui.transcript.table_slices import SLICE_ROWS
from tests.helpers.transcript_samples import RICH_ANSWER


def _kinds(rows: list[Row]) -> list[RowKind]:
    return [row.kind for row in rows]


def _contents(rows: BlockRows) -> list[object]:
    return [row.content for row in rows.rows]


def _whole(text: str) -> BlockRows:
    stream = StreamMarkdown()
    stream.feed(text)
    stream.finish()
    rows = BlockRows(stream)
    rows.sync(live=False)
    return rows


def test_texts_share_a_row_and_code_has_its_own() -> None:
    rows = _whole("a\n\n- b\n- c\n\n```\nx\n```\n\nd").rows
    assert _kinds(rows) == [RowKind.TEXT, RowKind.CODE, RowKind.TEXT]
    assert len(rows[0].content) == 3
    assert [row.gap for row in rows] == [0, 8, 8]


def test_long_text_is_cut_into_several_rows() -> None:
    rows = _whole("\n\n".join(f"paragraph {i}" for i in range(200))).rows
    assert len(rows) >= 5
    assert sum(len(row.content) for row in rows) == 200


def test_streaming_ends_in_the_rows_of_the_whole() -> None:
    text = (RICH_ANSWER + "\n\n") * 3
    stream = StreamMarkdown()
    rows = BlockRows(stream)
    for at in range(0, len(text), 17):
        stream.feed(text[at : at + 17])
        stream.update()
        rows.sync(live=True)
    stream.finish()
    rows.sync(live=False)
    assert _contents(rows) == _contents(_whole(text))
    assert not any(row.live for row in rows.rows)


def test_rows_of_finished_text_are_left_alone() -> None:
    stream = StreamMarkdown()
    rows = BlockRows(stream)
    stream.feed("\n\n".join(f"paragraph {i} " + "word " * 100 for i in range(30)))
    stream.update()
    rows.sync(live=True)
    first = list(rows.rows[:-2])
    stream.feed(" more\n\nand more")
    stream.update()
    changed, gone = rows.sync(live=True)
    assert rows.rows[: len(first)] == first
    assert len(changed) <= 2
    assert gone == []


def test_row_that_becomes_another_kind_is_replaced() -> None:
    stream = StreamMarkdown()
    rows = BlockRows(stream)
    stream.feed("``")
    stream.update()
    rows.sync(live=True)
    (text,) = rows.rows
    stream.feed("`py\nx")
    stream.update()
    changed, gone = rows.sync(live=True)
    assert gone == [text]
    assert _kinds(changed) == [RowKind.CODE]
    assert changed[0].live


def test_table_is_cut_into_slices_that_go_on_while_it_streams() -> None:
    stream = StreamMarkdown()
    rows = BlockRows(stream)
    stream.feed("before\n\n| a |\n|---|\n")
    for number in range(2 * SLICE_ROWS + 5):
        stream.feed(f"| {number} |\n")
        stream.update()
        rows.sync(live=True)
    stream.feed("\nafter")
    stream.finish()
    rows.sync(live=False)
    assert _kinds(rows.rows) == [
        RowKind.TEXT,
        RowKind.TABLE,
        RowKind.TABLE,
        RowKind.TABLE,
        RowKind.TEXT,
    ]
    assert [row.gap for row in rows.rows[1:4]] == [10, 0, 0]
    assert sum(len(row.content.rows) for row in rows.rows[1:4]) == 2 * SLICE_ROWS + 5
    assert [row.content.last for row in rows.rows[1:4]] == [False, False, True]


def test_text_of_rows_can_be_searched() -> None:
    rows = _whole("a **b**\n\n```\ncode\n```\n\n| t |\n|---|\n| u |\n").rows
    assert [shown(row).text for row in rows] == ["a b", "code", "t\nu"]
    assert parse_markdown("a") != ()

from __future__ import annotations

import pytest

from app.ui.transcript.blocks import Block, Code, Formula, Paragraph, Place, Rule, Span, Table
from app.ui.transcript.markdown import MAX_COLUMNS, is_safe_link, links_in
from app.ui.transcript.stream_markdown import parse_markdown


def _only(text: str) -> Block:
    (block,) = parse_markdown(text)
    return block


def _spans(text: str) -> tuple[Span, ...]:
    block = _only(text)
    assert isinstance(block, Paragraph)
    return block.spans


@pytest.mark.parametrize(
    "text",
    ["<think>hm</think>", "std::vector<int> v;", "<|im_start|>system", "a <b>c</b> <script>x()"],
)
def test_angle_brackets_are_shown(text: str) -> None:
    assert "".join(span.text for span in _spans(text)) == text


def test_looks_of_text() -> None:
    assert _spans("a **b *c*** `d` ~~e~~") == (
        Span("a "),
        Span("b ", bold=True),
        Span("c", bold=True, italic=True),
        Span(" "),
        Span("d", code=True),
        Span(" "),
        Span("e", strike=True),
    )


def test_lines_of_a_paragraph_stay_lines() -> None:
    assert _spans("one\ntwo") == (Span("one\ntwo"),)


def test_nested_lists_are_flat_blocks_with_depth() -> None:
    blocks = parse_markdown("1. one\n   - two\n     - three\n2. four")
    assert [(b.place.items, b.place.marker) for b in blocks] == [
        (1, "1."),
        (2, "•"),
        (3, "•"),
        (1, "2."),
    ]


def test_tasks_have_boxes() -> None:
    done, todo = parse_markdown("- [x] done\n- [ ] todo")
    assert (done.place.marker, todo.place.marker) == ("☑", "☐")
    assert isinstance(done, Paragraph)
    assert done.spans == (Span("done"),)


def test_code_in_a_list_item_is_code_in_that_item() -> None:
    first, code = parse_markdown("1. run\n   ```sh\n   ls\n   ```")
    assert first.place.marker == "1."
    assert code == Code("ls", "sh", place=Place(items=1))


def test_quotes_carry_their_depth() -> None:
    blocks = parse_markdown("> a\n>> b")
    assert [block.place.quotes for block in blocks] == [1, 2]


def test_headings_and_rules() -> None:
    heading, rule = parse_markdown("### T\n\n***")
    assert isinstance(heading, Paragraph)
    assert heading.level == 3
    assert rule == Rule()


def test_table_with_alignment_and_marks_in_cells() -> None:
    table = _only("| a | b | c |\n|:--|:-:|--:|\n| **1** | `2` |\n")
    assert isinstance(table, Table)
    assert table.aligns == ("left", "center", "right")
    assert table.rows == (((Span("1", bold=True),), (Span("2", code=True),), ()),)


def test_table_of_too_many_columns_is_its_source() -> None:
    columns = MAX_COLUMNS + 1
    source = "|a" * columns + "|\n" + "|-" * columns + "|"
    assert _only(source) == Code(source)


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("[t](https://a.b/c)", "https://a.b/c"),
        ("<https://a.b>", "https://a.b"),
        ("https://a.b/c", "https://a.b/c"),
        ("www.a.org", "http://www.a.org"),
        ("[mail](mailto:a@b.c)", "mailto:a@b.c"),
    ],
)
def test_safe_addresses_are_links(text: str, href: str) -> None:
    assert [span.href for span in _spans(text)] == [href]


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "ftp://a.b", "note.md"],
)
def test_other_addresses_are_text_that_can_be_read(address: str) -> None:
    spans = _spans(f"[click]({address})")
    assert not any(span.href for span in spans)
    assert address in "".join(span.text for span in spans)


def test_images_are_links_with_their_words_and_address() -> None:
    assert _spans("![A cat](https://a.b/cat.png)") == (
        Span("A cat (https://a.b/cat.png)", href="https://a.b/cat.png"),
    )
    assert _spans("![](secret.png)") == (Span("image (secret.png)"),)


def test_link_definitions_stay_visible() -> None:
    text = "".join(span.text for span in _spans("[1]: https://a.b"))
    assert text == "[1]: https://a.b"


@pytest.mark.parametrize(
    "text",
    [
        "costs $5 and $10",
        "from $5 to $10 or 20$ more",
        "$ 5 $ and US$5, A$6",
        "echo $HOME and $PATH",
        "it's 5$ or 10$ here",
    ],
)
def test_money_and_shells_are_not_mathematics(text: str) -> None:
    assert _spans(text) == (Span(text),)


@pytest.mark.parametrize("text", ["$x^2$", r"\(x^2\)", "$$x^2$$ it is"])
def test_inline_mathematics(text: str) -> None:
    assert _spans(f"so {text} then")[1] == Span("x^2", math=True)


def test_escaped_dollar_is_a_dollar() -> None:
    assert _spans(r"\$x\$") == (Span("$x$"),)


@pytest.mark.parametrize(
    "text",
    ["$$x^2$$", "$$\nx^2\n$$", "\\[\nx^2\n\\]", "\\[ x^2 \\].", "$$ x^2 $$"],
)
def test_displayed_mathematics(text: str) -> None:
    assert _only(text) == Formula("x^2")


def test_displayed_mathematics_interrupts_a_paragraph() -> None:
    blocks = parse_markdown("so\n\\[\na\n\\]\nand")
    assert [type(block) for block in blocks] == [Paragraph, Formula, Paragraph]


def test_unclosed_displayed_mathematics_ends_at_a_blank_line() -> None:
    formula, paragraph = parse_markdown("$$\na\n\nb")
    assert formula == Formula("a", closed=False)
    assert isinstance(paragraph, Paragraph)


def test_what_is_a_safe_link() -> None:
    assert is_safe_link("HTTPS://a.b")
    assert not is_safe_link("https://")
    assert not is_safe_link(" javascript:x")


def test_links_for_a_menu() -> None:
    text = "see https://a.b/c, (https://d.e) and https://a.b/c."
    assert links_in(text) == ["https://a.b/c", "https://d.e"]

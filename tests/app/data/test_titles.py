from __future__ import annotations

import pytest

from app.data.titles import clean_title, title_from


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("What is a load line?", "What is a load line?"),
        ("\n\n  # **Load** `lines`\nsecond line", "Load lines"),
        ("- [ ] buy [bread](http://example.org)", "[ ] buy bread"),
        ("> quoted *text*:\nanswer", "quoted text"),
        ("---\n***\n!?\nafter rules", "after rules"),
        ("```python\nprint('x')\n```\nWhat does it do?", "print('x')"),
        ("<b>not</b> swallowed", "<b>not</b> swallowed"),
        ("![alt text](http://example.org/x.png)", "alt text"),
        ("", ""),
        (" \n\t ", ""),
        ("!!!", ""),
        ("one two three four five six seven eight nine ten eleven twelve",
         "one two three four five six seven eight nine ten…"),
        ("載" * 100, "載" * 48 + "…"),
        ("x" * 5000, "x" * 48 + "…"),
    ],
)  # fmt: skip
def test_title_from(text: str, title: str) -> None:
    assert title_from(text) == title


def test_a_hostile_text_costs_little() -> None:
    assert len(title_from("[" * 1_000_000 + "(" * 1_000_000)) <= 49
    assert len(title_from("> " * 100_000 + "x")) <= 49


def test_clean_title() -> None:
    assert clean_title("  a\n b\t c ") == "a b c"
    assert len(clean_title("x" * 9999)) == 200

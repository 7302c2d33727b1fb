"""Places of a text: counted by message, shown one by one wherever they stand."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit
from pytestqt.qtbot import QtBot

from app.ui.transcript.formula_row import FormulaRow
from app.ui.transcript.items import MessageView
from app.ui.transcript.place_text import find_place
from app.ui.transcript.view import Transcript
from tests.helpers.transcript_probe import widgets


def _selection(view: Transcript) -> tuple[str, int, int]:
    """Return the one selected text and where it stands on the viewport."""
    edits: list[QTextEdit | QPlainTextEdit] = [
        *view.findChildren(QTextEdit),
        *view.findChildren(QPlainTextEdit),
    ]
    (edit,) = (e for e in edits if e.textCursor().hasSelection() and e.isVisible())
    start = edit.textCursor()
    start.setPosition(start.selectionStart())
    at = edit.viewport().mapTo(view.viewport(), edit.cursorRect(start).center())
    assert edit.viewport().rect().contains(edit.cursorRect(start).center())
    assert edit.cursorRect().left() <= edit.viewport().width() + 2  # a cursor at the very edge
    return edit.textCursor().selectedText(), at.x(), at.y()


@pytest.mark.parametrize(
    ("text", "needle", "places"),
    [
        ("a ship, A SHIP", "ship", ["ship", "SHIP"]),
        ("Straße STRASSE", "strasse", ["Straße", "STRASSE"]),
        ("😀 мир 😀 МИР", "мир", ["мир", "МИР"]),
        ("العربية و العربية", "العربية", ["العربية", "العربية"]),
        ("two\u00a0words", "two words", ["two words"]),
        ("aaaa", "aa", ["aa", "aa"]),
        ("none", "keel", []),
    ],
)
def test_places_of_a_document(text: str, needle: str, places: list[str]) -> None:
    document = QTextDocument(text)
    found: list[str] = []
    while not (cursor := find_place(document, needle, len(found))).isNull():
        found.append(cursor.selectedText().replace("\u00a0", " "))
    assert found == places


def test_what_is_not_shown_counts_until_it_is_read(view: Transcript) -> None:
    linked = MessageView("far", "assistant", "A [keel](https://keel.example) and a ke*el*.")
    view.set_messages([linked, *(MessageView(f"m{i}", "user", "word\n" * 9) for i in range(200))])
    assert view.places.counts("keel") == [("far", 2)]  # of the source
    assert view.places.read("far") == 2  # the shown ones: one in the address, one by marks
    assert view.places.counts("https") == []
    assert view.places.counts("  ") == []


def test_notices_are_no_places_and_reasoning_is_unfolded(view: Transcript) -> None:
    view.set_messages(
        [
            MessageView("a", "notice", "ship"),
            MessageView("b", "assistant", "A ship.", reasoning="SHIPs, a ship", note="Stopped"),
        ]
    )
    assert view.places.counts("ship") == [("b", 3)]
    for number, text in ((2, "ship"), (0, "SHIP"), (1, "ship")):
        assert view.places.show("b", "ship", number)
        assert _selection(view)[0] == text
    assert view.places.counts("ship") == [("b", 3)]
    assert not view.places.show("b", "ship", 3)


def test_places_in_long_code_and_tables_come_into_view(view: Transcript) -> None:
    code = "\n".join(f"{'x' * (300 if i == 140 else 3)} = keel" for i in range(150))
    cells = "\n".join(f"| {i} | {'wide ' * 40} | {'wide ' * 40} | the Keel |" for i in range(40))
    table = f"| no | a | b | keel |\n|---|---|---|---|\n{cells}"
    view.set_messages(
        [
            MessageView("a", "assistant", f"```\n{code}\n```\n\n{table}"),
            *(MessageView(f"m{i}", "user", "word") for i in range(50)),
        ]
    )
    assert view.places.read("a") == 0  # nothing is looked for yet
    assert view.places.counts("keel") == [("a", 150 + 41)]
    for number, text in ((0, "keel"), (140, "keel"), (149, "keel"), (150, "keel"), (190, "Keel")):
        assert view.places.show("a", "KEEL", number)
        found, x, y = _selection(view)
        assert found == text
        assert 0 <= x < view.viewport().width()
        assert 0 <= y < view.viewport().height()


def test_a_long_chat_is_counted_without_being_parsed(view: Transcript) -> None:
    view.set_messages(
        [MessageView(f"m{i}", "assistant", f"The *keel* of {i}, a keel") for i in range(5000)]
    )
    before = len(list(view._flow.entries.made()))
    assert sum(count for _, count in view.places.counts("keel")) == 10_000
    assert len(list(view._flow.entries.made())) == before
    assert view.places.show("m7", "keel", 1)
    assert len(list(view._flow.entries.made())) < before + 100


def test_a_long_chat_is_counted_in_many_steps_from_its_end_on(view: Transcript) -> None:
    view.set_messages([MessageView(f"m{i}", "user", f"The keel of {i}") for i in range(2000)])
    view.places.look_for("KEEL")
    steps = list(view.places.counting())
    assert len(steps) > 10
    found = [message for step in steps for message, _ in step]
    assert found == [f"m{i}" for i in reversed(range(2000))]


@pytest.mark.parametrize("typed", ["keels", "a keel", "straSSe", "  a b", "bab"])
def test_what_is_known_of_a_shorter_text_misses_no_place_of_a_longer_one(
    view: Transcript, typed: str
) -> None:
    texts = ("A keel, keels", "Straße strasse", "a\u00a0keel", "a b a b", "babab", "", "kee ls")
    view.set_messages([MessageView(f"m{i}", "user", text) for i, text in enumerate(texts)])
    there_and_back = [*range(len(typed) + 1), *reversed(range(len(typed)))]
    for length in there_and_back:
        needle = typed[:length].strip().casefold()
        expected = [
            (f"m{i}", text.casefold().replace("\u00a0", " ").count(needle))
            for i, text in enumerate(texts)
        ]
        assert view.places.counts(typed[:length]) == [
            found for found in expected if needle and found[1]
        ]


def test_messages_that_were_parsed_tell_what_they_show(view: Transcript) -> None:
    linked = MessageView("far", "assistant", "A [keel](https://keel.example) and a ke*el*.")
    view.set_messages([linked, *(MessageView(f"m{i}", "user", "word\n" * 9) for i in range(200))])
    assert view.places.shown_counts() == {}  # nothing is looked for
    view.places.look_for("https")
    assert "far" not in view.places.shown_counts()
    view.scroll_to("far")
    assert view.places.shown_counts()["far"] == 0
    assert view.places.index_of("far") == 0
    assert view.places.index_of("m199") == 200
    assert view.places.index_of("gone") == -1


FORMULAS = r"""The alpha of $\alpha + \alpha$, not $\beta$ but **α** and $\alpha$$\alpha$ alpha.

$$
\sum_i \alpha_i + \alpha
$$

| sign | of |
|---|---|
| $\alpha$ | alpha |

$$
\gamma
$$
"""


def test_formulas_are_one_place_each_and_are_marked(qtbot: QtBot, view: Transcript) -> None:
    view.set_messages(
        [
            MessageView("a", "assistant", FORMULAS),
            *(MessageView(f"m{i}", "user", "word") for i in range(50)),
        ]
    )
    view.places.look_for("alpha")
    assert view.places.read("a") == 8
    view.scroll_to("a")
    drawn = {r"\alpha + \alpha", r"\alpha", r"\sum_i \alpha_i + \alpha"}
    inline = [(latex, False) for latex in drawn] + [(latex, True) for latex in drawn]
    qtbot.waitUntil(
        lambda: all(
            view.formulas.lookup(text, display=shown) != "pending" for text, shown in inline
        )
    )
    view.scroll_to_end()
    found = []
    for number in range(8):
        assert view.places.show("a", "alpha", number)
        qtbot.wait(20)
        assert view.places.show("a", "alpha", number)
        marked = [row for row in widgets(view, FormulaRow) if row._is_marked]
        if marked:
            (row,) = marked
            top = row.mapTo(view.viewport(), row.rect().topLeft()).y()
            assert 0 <= top < view.viewport().height()
            found.append(row.selected_plain())
        else:
            found.append(_selection(view)[0])
    assert found == [
        "alpha",
        "\ufffc",
        "\ufffc",
        "\ufffc",
        "alpha",
        r"\sum_i \alpha_i + \alpha",
        "\ufffc",
        "alpha",
    ]
    view.places.leave()
    assert _selection(view)[0] == "alpha"  # text stays selected, to be copied
    assert view.places.show("a", "alpha", 5)
    assert [row for row in widgets(view, FormulaRow) if row._is_marked]
    view.places.leave()
    assert not any(row._is_marked for row in widgets(view, FormulaRow))
    assert not view.places.show("a", "alpha", 8)
    assert not any(row._is_marked for row in widgets(view, FormulaRow))


def test_a_formula_that_cannot_be_drawn_is_marked_as_its_source(
    qtbot: QtBot, view: Transcript
) -> None:
    bad = r"\nosuch{x}{"
    view.set_messages([MessageView("a", "assistant", f"An x, ${bad}$ and x.")])
    qtbot.waitUntil(lambda: view.formulas.lookup(bad, display=False) == "failed")
    assert view.places.counts("x") == [("a", 3)]
    found = []
    for number in range(3):
        assert view.places.show("a", "x", number)
        found.append(_selection(view)[0])
    assert found == ["x", bad, "x"]

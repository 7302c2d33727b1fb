from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.ui.shell.composer import Composer
from app.ui.shell.sliced_insert import SLICE_CHARS
from app.ui.theme import ThemeManager

_LONG = "".join(f"Line {number} of the text.\n" for number in range(12_000))


@pytest.fixture
def composer(qtbot: QtBot, themes: ThemeManager) -> Composer:
    """A composer on the screen with a draft, and the cursor before its last word."""
    made = Composer(themes)
    qtbot.addWidget(made)
    made.resize(700, 300)
    with qtbot.waitExposed(made):
        made.show()
    made.set_text("before after")
    made.edit.moveCursor(QTextCursor.MoveOperation.PreviousWord)
    return made


def _paste(composer: Composer, text: str) -> None:
    """Paste a long text and have it put into the draft."""
    data = QMimeData()
    data.setText(text)
    composer.edit.insertFromMimeData(data)
    assert composer._offer is not None
    composer._offer.chosen.emit("insert")


def _there(composer: Composer) -> int:
    """Return how many characters the draft has so far."""
    return composer.edit.document().characterCount() - 1


def test_a_long_text_comes_in_a_part_at_a_time(qtbot: QtBot, composer: Composer) -> None:
    assert len(_LONG) > 4 * SLICE_CHARS
    _paste(composer, _LONG)
    assert _there(composer) < 2 * SLICE_CHARS
    qtbot.waitUntil(lambda: _there(composer) == len(_LONG) + len("before after"))
    assert composer.text() == f"before {_LONG}after"
    assert composer.edit.textCursor().position() == len("before ") + len(_LONG)


def test_the_draft_is_said_to_be_another_once_it_is_whole(qtbot: QtBot, composer: Composer) -> None:
    said: list[str] = []
    composer.draft_changed.connect(lambda: said.append(composer.text()))
    _paste(composer, _LONG)
    assert not said
    qtbot.waitUntil(lambda: bool(said))
    qtbot.wait(50)
    assert said == [f"before {_LONG}after"]


def test_it_is_undone_in_one_step(qtbot: QtBot, composer: Composer) -> None:
    _paste(composer, _LONG)
    qtbot.waitUntil(lambda: not composer._insert.is_running)
    composer.edit.undo()
    assert composer.text() == "before after"
    composer.edit.redo()
    assert composer.text() == f"before {_LONG}after"


def test_it_takes_the_place_of_what_is_selected(composer: Composer) -> None:
    composer.edit.selectAll()
    _paste(composer, _LONG)
    assert composer.text() == _LONG


def test_what_is_typed_meanwhile_comes_after_it(composer: Composer) -> None:
    _paste(composer, _LONG)
    QTest.keyClicks(composer.edit, "and ")
    assert composer.edit.toPlainText() == f"before {_LONG}and after"


def test_sending_meanwhile_sends_all(composer: Composer) -> None:
    sent: list[str] = []
    composer.send_requested.connect(sent.append)
    _paste(composer, _LONG)
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert sent == [f"before {_LONG}after"]


@pytest.mark.parametrize("draft", ["another", ""])
def test_another_draft_is_not_added_to(qtbot: QtBot, composer: Composer, draft: str) -> None:
    _paste(composer, _LONG)
    if draft:
        composer.set_text(draft)
    else:
        composer.clear()
    qtbot.wait(50)
    assert composer.text() == draft


def test_a_second_text_follows_the_first(composer: Composer) -> None:
    _paste(composer, _LONG)
    _paste(composer, _LONG.upper())
    assert composer.text() == f"before {_LONG}{_LONG.upper()}after"


def test_ends_of_lines_are_not_cut_apart(composer: Composer) -> None:
    text = "x" * 9_999 + "\r\n"
    _paste(composer, text * 20)
    composer.edit.moveCursor(QTextCursor.MoveOperation.End)
    assert composer.text() == "before " + text.replace("\r\n", "\n") * 20 + "after"

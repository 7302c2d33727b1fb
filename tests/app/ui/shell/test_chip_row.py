from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel, QToolButton
from pytestqt.qtbot import QtBot

from app.ui.shell.chip import Chip
from app.ui.shell.composer import Composer
from app.ui.shell.views import AttachmentChip
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@pytest.fixture
def composer(qtbot: QtBot, themes: ThemeManager) -> Composer:
    composer = Composer(themes)
    qtbot.addWidget(composer)
    return composer


def test_why_files_cannot_be_sent_is_read_below_them(
    qtbot: QtBot, composer: Composer, themes: ThemeManager
) -> None:
    composer.resize(420, 300)
    composer.show()
    reason = f"{'a_long_name' * 20}.txt holds no text: only text and PDF files can be attached."
    composer.set_attachments(
        (AttachmentChip("a", "a.txt", 3), AttachmentChip("b", "b", None, reason))
    )
    label = composer._chips._reasons
    assert label.isVisible()
    qtbot.waitUntil(lambda: label.height() > 4 * label.fontMetrics().height())
    assert composer.width() == 420  # a long name asks for lines, not for width
    broken = composer.reasons_text().replace("\u200b", "")
    assert broken == reason
    many = tuple(AttachmentChip(str(n), f"{n}", None, f"{n} is empty.") for n in range(6))
    composer.set_attachments(many)
    assert composer.reasons_text().splitlines() == [
        "0 is empty.",
        "1 is empty.",
        "2 is empty.",
        "3 more can't be sent.",
    ]
    composer.set_attachments(many[:4])
    assert composer.reasons_text().splitlines()[-1] == "1 more file can't be sent."
    themes.set_text_size(150)  # chips are made anew
    assert len(composer.findChildren(QToolButton)) >= 4
    composer.set_attachments(())
    assert composer._chips.isHidden()


@pytest.mark.parametrize(("width", "shown"), [(700, "whole"), (330, "short")])
def test_an_obstacle_has_fewer_words_where_it_would_be_cut(
    qtbot: QtBot, composer: Composer, width: int, shown: str
) -> None:
    words = {"whole": "The engine ended; load the model again.", "short": "The engine ended"}
    composer.resize(width, 200)
    composer.show()
    composer.set_unavailable(words["whole"], words["short"])
    qtbot.waitUntil(lambda: composer._figures.shown_text() == words[shown])
    composer.set_unavailable(None)
    chips = (AttachmentChip("b", "b", None, "b is empty."),)
    composer.set_attachments(chips)
    words = {
        "whole": "Remove the files that can't be sent first.",
        "short": "Some files can't be sent",
    }
    qtbot.waitUntil(lambda: composer._figures.shown_text() == words[shown])


def test_a_file_that_is_gone_is_told_below_its_chip_and_can_be_sent(
    qtbot: QtBot, composer: Composer
) -> None:
    composer.resize(420, 300)
    composer.show()
    sentence = "notes.md is no longer where it was. It is sent as it was when you attached it."
    composer.set_attachments((AttachmentChip("a", "notes.md", 3, warning=sentence),))
    assert composer._chips.warnings() == sentence
    assert composer._chips._warnings.isVisible()
    assert composer.reasons_text() == ""
    (chip,) = composer.findChildren(Chip)
    assert chip.toolTip() == sentence
    assert chip.accessibleName() == f"notes.md, {sentence}"
    assert [label.text() for label in chip.findChildren(QLabel)][-1] == "3 tokens, file is gone"
    with qtbot.waitSignal(composer.send_requested):
        composer.edit.send_pressed.emit()
    composer.set_attachments((AttachmentChip("a", "notes.md", 3),))
    assert composer._chips._warnings.isHidden()

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from app.ui.shell.composer import Composer
from app.ui.shell.draft_edit import LARGE_PASTE_CHARS, LONGEST_LINE_CHARS, has_long_line
from app.ui.shell.views import AttachmentChip, DraftFacts
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@pytest.fixture(autouse=True)
def double_click_interval(qapp: QApplication) -> Iterator[None]:
    """Tests may change it; the next one finds it as it was."""
    before_ms = QApplication.doubleClickInterval()
    yield
    QApplication.setDoubleClickInterval(before_ms)


@pytest.fixture
def composer(qtbot: QtBot, themes: ThemeManager) -> Composer:
    composer = Composer(themes)
    qtbot.addWidget(composer)
    composer.resize(600, 200)
    composer.show()
    return composer


def send_button(composer: Composer) -> QPushButton:
    return composer._send


def paste(composer: Composer, *, text: str = "", paths: tuple[Path, ...] = ()) -> None:
    data = QMimeData()
    if text:
        data.setText(text)
    if paths:
        data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    composer.edit.insertFromMimeData(data)


def offer_buttons(composer: Composer) -> dict[str, QPushButton]:
    assert composer._offer is not None
    return {button.text(): button for button in composer._offer.buttons()}


def test_enter_sends_and_shift_enter_breaks(qtbot: QtBot, composer: Composer) -> None:
    sent: list[str] = []
    composer.send_requested.connect(sent.append)
    QTest.keyClicks(composer.edit, "one")
    QTest.keyClick(composer.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(composer.edit, "two")
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert sent == ["one\ntwo"]
    assert composer.text() == "one\ntwo"  # kept until the message is stored
    composer.clear()
    assert composer.text() == ""


def test_the_other_key_can_send(qtbot: QtBot, composer: Composer) -> None:
    composer.set_send_key("ctrl_enter")
    sent: list[str] = []
    composer.send_requested.connect(sent.append)
    QTest.keyClicks(composer.edit, "one")
    QTest.keyClick(composer.edit, Qt.Key.Key_Enter)
    assert sent == []
    QTest.keyClick(composer.edit, Qt.Key.Key_Enter, Qt.KeyboardModifier.ControlModifier)
    assert sent == ["one\n"]
    assert "Ctrl+Enter; Enter breaks the line" in send_button(composer).toolTip()


def test_a_draft_that_does_not_fit_is_kept_and_not_sent(qtbot: QtBot, composer: Composer) -> None:
    sent: list[str] = []
    composer.send_requested.connect(sent.append)
    composer.set_text("much")
    assert "Enter; Shift+Enter breaks the line" in send_button(composer).toolTip()
    composer.set_blocked(True)
    assert not send_button(composer).isEnabled()
    assert "does not fit the context" in send_button(composer).toolTip()
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert (sent, composer.text()) == ([], "much")
    composer.set_blocked(False)
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert sent == ["much"]


@pytest.mark.parametrize("text", ["", "   ", "\n\n \t\n"])
def test_an_empty_draft_is_not_sent(qtbot: QtBot, composer: Composer, text: str) -> None:
    composer.set_text(text)
    assert not send_button(composer).isEnabled()
    with qtbot.assertNotEmitted(composer.send_requested):
        QTest.keyClick(composer.edit, Qt.Key.Key_Return)


def test_send_turns_into_stop(qtbot: QtBot, composer: Composer) -> None:
    composer.set_text("next question")
    composer.set_generating(True)
    QApplication.setDoubleClickInterval(0)
    assert send_button(composer).text() == "Stop"
    with qtbot.assertNotEmitted(composer.send_requested):
        QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    with qtbot.waitSignal(composer.stop_requested):
        send_button(composer).click()
    composer.set_generating(False)
    assert send_button(composer).text() == "Send"
    with qtbot.waitSignal(composer.send_requested) as sent:
        send_button(composer).click()
    assert sent.args == ["next question"]


def test_a_double_click_on_send_does_not_stop(qtbot: QtBot, composer: Composer) -> None:
    QApplication.setDoubleClickInterval(60_000)
    composer.set_text("question")
    composer.send_requested.connect(lambda: composer.set_generating(True))
    with qtbot.assertNotEmitted(composer.stop_requested), qtbot.waitSignal(composer.send_requested):
        QTest.mouseClick(send_button(composer), Qt.MouseButton.LeftButton)
        QTest.mouseDClick(send_button(composer), Qt.MouseButton.LeftButton)
        QTest.mouseRelease(send_button(composer), Qt.MouseButton.LeftButton)
    QApplication.setDoubleClickInterval(0)
    with qtbot.waitSignal(composer.stop_requested):
        QTest.mouseClick(send_button(composer), Qt.MouseButton.LeftButton)


def test_a_double_click_on_stop_does_not_send(qtbot: QtBot, composer: Composer) -> None:
    QApplication.setDoubleClickInterval(0)
    composer.set_text("a draft for later")
    composer.set_generating(True)
    composer.stop_requested.connect(lambda: composer.set_generating(False))
    button, left = send_button(composer), Qt.MouseButton.LeftButton
    with qtbot.waitSignal(composer.stop_requested):
        QTest.mouseClick(button, left)
    assert button.text() == "Send"
    QApplication.setDoubleClickInterval(60_000)
    with qtbot.assertNotEmitted(composer.send_requested):
        QTest.mouseDClick(button, left)
        QTest.mouseRelease(button, left)
    QApplication.setDoubleClickInterval(0)
    with qtbot.waitSignal(composer.send_requested):
        QTest.mouseClick(button, left)


def test_files_chosen_in_the_dialog_are_attached(qtbot: QtBot, composer: Composer) -> None:
    composer._attach.click()
    dialog = composer.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    with qtbot.waitSignal(composer.files_added) as added:
        dialog.filesSelected.emit(["/d/one.txt", "/d/two.md"])
    assert added.args == [["/d/one.txt", "/d/two.md"]]
    dialog.close()


def test_without_a_model_the_reason_is_said(composer: Composer) -> None:
    composer.set_text("hello")
    composer.set_draft_facts(DraftFacts(1, 0.5))
    composer.set_unavailable("Choose a model first.")
    assert not send_button(composer).isEnabled()
    assert composer.figures_text() == "Choose a model first."
    assert send_button(composer).toolTip() == "Choose a model first."
    composer.set_unavailable(None)
    assert send_button(composer).isEnabled()
    assert composer.figures_text() == "Draft 1 token · context after sending 50 %"


@pytest.mark.parametrize(
    ("width", "percent", "words", "attach"),
    [
        (600, 100, "Draft 1,234 tokens · context after sending 50 %", "Attach"),
        (440, 100, "1,234 tokens · then 50 %", "Attach"),
        (396, 200, "then 50 %", ""),  # what a window of 1,024 pixels leaves beside the panel
        (600, 200, "then 50 %", "Attach"),
    ],
)
def test_figures_have_fewer_words_rather_than_cut_ones(
    qtbot: QtBot,
    composer: Composer,
    themes: ThemeManager,
    width: int,
    percent: int,
    words: str,
    attach: str,
) -> None:
    def shown() -> tuple[str, str]:
        return composer._figures.shown_text(), composer._attach.text()

    themes.set_text_size(percent)
    composer.resize(width, 200)
    composer.set_draft_facts(DraftFacts(1234, 0.5))
    qtbot.waitUntil(lambda: shown() == (words, attach))
    assert composer._attach.accessibleName() == "Attach"
    composer.resize(1200, 200)
    qtbot.waitUntil(lambda: shown() == (composer.figures_text(), "Attach"))


def test_figures_turn_amber_and_red(composer: Composer, themes: ThemeManager) -> None:
    assert composer.figures_text() == ""
    composer.set_draft_facts(DraftFacts(1234, None))
    assert composer.figures_text() == "Draft 1,234 tokens"
    for share, token in ((0.79, "faint"), (0.8, "warning"), (0.95, "danger"), (1.2, "danger")):
        composer.set_draft_facts(DraftFacts(5, share))
        assert themes.theme.css(token) in composer._figures.styleSheet()


def test_up_in_an_empty_draft_edits_the_last_message(qtbot: QtBot, composer: Composer) -> None:
    with qtbot.waitSignal(composer.edit_last_requested):
        QTest.keyClick(composer.edit, Qt.Key.Key_Up)
    composer.set_text("x")
    with qtbot.assertNotEmitted(composer.edit_last_requested):
        QTest.keyClick(composer.edit, Qt.Key.Key_Up)


def test_it_grows_to_ten_lines_and_scrolls_beyond(composer: Composer) -> None:
    one = composer.edit.height()
    composer.set_text("a\nb\nc\nd")
    edit = composer.edit
    edit.blockBoundingRect(edit.document().begin())
    spacing = edit.document().begin().layout().boundingRect().height()
    assert composer.edit.height() == one + 3 * spacing
    composer.set_text("\n".join("abcdefghijklmnop"))
    assert composer.edit.height() == one + 9 * spacing
    assert composer.edit.verticalScrollBar().maximum() > 0
    composer.set_text("word " * 60)  # one paragraph, wrapped
    assert composer.edit.height() > one + 2 * spacing
    composer.clear()
    assert composer.edit.height() == one


def test_a_pasted_picture_is_told_and_not_dropped_in_silence(
    qtbot: QtBot, composer: Composer
) -> None:
    picture = QMimeData()
    picture.setImageData(QImage(4, 4, QImage.Format.Format_RGB32))
    assert composer.edit.canInsertFromMimeData(picture)
    with qtbot.waitSignal(composer.picture_pasted):
        composer.edit.insertFromMimeData(picture)
    picture.setText("with words")  # as offices and browsers copy a table
    with qtbot.assertNotEmitted(composer.picture_pasted):
        composer.edit.insertFromMimeData(picture)
    assert composer.text() == "with words"


def test_only_plain_text_is_pasted(composer: Composer) -> None:
    data = QMimeData()
    data.setHtml("<b>bold</b>")
    data.setText("bold")
    composer.edit.insertFromMimeData(data)
    assert composer.text() == "bold"


def test_pasted_files_are_attached(qtbot: QtBot, composer: Composer, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    with qtbot.waitSignal(composer.files_added) as added:
        paste(composer, paths=(file,))
    assert [Path(path) for path in added.args[0]] == [file]
    assert composer.text() == ""


def test_a_large_text_is_offered_as_a_file(qtbot: QtBot, composer: Composer) -> None:
    text = "a line of text\n" * (LARGE_PASTE_CHARS // 10)
    paste(composer, text=text)
    assert composer.text() == ""
    with qtbot.waitSignal(composer.text_attached) as attached:
        offer_buttons(composer)["Attach it as a file"].click()
    assert attached.args == [text]
    assert composer._offer is None

    paste(composer, text=text)
    offer_buttons(composer)["Put it into the draft"].click()
    assert composer.text() == text
    assert send_button(composer).isEnabled()

    composer.clear()
    paste(composer, text=text)
    offer_buttons(composer)["Don't paste"].click()
    assert composer.text() == ""


def test_one_endless_line_is_never_put_into_the_draft(composer: Composer) -> None:
    paste(composer, text="x" * (LONGEST_LINE_CHARS + 1))
    assert set(offer_buttons(composer)) == {"Attach it as a file", "Don't paste"}


def test_another_draft_ends_the_offer(composer: Composer) -> None:
    paste(composer, text="x" * (LONGEST_LINE_CHARS + 1))
    composer.set_text("draft of another chat")
    assert composer._offer is None
    assert composer.text() == "draft of another chat"


@pytest.mark.parametrize(
    ("text", "long"),
    [
        ("", False),
        ("x" * LONGEST_LINE_CHARS, False),
        ("x" * (LONGEST_LINE_CHARS + 1), True),
        (("x" * LONGEST_LINE_CHARS + "\n") * 3, False),
        ("short\n" * 50_000 + "y" * (LONGEST_LINE_CHARS + 1), True),
        ("y" * (LONGEST_LINE_CHARS + 1) + "\nshort", True),
    ],
)
def test_long_lines_are_noticed(text: str, long: bool) -> None:
    assert has_long_line(text) is long


def test_chips_show_tokens_faults_and_can_be_removed(qtbot: QtBot, composer: Composer) -> None:
    chips = (
        AttachmentChip("a", "notes.txt", 1830),
        AttachmentChip("b", "photo.png", problem="Pictures can't be read by this model."),
    )
    composer.set_attachments(chips)
    crosses = [
        button
        for button in composer.findChildren(QToolButton)
        if button.accessibleName().startswith("Remove")
    ]
    assert [cross.accessibleName() for cross in crosses] == ["Remove notes.txt", "Remove photo.png"]
    assert not send_button(composer).isEnabled()
    assert composer.figures_text() == "Remove the files that can't be sent first."
    assert composer.reasons_text() == "Pictures can't be read by this model."
    with qtbot.waitSignal(composer.attachment_removed) as removed:
        crosses[1].click()
    assert removed.args == ["b"]
    composer.set_attachments(chips[:1])
    assert composer.reasons_text() == ""
    assert send_button(composer).isEnabled()  # a file alone can be sent
    composer.set_attachments(())
    assert not send_button(composer).isEnabled()


def _drag(composer: Composer, path: Path) -> tuple[QDragEnterEvent, QMimeData]:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    event = QDragEnterEvent(
        QPoint(5, 5),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    composer.dragEnterEvent(event)
    return event, data


def test_files_can_be_dropped_and_models_are_left_to_the_window(
    qtbot: QtBot, composer: Composer, tmp_path: Path
) -> None:
    event, data = _drag(composer, tmp_path / "notes.txt")
    assert event.isAccepted()
    drop = QDropEvent(
        QPoint(5, 5),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    with qtbot.waitSignal(composer.files_added) as added:
        composer.dropEvent(drop)
    assert [Path(path) for path in added.args[0]] == [tmp_path / "notes.txt"]
    refused, _ = _drag(composer, tmp_path / "model.gguf")
    assert not refused.isAccepted()


def test_draft_changes_are_said(qtbot: QtBot, composer: Composer) -> None:
    with qtbot.waitSignal(composer.draft_changed):
        QTest.keyClicks(composer.edit, "a")
    with qtbot.waitSignal(composer.draft_changed):
        composer.insert_text(" quoted")
    assert composer.text() == "a quoted"


def test_tab_goes_on_to_the_buttons(qtbot: QtBot, composer: Composer) -> None:
    composer.set_text("x")
    with qtbot.waitActive(composer):
        composer.activateWindow()
    composer.edit.setFocus()
    QTest.keyClick(composer.edit, Qt.Key.Key_Tab)
    assert composer._attach.hasFocus()
    QTest.keyClick(composer._attach, Qt.Key.Key_Tab)
    assert send_button(composer).hasFocus()


def test_the_hint_says_where_what_is_written_goes(composer: Composer) -> None:
    assert "Everything stays on this computer." in composer.edit.placeholderText()
    composer.set_elsewhere("10.0.0.5:50052")
    assert composer.edit.placeholderText() == "Also sent to 10.0.0.5:50052. Ask anything."
    composer.set_elsewhere("")
    assert "Everything stays on this computer." in composer.edit.placeholderText()


def test_a_hint_without_room_is_shortened_on_its_line(composer: Composer, qtbot: QtBot) -> None:
    composer.resize(260, composer.height())
    qtbot.waitUntil(lambda: composer.edit.placeholderText().endswith("…"))
    assert composer.edit.placeholderText().startswith("Ask anything.")
    composer.resize(700, composer.height())
    qtbot.waitUntil(lambda: composer.edit.placeholderText().endswith("computer."))

"""The table of metadata: search, copy, hostile values."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.ui.theme import ThemeManager
from inspector.views import MetadataRow
from inspector.widgets.metadata_dialog import MetadataDialog
from tests.helpers.panel_samples import METADATA


def test_search_keeps_rows_in_which_the_text_occurs(themes: ThemeManager, qtbot: QtBot) -> None:
    dialog = MetadataDialog(themes, "llama", METADATA)
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.count.text() == "6 of 6 keys"
    QTest.keyClicks(dialog.search, "HEAD_count")
    assert dialog.count.text() == "2 of 6 keys"
    dialog.search.setText("131072")
    assert dialog.proxy.index(0, 0).data() == "llama.context_length"
    dialog.search.setText("[")
    assert dialog.count.text() == "0 of 6 keys"
    dialog.close()


def test_rows_are_copied_whole(themes: ThemeManager, qtbot: QtBot) -> None:
    dialog = MetadataDialog(themes, "llama", METADATA)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.table.selectRow(5)
    dialog.table.setFocus()
    action = dialog.table.actions()[0]
    action.trigger()
    copied = QGuiApplication.clipboard().text()
    assert copied == "tokenizer.chat_template\tstring\t{% for m in messages %}\n<|im|>{{ m }}"
    dialog.close()


def test_a_value_is_one_line_and_its_tooltip_is_text(themes: ThemeManager, qtbot: QtBot) -> None:
    dialog = MetadataDialog(themes, "", (MetadataRow("k", "string", "<b>a</b>\n" * 9999),))
    qtbot.addWidget(dialog)
    cell = dialog.proxy.index(0, 2)
    assert "\n" not in str(cell.data())
    hint = str(cell.data(Qt.ItemDataRole.ToolTipRole))
    assert "&lt;b&gt;a" in hint
    assert len(hint) < 8000
    assert dialog.windowTitle() == "Metadata"

"""The load dialog opens as wide as what it says needs."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication, QScrollArea
from pytestqt.qtbot import QtBot

from app.settings import by_scope
from app.ui.dialogs.load_dialog import LoadDialog
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@pytest.mark.parametrize("percent", [75, 90, 100, 150, 200])
def test_what_was_used_makes_no_row_too_wide(qtbot: QtBot, percent: int) -> None:
    values = {setting.key: setting.default for setting in by_scope("load")}
    dialog = LoadDialog(ThemeManager("dark", percent), "Llama", "/m/llama.gguf", values)
    qtbot.addWidget(dialog)
    dialog.set_automatic("n_ctx", 8192)
    dialog.set_used({"n_ctx": "131,072 · up to 131,072 fit", "type_k": "f16", "threads": "16"})
    dialog.show()
    for _ in range(3):
        QApplication.processEvents()
    area = dialog.findChild(QScrollArea)
    assert isinstance(area, QScrollArea)
    assert not area.horizontalScrollBar().isVisible()
    row = dialog.form.row("n_ctx")
    assert row._used.isVisible()
    assert row._used.width() >= row._used.sizeHint().width()

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from app.ui.downloads.token_dialog import TokenDialog
from app.ui.theme import ThemeManager


def test_a_token_is_given_unseen(qtbot: Any, themes: ThemeManager) -> None:
    dialog = TokenDialog(themes, kept=False, place="/data/hub-token")
    qtbot.addWidget(dialog)
    dialog.show()
    given: list[str] = []
    dialog.token_given.connect(given.append)
    assert not dialog.keep.isEnabled()
    assert not dialog.forget.isVisible()
    QTest.keyClicks(dialog.field, " hf_abc ")
    assert dialog.field.echoMode() == QLineEdit.EchoMode.Password
    QTest.mouseClick(dialog.keep, Qt.MouseButton.LeftButton)
    assert given == ["hf_abc"]
    dialog.say("An access token has no blanks.")
    assert dialog.error.isVisible()
    QTest.keyClicks(dialog.field, "x")
    assert not dialog.error.isVisible()


def test_a_kept_token_can_be_removed_and_is_not_shown(qtbot: Any, themes: ThemeManager) -> None:
    dialog = TokenDialog(themes, kept=True, place="/data/hub-token")
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.field.text() == ""
    with qtbot.waitSignal(dialog.token_removed):
        QTest.mouseClick(dialog.forget, Qt.MouseButton.LeftButton)

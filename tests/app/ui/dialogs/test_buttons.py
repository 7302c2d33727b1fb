"""Every dialog's buttons stand in the platform's order, since one row makes them all."""

from __future__ import annotations

import ast
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QVBoxLayout
from pytestqt.qtbot import QtBot

from app.ui.dialogs.buttons import DialogButtons

_UI = Path(__file__).parents[4] / "app" / "ui"


def made(qtbot: QtBot) -> tuple[QDialog, DialogButtons, list[str]]:
    dialog = QDialog()
    qtbot.addWidget(dialog)
    column = QVBoxLayout(dialog)
    column.addWidget(QLineEdit(dialog))
    buttons = DialogButtons(dialog)
    column.addWidget(buttons)
    done: list[str] = []
    buttons.cancel()
    buttons.other("Reset all").clicked.connect(lambda: done.append("reset"))
    buttons.second("Save").clicked.connect(lambda: done.append("save"))
    buttons.main("Load").clicked.connect(lambda: done.append("load"))
    dialog.show()
    return dialog, buttons, done


def test_the_order_does_not_depend_on_who_was_added_first(qtbot: QtBot) -> None:
    dialog, buttons, _ = made(qtbot)
    shown = sorted(buttons.buttons(), key=lambda button: button.x())
    words = [button.text().replace("&", "") for button in shown]
    assert set(words) == {"Cancel", "Reset all", "Save", "Load"}
    assert words.index("Reset all") == 0
    holder = QDialog(dialog)
    other = DialogButtons(holder)
    for add in (other.main, other.second, other.other):
        add({"main": "Load", "second": "Save", "other": "Reset all"}[add.__name__])
    other.cancel()
    other.resize(buttons.size())
    other.show()
    again = sorted(other.buttons(), key=lambda button: button.x())
    roles = [buttons.buttonRole(button) for button in shown]
    assert [other.buttonRole(button) for button in again] == roles


def test_enter_presses_what_the_dialog_is_for_and_escape_leaves(qtbot: QtBot) -> None:
    dialog, _, done = made(qtbot)
    field = dialog.findChild(QLineEdit)
    assert field is not None
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert done == ["load"]
    with qtbot.waitSignal(dialog.rejected):
        QTest.keyClick(dialog, Qt.Key.Key_Escape)


def test_tab_passes_no_button_by(qtbot: QtBot) -> None:
    dialog, buttons, _ = made(qtbot)
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    field = dialog.findChild(QLineEdit)
    assert field is not None
    field.setFocus()
    seen = []
    for _ in range(4):
        QTest.keyClick(QApplication.focusWidget() or dialog, Qt.Key.Key_Tab)
        seen.append(QApplication.focusWidget())
    assert seen == sorted(buttons.buttons(), key=lambda button: button.x())


def test_no_dialog_lays_out_buttons_of_its_own() -> None:
    """Planner and panel may make the box of Qt itself, which keeps the same order."""
    faults = []
    for path in sorted(_UI.rglob("*.py")):
        text = path.read_text("utf-8")
        if "QDialog" not in text or path.name == "buttons.py":
            continue
        for node in ast.walk(ast.parse(text)):
            is_button = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "QPushButton"
            if is_button and any(word in ast.unparse(node) for word in ("'Cancel'", "'Close'")):
                faults.append(f"{path.relative_to(_UI)}: {ast.unparse(node)}")
    assert not faults

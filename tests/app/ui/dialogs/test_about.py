from __future__ import annotations

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.ui.dialogs.about import AboutDialog
from app.ui.dialogs.licences import LicencesDialog
from app.ui.presenters.preferences import _backends
from app.ui.theme import ThemeManager


def test_every_fact_has_room(qtbot: QtBot, themes: ThemeManager) -> None:
    facts = [("Backends", "CPU: in use\nRPC: no server named")]
    facts += [("Device", f"CUDA{number} a card with a long name") for number in range(8)]
    dialog = AboutDialog(themes, "1.0", facts)
    qtbot.addWidget(dialog)
    dialog.show()
    layout = dialog.layout()
    assert layout is not None
    assert dialog.height() >= layout.heightForWidth(dialog.width())
    dialog.close()


def test_licences_open_in_a_text_that_can_be_read_by_keyboard(
    qtbot: QtBot, themes: ThemeManager
) -> None:
    dialog = AboutDialog(themes, "1.0")
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.licences.click()
    assert not dialog.licences.isEnabled()  # until they are gathered

    def opened() -> LicencesDialog | None:
        return next((w for w in dialog.findChildren(LicencesDialog) if w.isVisible()), None)

    qtbot.waitUntil(lambda: opened() is not None)
    shown = opened()
    assert shown is not None
    text = shown.text.toPlainText()
    for part in ("PySide6_Essentials", "llama_cpp_python", "SIL Open Font License"):
        assert part in text
    assert shown.text.isReadOnly()
    assert shown.text.accessibleName()
    assert dialog.licences.isEnabled()
    shown.close()
    dialog.close()
    QApplication.processEvents()


def test_backends_are_told_with_what_they_found() -> None:
    lines = dict(line.split(": ") for line in _backends({"CPU"}).splitlines())
    assert lines["CPU"] == "in use"
    assert set(lines.values()) <= {"in use", "no server named", "no device found"}
    assert "not asked yet" in _backends(None)

"""Dialogs that other tests of access don't open: each fits 1024 by 700 with text at 200 %."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QDialog
from pytestqt.qtbot import QtBot

from app.ui.compare.chooser import VariantsDialog
from app.ui.compare.options import CompareOptionsDialog, default_options
from app.ui.compare.views import VariantChoice
from app.ui.downloads.token_dialog import TokenDialog
from app.ui.models.details import DetailsDialog
from app.ui.models.trash_dialog import TrashDialog
from app.ui.models.variant_dialog import VariantDialog
from app.ui.presenters.library_details import read_details
from app.ui.theme import ThemeManager
from inspector.widgets.metadata_dialog import MetadataDialog
from tests.helpers.access import cut_off, nameless, overlapping, unmarked_focus
from tests.helpers.panel_samples import METADATA

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)

_PATH = "/home/someone/models/Llama-3.1-8B-Instruct-Q4_K_M.gguf"
_CHOICES = tuple(
    VariantChoice(path=f"{_PATH}.{n}", name=f"Llama-3.1-8B-Instruct-Q{n}_K_M.gguf", label=f"Q{n}_K")
    for n in range(2, 9)
)
_MAKERS: dict[str, Callable[[ThemeManager, Path], QDialog]] = {
    "variants": lambda themes, _: VariantsDialog(themes, _CHOICES, [_CHOICES[0].path]),
    "options": lambda themes, _: CompareOptionsDialog(themes, default_options()),
    "token": lambda themes, _: TokenDialog(themes, kept=True, place="/data/hub-token"),
    "details": lambda themes, starter: DetailsDialog(themes, read_details(starter, "SmolLM2")),
    "trash": lambda themes, _: TrashDialog(themes, "Move 2 files?", "8.4 GiB.", [_PATH] * 3),
    "variant": lambda themes, _: VariantDialog(themes, "Llama", "Q8_0, 8.5 GiB", Path("/models")),
    "metadata": lambda themes, _: MetadataDialog(themes, "llama", METADATA),
}


@pytest.mark.parametrize("kind", _MAKERS)
def test_a_dialog_fits_a_small_screen_with_large_text(
    qtbot: QtBot, kind: str, starter: Path
) -> None:
    dialog = _MAKERS[kind](ThemeManager("dark", 200), starter)
    qtbot.addWidget(dialog)
    dialog.show()
    for _ in range(5):
        QApplication.processEvents()
    dialog.resize(min(dialog.width(), 1000), min(dialog.height(), 660))
    for _ in range(5):
        QApplication.processEvents()
    assert dialog.width() <= 1000
    assert dialog.height() <= 660
    assert cut_off(dialog) + overlapping(dialog) == []
    assert nameless(dialog) == []
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    assert unmarked_focus(dialog) == []

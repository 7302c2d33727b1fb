"""Where a page's report is to be written: the dialog, and the kinds of file it offers."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QFileDialog, QWidget

__all__ = ["choose_report"]


def _tr(text: str) -> str:
    return QCoreApplication.translate("SaveReport", text)


def choose_report(parent: QWidget, chosen: Callable[[str], object]) -> None:
    """Ask for a file; ``chosen`` hears its path, whose ending says the kind."""
    dialog = QFileDialog(parent, _tr("Save report"))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setNameFilters([_tr("Markdown (*.md)"), _tr("JSON (*.json)"), _tr("Picture (*.png)")])
    dialog.setDefaultSuffix("md")
    dialog.filterSelected.connect(
        lambda kind: dialog.setDefaultSuffix(kind.rpartition("*.")[2].rstrip(")"))
    )
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.fileSelected.connect(chosen)
    dialog.open()

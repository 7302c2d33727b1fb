"""Where something is to be written: one dialog with a good name in it, its ending by its kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Final

from PySide6.QtCore import QCoreApplication, QStandardPaths, Qt
from PySide6.QtWidgets import QFileDialog, QWidget

__all__ = ["choose_report", "choose_target", "file_stem", "today"]

# What Windows, macOS or Linux take in no file name.
_REFUSED: Final = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_LONGEST: Final = 80

_last_folder = ""  # where was saved last, in this run of the program


def _tr(text: str) -> str:
    return QCoreApplication.translate("SaveFile", text)


def file_stem(words: str, day: date | None = None) -> str:
    """Return a file's name without its ending that every system takes.

    Args:
        words: what it is about; what no file name may hold becomes a space.
        day: put behind, so that the files of several days stand side by side.
    """
    stem = " ".join(_REFUSED.sub(" ", words).split())
    if len(stem) > _LONGEST:
        stem = stem[:_LONGEST].rpartition(" ")[0] or stem[:_LONGEST]
    stem = stem.strip(" .") or "Plimsoll"
    if _RESERVED.fullmatch(stem):
        stem = f"{stem}_"
    return stem if day is None else f"{stem} {day.isoformat()}"


def today() -> date:
    """Return the day where the user is."""
    return datetime.now().astimezone().date()


def choose_target(
    parent: QWidget,
    title: str,
    kinds: Sequence[tuple[str, str]],
    stem: str,
    chosen: Callable[[str], object],
) -> QFileDialog:
    """Ask for a file to be written; ``chosen`` hears its path, whose ending says the kind.

    Args:
        parent: the window.
        title: of the dialog.
        kinds: (what it is called, ending without a dot), the first one is proposed.
        stem: the name that is proposed, without an ending; see `file_stem`.
        chosen: hears the path.
    """
    filters = {f"{name} (*.{ending})": ending for name, ending in kinds}
    first = next(iter(filters.values()))
    dialog = QFileDialog(parent, title, _folder())
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setNameFilters(list(filters))
    dialog.setDefaultSuffix(first)
    dialog.selectFile(f"{stem}.{first}")

    def follow(kind: str) -> None:
        """Let the name's ending be that of the kind, as long as it is one of the kinds."""
        dialog.setDefaultSuffix(filters[kind])
        for path in dialog.selectedFiles()[:1]:
            name = Path(path).name
            head, dot, ending = name.rpartition(".")
            if dot and ending in filters.values():
                dialog.selectFile(f"{head}.{filters[kind]}")

    def take(path: str) -> None:
        global _last_folder
        _last_folder = str(Path(path).parent)
        chosen(path)

    dialog.filterSelected.connect(follow)
    dialog.fileSelected.connect(take)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
    return dialog


def choose_report(parent: QWidget, stem: str, chosen: Callable[[str], object]) -> QFileDialog:
    """Ask where a page's report is to be written."""
    kinds = ((_tr("Markdown"), "md"), (_tr("JSON"), "json"), (_tr("Picture"), "png"))
    return choose_target(parent, _tr("Save report"), kinds, stem, chosen)


def _folder() -> str:
    if _last_folder and Path(_last_folder).is_dir():
        return _last_folder
    documents = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
    return documents if documents and Path(documents).is_dir() else str(Path.home())

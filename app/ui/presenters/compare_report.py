"""Writes a comparison's report: Markdown, JSON or a picture, by the name's ending."""

from __future__ import annotations

import json
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from app.settings import atomic_write
from app.ui.compare.page import ComparePage
from inspector.compare.records import ComparisonRecord
from inspector.compare.report import comparison_as_json, comparison_as_markdown

__all__ = ["write_report"]


def _tr(text: str) -> str:
    return QCoreApplication.translate("Compare", text)


def write_report(record: ComparisonRecord, path: str, page: ComparePage) -> str:
    """Write the report and return a sentence on what became of it."""
    ending = Path(path).suffix.lower()
    try:
        if ending == ".png":
            if not page.picture().save(path, "PNG"):
                raise OSError(_tr("the picture can't be written there"))
        elif ending == ".json":
            text = json.dumps(comparison_as_json(record), ensure_ascii=False, indent=2)
            atomic_write(Path(path), f"{text}\n".encode())
        else:
            atomic_write(Path(path), comparison_as_markdown(record).encode())
    except OSError as error:
        return _tr("The report can't be written: {0}.").format(error.strerror or str(error))
    return _tr("Saved as {0}.").format(Path(path).name)

"""Draws a report's pictures, in a process of its own: ``plimsoll --report-pictures FOLDER``.

The command line has no Qt; it hands the report in JSON to this process and gets the names of the
files and their captions, in JSON as well. Nothing is shown on a screen.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Read a report from stdin, draw into the folder named; print the pictures by load."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    os.environ.setdefault("QT_SCALE_FACTOR", "2")
    from PySide6.QtWidgets import QApplication

    from app.ui.theme import ThemeManager
    from inspector.panel import panel_view
    from inspector.report import read_report
    from inspector.session import replayed
    from inspector.widgets.pictures import save_pictures

    folder = Path(arguments[0])
    _, turns = read_report(sys.stdin.buffer.read())
    app = QApplication(["plimsoll"])
    themes = ThemeManager("light", 100)
    drawn: dict[str, list[tuple[str, str]]] = {}
    loads = {turn.load.id: turn.load for turn in turns if turn.load is not None}
    for number, (load_id, load) in enumerate(loads.items(), start=1):
        mine = [turn for turn in turns if turn.load is not None and turn.load.id == load_id]
        view = panel_view(replayed(load, mine))
        pictures = save_pictures(themes, view, folder, f"load-{number}")
        drawn[load_id] = [(item.name, item.caption) for item in pictures]
    app.processEvents()
    print(json.dumps(drawn))
    return 0

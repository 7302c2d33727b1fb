"""Draw the transcript's gallery: ``python -m tests.helpers.transcript_gallery OUT.png``."""

from __future__ import annotations

import argparse
import os
import sys
import time


def main(arguments: list[str] | None = None) -> int:
    """Draw the whole conversation, however high it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--light", action="store_true")
    parser.add_argument("--width", type=int, default=812)
    parser.add_argument("--scale", type=int, default=100, help="text size in percent")
    parser.add_argument("--edit", default="", help="message to show the editor of")
    parser.add_argument("--unfold", default="a2", help="message to unfold the reasoning of")
    parser.add_argument("--ratio", type=float, default=1.0, help="pixel ratio of the screen")
    chosen = parser.parse_args(arguments)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    if chosen.ratio != 1.0:
        os.environ["QT_SCALE_FACTOR"] = str(chosen.ratio)

    from PySide6.QtWidgets import QApplication

    from app.ui.theme import ThemeManager
    from app.ui.transcript.view import Transcript
    from tests.helpers.transcript_samples import gallery

    app = QApplication(sys.argv[:1])
    themes = ThemeManager("light" if chosen.light else "dark", chosen.scale)
    view = Transcript(themes)
    view.resize(chosen.width, 900)
    view.show()
    view.set_messages(gallery())
    view.resize(chosen.width, 6000)
    if chosen.unfold:
        view.act("toggle_reasoning", chosen.unfold)
    if chosen.edit:
        view.act("edit", chosen.edit)
    end = time.monotonic() + 3
    while time.monotonic() < end:
        app.processEvents()
        view.resize(chosen.width, view.content_height())
    view.grab().save(chosen.out)
    view.close()
    view.deleteLater()
    return 0


if __name__ == "__main__":
    sys.exit(main())

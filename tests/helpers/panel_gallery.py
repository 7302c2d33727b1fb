"""Draw the panel with an example into a picture, offscreen.

``python -m tests.helpers.panel_gallery OUT.png [--light] [--state split] [--width 392] …``
"""

from __future__ import annotations

import argparse
import os
import sys
import time

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QApplication

from app.ui.theme import ThemeManager
from inspector.widgets.panel import InspectorPanel
from tests.helpers.panel_samples import SAMPLES

_PLOTS_WITHIN_S = 30.0


def settle(panel: InspectorPanel) -> None:
    """Wait until the plots are there, and all is laid out."""
    end = time.monotonic() + _PLOTS_WITHIN_S
    while panel.growth.plot.plot is None and time.monotonic() < end:
        QCoreApplication.processEvents()
    for _ in range(5):
        QCoreApplication.processEvents()


def main() -> int:
    """Draw and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--light", action="store_true")
    parser.add_argument("--state", choices=sorted(SAMPLES), default="split")
    parser.add_argument("--width", type=int, default=392)
    parser.add_argument("--height", type=int, default=0, help="0 is as tall as its content")
    parser.add_argument("--text-size", type=int, default=100)
    parser.add_argument("--rtl", action="store_true")
    parser.add_argument("--explain", action="store_true", help="with the cards' lessons")
    parser.add_argument("--focus", action="store_true", help="leave the keyboard where it is")
    parser.add_argument("--metadata", action="store_true", help="the table of metadata instead")
    given = parser.parse_args()
    app = QApplication(sys.argv[:1])
    if given.rtl:
        app.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    themes = ThemeManager("light" if given.light else "dark", given.text_size)
    panel = InspectorPanel(themes)
    panel.setStyleSheet(f"#inspectorPanel {{ background: {themes.theme.css('panel')}; }}")
    panel.set_explains(given.explain)
    panel.set_view(SAMPLES[given.state])
    panel.resize(given.width, given.height or 400)
    panel.show()
    settle(panel)
    if not given.height:
        for _ in range(3):
            panel.resize(given.width, panel.full_height())
            settle(panel)
    if not given.focus and (focused := QApplication.focusWidget()) is not None:
        focused.clearFocus()
        settle(panel)
    picture = panel.show_metadata().grab() if given.metadata else panel.grab()
    picture.save(given.out)
    panel.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

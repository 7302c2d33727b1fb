"""The window's part of ``plimsoll self-test``: the whole program, painted without a screen."""

from __future__ import annotations

import sys

from PySide6.QtCore import QTimer, qVersion
from PySide6.QtGui import QFontDatabase, QImage
from PySide6.QtWidgets import QApplication

from app.paths import default_paths
from app.ui.application import Application
from app.ui.later import modules_of

__all__ = ["paint_window"]

_LIMIT_MS = 60_000
_FEWEST_COLOURS = 24


def paint_window() -> str:
    """Open the program in the data folder of the environment, paint it, close it.

    Raises:
        RuntimeError: something of it is not as it should be.
    """
    app = QApplication(["plimsoll"])
    paths = default_paths()
    paths.make()
    program = Application(paths)
    program.window.resize(1024, 700)
    program.window.show()
    pictures: list[QImage] = []

    def look() -> None:
        # Once the engine has said hello, the window shows all that it shows without a model; and
        # what a page or a dialog will need has been read.
        if program.engine.state.hello is None or program.warm_up.is_running:
            QTimer.singleShot(50, look)
            return
        pictures.append(program.window.grab().toImage())
        program.window.close()

    QTimer.singleShot(0, look)
    QTimer.singleShot(_LIMIT_MS, program.window.close)
    app.exec()
    program.release()
    if not pictures:
        raise RuntimeError("the engine did not say hello to the window")
    missing = [name for name in modules_of(Application) if name not in sys.modules]
    if missing:
        raise RuntimeError(f"parts of the window can't be read: {', '.join(missing)}")
    picture = pictures[0]
    colours = {
        picture.pixel(x, y)
        for x in range(0, picture.width(), 3)
        for y in range(0, picture.height(), 3)
    }
    if len(colours) < _FEWEST_COLOURS:
        raise RuntimeError(f"the window painted only {len(colours)} colours")
    families = set(QFontDatabase.families())
    if not {"Inter", "JetBrains Mono"} <= families:
        raise RuntimeError("the program's own fonts are not in use")
    return (
        f"Qt {qVersion()}, {picture.width()} by {picture.height()} pixels painted, "
        f"{len(colours)} colours"
    )

"""Starting the program with a window: what can't wait first, the engine's process next.

The engine imports its own libraries while this process imports its own, on another core, so it is
started before the window's modules are read.
"""

from __future__ import annotations

import gc
import logging
import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication

from app import logs
from app.engine.qt_client import EngineProcess
from app.paths import Paths, default_paths
from app.settings import Settings
from app.ui.single_instance import SingleInstance

if TYPE_CHECKING:
    from app.ui.application import Application

__all__ = ["begin", "run", "show_window"]

log = logging.getLogger(__name__)


def _install_excepthook() -> None:
    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        log.error("unexpected error", exc_info=(kind, error, trace))
        sys.__excepthook__(kind, error, trace)

    sys.excepthook = hook


def begin(paths: Paths) -> tuple[Settings, EngineProcess]:
    """Read the settings and start the engine; needs an application."""
    settings = Settings(paths.settings)
    engine = EngineProcess()
    engine.use_remotes(settings.get("rpc"))
    engine.start()
    return settings, engine


def show_window(
    paths: Paths, model: str | None, settings: Settings, engine: EngineProcess
) -> Application:
    """Show the window of a program that was begun."""
    from app.ui.application import Application

    program = Application(paths, model, settings=settings, engine=engine)
    program.window.show()
    # What lives as long as the program need not be looked through again and again. The
    # interpreter stays forbidden to collect: a thread that did would destroy widgets.
    gc.freeze()
    return program


def _said_of_hand_over(model: str | None) -> str:
    if model is None:
        return "it is open already; its window was brought forward."
    return f"it is open already; its window was brought forward and given {Path(model).name}."


def run(model: str | None = None) -> int:
    """Open the window, with a model; return the exit code."""
    # Nothing that is imported is garbage, and looking for some takes a tenth of the start.
    gc.disable()
    paths = default_paths()
    try:
        paths.make()
    except OSError as error:
        print(
            f"plimsoll: the data folder {paths.data} can't be made ({error.strerror}); "
            "nothing can be remembered.",
            file=sys.stderr,
        )
    logs.set_up(paths.logs)
    _install_excepthook()
    app = QApplication(["plimsoll"])
    app.setApplicationName("Plimsoll")
    app.setDesktopFileName("plimsoll")
    instance = SingleInstance(paths.data, app)
    if instance.hand_over(model or ""):
        print(f"plimsoll: {_said_of_hand_over(model)}", file=sys.stderr)
        return 0
    instance.listen()
    program = show_window(paths, model, *begin(paths))

    from app.ui.file_open import FileOpener
    from app.ui.signals import SignalQuitter

    instance.asked.connect(program.raise_window)
    opener = FileOpener(app)
    opener.asked.connect(program.raise_window)
    app.installEventFilter(opener)
    quitter = SignalQuitter(program.window.close, app)
    code = app.exec()
    quitter.close()
    instance.close()
    program.release()
    return code

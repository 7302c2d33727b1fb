"""What commands that take pictures of the whole program share."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from PySide6.QtWidgets import QApplication, QDialog, QWidget

from app.paths import Paths, starter_model
from app.settings import Settings
from app.ui.application import Application

__all__ = ["Shooter", "shoot_in_both_themes"]


class Shooter:
    """One program, and the folder for its pictures; ``name`` begins the name of each."""

    def __init__(
        self,
        app: QApplication,
        program: Application,
        folder: Path,
        name: str,
        *,
        limit_s: float = 90,
    ) -> None:
        self.app = app
        self.program = program
        self.folder = folder
        self.name = name
        self._limit_s = limit_s

    def until(self, done: Callable[[], bool], limit_s: float | None = None) -> None:
        """Let the window run until something is so."""
        end = time.monotonic() + (self._limit_s if limit_s is None else limit_s)
        while not done():
            if time.monotonic() > end:
                raise TimeoutError
            self.app.processEvents()
            time.sleep(0.002)

    def pause(self, seconds: float) -> None:
        """Let the window run."""
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() > end, seconds + 30)

    def shoot(self, state: str, widget: QWidget | None = None) -> None:
        """Save the window, or one part of it."""
        self.pause(0.3)
        (widget or self.program.window).grab().save(str(self.folder / f"{self.name}-{state}.png"))

    def dialog(self) -> QDialog:
        """Wait for a dialog and return it."""

        def shown() -> list[QDialog]:
            tops = self.app.topLevelWidgets()
            return [item for item in tops if isinstance(item, QDialog) and item.isVisible()]

        self.until(lambda: bool(shown()))
        return shown()[0]

    def shoot_dialog(self, state: str) -> None:
        """Save the dialog that is open, and leave it."""
        dialog = self.dialog()
        self.shoot(state, dialog)
        dialog.reject()
        self.until(lambda: not dialog.isVisible())

    def end(self) -> None:
        """Close the program as its user does, and wait until it has left."""
        self.program.window.close()
        self.until(lambda: self.program.has_ended)
        self.program.release()


S = TypeVar("S", bound=Shooter)


def shoot_in_both_themes(
    shoot: Callable[[S, Application, Path], None],
    make_shooter: Callable[[QApplication, Application, Path, str], S],
    *,
    with_model: bool = True,
) -> None:
    """Take pictures of a program, into the folder that is asked for.

    ``shoot`` gets the shooter, the program and a folder of its own; once for each theme. The
    starter model is loaded, or none.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    app = QApplication(["plimsoll"])
    for theme in ("dark", "light"):
        with tempfile.TemporaryDirectory() as name:
            paths = Paths(Path(name) / "data", Path(name) / "cache")
            paths.make()
            settings = Settings(paths.settings)
            settings.set("load_last_model", with_model)
            settings.set("theme", theme)
            program = Application(paths, str(starter_model()) if with_model else None)
            program.window.resize(1440, 900)
            program.window.show()
            shooter = make_shooter(app, program, arguments.folder, theme)
            shoot(shooter, program, Path(name))
            shooter.end()

"""Pictures of the planner in the real window: ``python -m tests.helpers.planner_shots FOLDER``.

Run under a virtual or a real screen (or ``QT_QPA_PLATFORM=offscreen``). Each picture is one page
of rows, in both themes; some also narrow.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QApplication, QDialog

from app.paths import Paths
from app.settings import Settings
from app.ui.application import Application
from inspector.planner_examples import EXAMPLES

_LIMIT_S = 120.0


class _Shooter:
    def __init__(self, app: QApplication, program: Application, folder: Path, name: str) -> None:
        self.app = app
        self.program = program
        self._folder = folder
        self._name = name

    def until(self, done: Callable[[], bool], limit_s: float = _LIMIT_S) -> None:
        end = time.monotonic() + limit_s
        while not done():
            if time.monotonic() > end:
                raise TimeoutError
            self.app.processEvents()
            time.sleep(0.002)

    def shoot(self, state: str) -> None:
        planner = self.program.planner
        self.until(lambda: not planner.is_planning)
        end = time.monotonic() + 0.2
        self.until(lambda: time.monotonic() > end)
        self.program.window.grab().save(str(self._folder / f"{self._name}-{state}.png"))

    def shoot_popup(self, state: str) -> None:
        popup = self.program.planner.page.models
        self.until(popup.isVisible)
        popup.grab().save(str(self._folder / f"{self._name}-{state}.png"))
        popup.hide()

    def shoot_dialog(self, state: str) -> None:
        dialog = next(
            item
            for item in self.app.topLevelWidgets()
            if isinstance(item, QDialog) and item.isVisible()
        )
        end = time.monotonic() + 0.2
        self.until(lambda: time.monotonic() > end)
        dialog.grab().save(str(self._folder / f"{self._name}-{state}.png"))
        dialog.reject()
        self.until(lambda: not dialog.isVisible())


def _shoot_all(shooter: _Shooter, program: Application, folder: Path) -> None:
    window, planner = program.window, program.planner
    window.show_page("planner")
    shooter.until(lambda: planner.this.is_settled)
    shooter.shoot("1-first")
    for number, example in enumerate(EXAMPLES, start=2):
        planner.show_example(example.key)
        shooter.shoot(f"{number}-{example.key}")
    planner.page.form.context.setValue(262_144)
    shooter.shoot("13-beyond-trained")
    planner.undo()
    window.resize(1024, 700)
    shooter.shoot("7-narrow")
    planner.show_example("card24")
    shooter.shoot("8-narrow-card24")
    window.resize(1440, 900)
    broken = folder / "broken.gguf"
    broken.write_bytes(b"GGUF, but no more of it")
    planner.choose_file(str(broken))
    shooter.until(planner.page.form.problem.isVisible)
    for row in planner.setup.rows:
        planner.command("remove", row.key)
    shooter.shoot("9-empty")
    broken.unlink()
    planner.show_example("card24")
    planner.page.form.model.showPopup()
    shooter.shoot_popup("12-models")
    planner.type_model()
    shooter.shoot_dialog("10-type-model")
    planner.add_machine()
    shooter.shoot_dialog("11-add-machine")


def main() -> None:
    """Take all pictures in both themes."""
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
            settings.set("load_last_model", False)
            settings.set("theme", theme)
            program = Application(paths)
            program.window.resize(1440, 900)
            program.window.show()
            shooter = _Shooter(app, program, arguments.folder, theme)
            _shoot_all(shooter, program, Path(name))
            program.window.close()
            shooter.until(lambda program=program: program.has_ended)  # type: ignore[misc]
            program.release()


if __name__ == "__main__":
    main()

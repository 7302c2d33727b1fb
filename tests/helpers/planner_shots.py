"""Pictures of the planner in the real window: ``python -m tests.helpers.planner_shots FOLDER``.

Run under a virtual or a real screen (or ``QT_QPA_PLATFORM=offscreen``). Each picture is one page
of rows, in both themes; some also narrow.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.ui.application import Application
from inspector.planner_examples import EXAMPLES
from tests.helpers.shots import Shooter, shoot_in_both_themes

_LIMIT_S = 120.0


class _PlannerShooter(Shooter):
    def shoot(self, state: str, widget: QWidget | None = None) -> None:
        self.until(lambda: not self.program.planner.is_planning)
        super().shoot(state, widget)

    def shoot_popup(self, state: str) -> None:
        popup = self.program.planner.page.models
        self.until(popup.isVisible)
        self.shoot(state, popup)
        popup.hide()


def _shoot_all(shooter: _PlannerShooter, program: Application, folder: Path) -> None:
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
    shoot_in_both_themes(_shoot_all, partial(_PlannerShooter, limit_s=_LIMIT_S), with_model=False)


if __name__ == "__main__":
    main()

"""Pictures of the whole window with the panel: ``python -m tests.helpers.inspector_shots FOLDER``.

The starter model before loading, writing, answered, with the engine lost, split between the
processor and a device over RPC (a server of this computer), and driven to the end of a small
window; and the record of a 24 GB card. Run under a virtual or a real screen, or with
``QT_QPA_PLATFORM=offscreen``. ``--only`` takes some of the scenes, ``--theme`` one theme.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QApplication

from app.paths import Paths, starter_model
from app.ui.application import Application
from tests.helpers.panel_records import card_record
from tests.helpers.rpc_server import rpc_server
from tests.helpers.shots import Shooter

QUESTION = "How much memory does one token of KV cache take in this model? Show the arithmetic."
STORY = "Tell a long story about a ship and its load line."
FILL_CONTEXT = 1024
FILLED = (0.1, 0.5, 0.9, 0.97)
_LAST_PROMPT = 18  # tokens of the last message, in its template
SCENES = ("life", "record", "split", "fill")


class Scene(Shooter):
    """One program with an empty data folder, and what scenes do with it."""

    def __init__(self, app: QApplication, folder: Path, theme: str, paths: Paths) -> None:
        super().__init__(app, Application(paths, str(starter_model())), folder, theme, limit_s=240)
        self.program.tuning.enabled = False
        self.program.preferences.set_value("theme", theme)
        self.program.window.resize(1440, 900)

    def ready(self) -> None:
        """Wait for the model, its plan with a measured bandwidth, and the plots."""
        program = self.program
        self.until(lambda: program.engine.state.status == "ready")
        self.until(lambda: program.inspector.session.plan is not None)
        self.until(lambda: program.inspector._panel is not None)
        self.until(lambda: program.inspector._panel.growth.plot.plot is not None)
        self.until(
            lambda: (
                (plan := program.inspector.session.plan) is not None
                and plan.devices[0].bandwidth_basis == "measured"
            )
        )
        self.pause(1.5)

    def reload(self, n_ctx: int) -> None:
        """Load the model again with another context."""
        engine = self.program.engine
        self.program.models.reload({"n_ctx": n_ctx})
        self.until(lambda: engine.state.model is not None and engine.state.model.n_ctx == n_ctx)
        self.ready()

    def ask(self, text: str, max_tokens: int, until_chars: int | None = None) -> None:
        """Send a message, and wait for the reply or for its first characters."""
        program, runner = self.program, self.program.controller.runner
        values = {"temperature": 0.0, "max_tokens": max_tokens}
        program.controller.set_chat_values(None, "Precise", values)
        program.context.send(text)
        self.until(lambda: runner.is_running)
        if until_chars is not None:
            self.until(lambda: not runner.is_running or self.written > until_chars)
            return
        self.until(lambda: not runner.is_running)
        self.pause(0.6)

    @property
    def written(self) -> int:
        """Characters of the running reply."""
        live = self.program.controller.runner.live
        return 0 if live is None else len(live.text)

    def shoot_with_panel(self, state: str) -> None:
        """Save the window, and the whole panel besides, as tall as it is."""
        self.shoot(state)
        whole = self.program.inspector._panel.widget()
        picture = QPixmap(whole.size())
        picture.fill(self.program.themes.theme.colour("panel"))
        whole.render(picture)
        picture.save(str(self.folder / f"{self.name}-{state}-panel.png"))


@contextmanager
def open_scene(app: QApplication, folder: Path, theme: str) -> Iterator[Scene]:
    """Open the program with an empty data folder, and close it as a user does."""
    with tempfile.TemporaryDirectory() as name:
        paths = Paths(Path(name) / "data", Path(name) / "cache")
        paths.make()
        scene = Scene(app, folder, theme, paths)
        scene.program.window.show()
        try:
            yield scene
        finally:
            scene.end()


def shoot_life(scene: Scene) -> None:
    """Before loading, writing, answered with a draft, and lost."""
    scene.ready()
    scene.program.models.unload()
    scene.until(lambda: scene.program.engine.state.model is None)
    scene.shoot_with_panel("1-planned")
    scene.program.models.reload()
    scene.ready()
    scene.ask(STORY, 160, until_chars=250)
    scene.shoot("2-writing")
    scene.until(lambda: not scene.program.controller.runner.is_running)
    scene.ask(QUESTION, 80)
    scene.pause(1.0)
    scene.program.window.chat.composer.set_text("And if I quantise the cache to 8 bits? " * 6)
    scene.pause(1.5)
    scene.shoot_with_panel("3-answered")
    scene.program.window.resize(1024, 700)
    scene.shoot("3-answered-narrow")
    scene.program.window.resize(1440, 900)
    scene.program.window.chat.composer.set_text("")
    pid = scene.program.engine.state.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    scene.until(lambda: scene.program.engine.state.status == "lost")
    scene.shoot("4-lost")


def shoot_record(scene: Scene) -> None:
    """A record of another computer, opened in the panel."""
    scene.ready()
    scene.program.inspector.replay.show_last(card_record())
    scene.shoot_with_panel("5-record-of-24-gb")


def shoot_split(scene: Scene) -> None:
    """Two thirds of the layers on a device over RPC."""
    scene.ready()
    with rpc_server() as server:
        scene.program.preferences.set_value("rpc", [server.endpoint])
        scene.pause(1.0)
        scene.program.models.reload({"gpu_layers": 20, "n_ctx": 4096})
        scene.until(lambda: _is_split(scene.program))
        scene.ready()
        scene.ask(QUESTION, 60)
        scene.pause(1.0)
        scene.shoot_with_panel("6-split")
        scene.program.models.unload()
        scene.until(lambda: scene.program.engine.state.model is None)


def _is_split(program: Application) -> bool:
    model = program.engine.state.model
    return model is not None and model.layers_offloaded > 0


def shoot_fill(scene: Scene) -> None:
    """A conversation driven to the end of a small window."""
    scene.ready()
    scene.reload(n_ctx=FILL_CONTEXT)
    session = scene.program.inspector.session
    for share in FILLED:
        missing = round(share * FILL_CONTEXT) - session.used_tokens
        reply = min(16, missing // 3)
        scene.ask("Tell me about ships. " + "ship " * max(missing - reply - 24, 1), reply)
        scene.pause(1.2)
        _shoot_fill(scene, share)
    # What is left takes a short message in its template, and a reply to the window's end.
    left = FILL_CONTEXT - session.used_tokens - _LAST_PROMPT
    scene.ask("Go on.", max(left, 1))
    scene.pause(1.2)
    _shoot_fill(scene, 1.0)


def _shoot_fill(scene: Scene, share: float) -> None:
    scene.shoot(f"7-window-at-{share:.0%}".replace("%", ""))
    used = scene.program.inspector.session.used_tokens
    print(f"{scene.name}: {used} of {FILL_CONTEXT} tokens", flush=True)


def main() -> None:
    """Take all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", choices=SCENES)
    parser.add_argument("--theme", action="append", choices=("dark", "light"))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    app = QApplication(["plimsoll"])
    shooters = {
        "life": shoot_life, "record": shoot_record, "split": shoot_split, "fill": shoot_fill,
    }  # fmt: skip
    for theme in arguments.theme or ("dark", "light"):
        for name in arguments.only or SCENES:
            with open_scene(app, arguments.folder, theme) as scene:
                shooters[name](scene)


if __name__ == "__main__":
    main()

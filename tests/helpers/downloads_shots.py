"""Pictures of the page Get models: ``python -m tests.helpers.downloads_shots FOLDER``.

The whole program runs against a local hub whose models have real shapes and no weights; run it
under a virtual or a real screen (or ``QT_QPA_PLATFORM=offscreen``).
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.paths import Paths, starter_model
from app.ui.application import Application
from tests.helpers.hub_models import fill_hub
from tests.helpers.hub_server import HubServer
from tests.helpers.shots import Shooter


def _shoot_all(shooter: Shooter, program: Application, server: HubServer) -> None:
    window, downloads = program.window, program.downloads
    page = downloads.page
    shooter.until(lambda: program.engine.state.hello is not None)
    window.set_first_run(True)
    shooter.shoot("0-first-run")
    downloads.show_page()
    shooter.shoot("1-welcome")
    page.field.setFocus()
    page.search_for("qwen3")
    shooter.pause(0.05)
    shooter.shoot("2-searching")
    shooter.until(lambda: bool(page.results.rows()))
    downloads.open_repository("bartowski/Qwen3-4B-GGUF")
    shooter.until(lambda: bool(page.files.rows()))
    shooter.until(lambda: all(row.fit.verdict != "waiting" for row in page.files.rows()))
    shooter.pause(0.4)
    shooter.shoot("3-files")
    server.bytes_per_s = 24_000_000
    _download(shooter, program, "ship/SmolLM2-GGUF", "SmolLM2-135M-Instruct.Q4_1.gguf")
    shooter.until(lambda: any(item.state == "done" for item in downloads.queue.downloads))
    page.search_for("qwen3")
    shooter.until(lambda: bool(page.results.rows()))
    _download(shooter, program, "bartowski/Qwen3-4B-GGUF", "Qwen3-4B-Q4_K_M.gguf")
    _download(shooter, program, "unsloth/Qwen3-8B-GGUF", "Qwen3-8B-Q3_K_M.gguf")
    running = next(item for item in downloads.queue.downloads if item.state == "running")
    shooter.until(lambda: running.done_bytes > 100_000_000)
    shooter.shoot("4-queue")
    downloads.queue.pause(running.job.id)
    page.files.setFocus(Qt.FocusReason.TabFocusReason)
    shooter.pause(0.5)
    shooter.shoot("5-paused-keyboard")
    window.resize(1024, 700)
    shooter.shoot("6-narrow")
    window.resize(1440, 900)
    page.search_for("gemma")
    shooter.until(lambda: len(page.results.rows()) == 1)
    page.results.setFocus()
    QTest.keyClick(page.results, Qt.Key.Key_Return)
    shooter.until(lambda: bool(page.files.rows()))
    shooter.until(lambda: all(row.fit.verdict != "waiting" for row in page.files.rows()))
    shooter.pause(0.4)
    shooter.shoot("7-gated")
    for item in downloads.queue.downloads:
        if item.state != "done":
            downloads.queue.remove(item.job.id)
    _download(shooter, program, "google/gemma-3-4b-it-GGUF", "gemma-3-4b-it-Q4_K_M.gguf")
    shooter.until(lambda: any(item.state == "failed" for item in downloads.queue.downloads))
    shooter.shoot("11-failed")
    page.search_for("nobody/nothing")
    shooter.until(lambda: bool(page.files_message.view.choice))
    shooter.pause(0.5)
    shooter.shoot("8-missing")
    downloads.door.ask_token()
    shooter.pause(0.3)
    dialog = QApplication.activeModalWidget()
    if dialog is not None:
        shooter.shoot("9-token", dialog)
        dialog.close()
    program.preferences.set_value("offline", True)
    shooter.shoot("10-offline")
    program.preferences.set_value("offline", False)


def _download(shooter: Shooter, program: Application, repository: str, key: str) -> None:
    downloads = program.downloads
    count = len(downloads.queue.downloads)
    downloads.open_repository(repository)
    shooter.until(lambda: downloads.lookups.variant(key) is not None)
    downloads.page.files.choose(key)
    downloads.download(key)
    shooter.until(lambda: len(downloads.queue.downloads) > count)


def main() -> None:
    """Take all pictures in both themes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    os.environ["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "1"
    app = QApplication(["plimsoll"])
    with HubServer() as server, tempfile.TemporaryDirectory() as models:
        fill_hub(server, Path(models))
        starter = starter_model()
        assert starter is not None
        server.add("ship/SmolLM2-GGUF", [(starter.name, starter)])
        os.environ["HF_ENDPOINT"] = server.endpoint
        for theme in ("dark", "light"):
            with tempfile.TemporaryDirectory() as name:
                server.bytes_per_s = None
                paths = Paths(Path(name) / "data", Path(name) / "cache")
                paths.make()
                program = Application(paths)
                program.preferences.set_value("theme", theme)
                program.window.resize(1440, 900)
                program.window.show()
                shooter = Shooter(app, program, arguments.folder, theme)
                _shoot_all(shooter, program, server)
                shooter.end()


if __name__ == "__main__":
    main()

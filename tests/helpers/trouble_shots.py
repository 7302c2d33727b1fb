"""Pictures of what goes wrong, with a real model: ``python -m tests.helpers.trouble_shots FOLDER``.

A prompt that was stopped while it was read, a file that can't be sent, an engine that hangs in the
middle of a reply and one that was killed there, the same with its last lines and with large text,
several notices. Run under a virtual or a real screen, or with ``QT_QPA_PLATFORM=offscreen``.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from PySide6.QtWidgets import QPushButton

from app.ui.application import Application
from app.ui.shell.views import Notice
from tests.helpers.shots import Shooter, shoot_in_both_themes

__all__ = ["main"]

QUESTION = "How does a ship's Plimsoll line work? Tell all you know."


def _shoot_all(shooter: Shooter, program: Application, folder: Path) -> None:
    window, runner, engine = program.window, program.controller.runner, program.engine
    shooter.until(lambda: engine.state.status == "ready")
    program.controller.set_chat_values(None, "Precise", {"temperature": 0.0, "max_tokens": 400})
    program.context.send("Count the ships: " + "one ship, two ships, " * 800)
    shooter.until(lambda: engine.state.status == "prefill")
    shooter.pause(0.4)
    shooter.shoot("1-reading")
    window.chat.composer.stop_requested.emit()
    shooter.until(lambda: not runner.is_running)
    shooter.shoot("2-stopped-prompt")

    (folder / "photo_of_a_ship.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
    (folder / "notes.txt").write_text("Ships have lines.", "utf-8")
    names = ("notes.txt", "photo_of_a_ship.png")
    window.chat.composer.files_added.emit([str(folder / name) for name in names])
    shooter.until(lambda: bool(window.chat.composer.reasons_text()))
    shooter.pause(1.0)
    shooter.shoot("3-refused-file")
    window.chat.composer.set_attachments(())

    program.chats.new_chat()
    program.context.send(QUESTION)
    shooter.until(lambda: runner.live is not None and len(runner.live.text) > 200)
    assert engine.state.pid is not None
    os.kill(engine.state.pid, signal.SIGSTOP)
    program.controller.stop()
    shooter.until(lambda: engine.state.silent_s > 0)
    shooter.shoot("4-silent")
    engine.end()
    shooter.until(lambda: engine.state.status == "lost")
    shooter.shoot("4-silent-ended")
    program.models.reload()
    shooter.until(lambda: engine.state.status == "ready")

    program.chats.new_chat()
    program.context.send(QUESTION)
    shooter.until(lambda: runner.live is not None and len(runner.live.text) > 200)
    assert engine.state.pid is not None
    os.kill(engine.state.pid, signal.SIGKILL)
    shooter.until(lambda: engine.state.status == "lost")
    shooter.shoot("4-lost")
    window.resize(1024, 700)
    shooter.shoot("5-lost-narrow")
    window.resize(1440, 900)
    notices = window.chat.notices
    for button in notices.bar(notices.front).findChildren(QPushButton):
        if button.text() == "Details":
            button.click()
    shooter.shoot("6-lost-details")
    notices.show_notice(Notice("a", "A file was left out: it is no text.", "warning"))
    notices.show_notice(Notice("b", "Measured: 4 threads are fastest here."))
    shooter.shoot("7-notices")
    program.preferences.set_value("text_size", 160)
    shooter.pause(1.0)
    shooter.shoot("8-large-text")


def main() -> None:
    """Take all pictures in both themes."""
    shoot_in_both_themes(_shoot_all, Shooter)


if __name__ == "__main__":
    main()

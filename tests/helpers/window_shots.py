"""Pictures of the whole program with a real model: ``python -m tests.helpers.window_shots FOLDER``.

Run under a virtual or a real screen (or ``QT_QPA_PLATFORM=offscreen``). Each picture is one state
that a change of the window should be looked at in.
"""

from __future__ import annotations

from pathlib import Path

from app.ui.application import Application
from app.ui.transcript.items import MessageAction
from tests.helpers.shots import Shooter, shoot_in_both_themes

QUESTION = "How much memory does one token of KV cache take? Show the arithmetic in Python."


def _shoot_all(shooter: Shooter, program: Application, _folder: Path) -> None:
    window, controller = program.window, program.controller
    shooter.until(lambda: program.engine.state.status == "loading")
    shooter.shoot("1-loading")
    shooter.until(lambda: program.engine.state.status == "ready")
    shooter.shoot("2-empty")
    program.controller.set_chat_values(None, "Precise", {"temperature": 0.0, "max_tokens": 220})
    program.context.send(QUESTION)
    shooter.until(lambda: controller.runner.is_running)
    shooter.until(lambda: len((controller.runner.live or _Nothing).text) > 300)
    shooter.shoot("3-streaming")
    shooter.until(lambda: not controller.runner.is_running)
    shooter.pause(0.5)
    window.chat.composer.set_text("And if I quantise the cache to 8 bits?")
    shooter.pause(0.6)
    shooter.shoot("4-answered")
    controller.act(MessageAction("regenerate", controller.path[-1].id))
    shooter.until(lambda: controller.runner.is_running)
    shooter.until(lambda: not controller.runner.is_running)
    shooter.pause(0.5)
    shooter.shoot("5-version")
    window.chat.composer.set_text("ship " * 9000)
    shooter.pause(1.5)
    shooter.shoot("6-overflow")
    window.chat.composer.set_text("")
    window.resize(1024, 700)
    shooter.shoot("7-narrow")
    window.resize(1440, 900)
    program.models.load("/nowhere/nothing.gguf")
    shooter.pause(1.0)
    shooter.shoot("8-load-failed")


class _Nothing:
    text = ""


def main() -> None:
    """Take all pictures in both themes."""
    shoot_in_both_themes(_shoot_all, Shooter)


if __name__ == "__main__":
    main()

"""What was said of something that is done goes with the chat it was said over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.ui.shell.views import Notice
from tests.app.engine.conftest import FakeScript
from tests.helpers.window import Program

Open = Callable[..., Program]


def test_export_is_told_until_another_chat_is_shown(
    open_program: Open,
    fake_script: FakeScript,
    model: Path,
    tmp_path: Path,
) -> None:
    fake_script(replies=["ok"])
    program = open_program(model).ready()
    chat = program.answered_chat("Hello")
    notices = program.app.window.chat.notices
    notices.show_notice(Notice("broken", "It failed.", "error"))
    program.app.chats.export_to(str(tmp_path / "chat.json"), [chat.id])
    program.until(lambda: "transfer" in program.notices())
    program.app.controller.reload()
    program.settle()
    assert "transfer" in program.notices()  # still the same chat
    program.app.chats.new_chat()
    assert program.notices() == ["broken"]

"""A whole session of the program: everything that asks for no network, through its own entry.

Run as ``python -m tests.helpers.whole_session FOLDER``, with two tiny models in ``FOLDER/models``
and the environment of the session. It opens the window, chats, shows every page and dialog,
compares, plans, makes a variant, exports, imports, and closes. `CANARIES` are the words that may
stand in the store alone.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from app.ui.application import Application

__all__ = ["CANARIES", "main"]

_PATIENCE_S = 120.0
CANARIES: Final = {
    "message": "kittiwake-in-a-message",
    "title": "fulmar-in-a-title",
    "system prompt": "gannet-in-a-system-prompt",
    "name of an attachment": "puffin-attached",
    "folder of an attachment": "razorbill-folder",
    "text of an attachment": "guillemot-in-an-attachment",
    "draft": "cormorant-in-a-draft",
    "search": "shearwater-in-a-search",
    "prompt of a comparison": "petrel-in-a-comparison",
}


class _Session:
    """The steps of a session, in the window's own thread."""

    def __init__(self, program: Application, folder: Path) -> None:
        self.program = program
        self.folder = folder
        models = folder / "models"
        self.models = [str(path) for path in sorted(models.glob("*.gguf"))]

    def wait(self, ms: int) -> None:
        from PySide6.QtTest import QTest

        QTest.qWait(ms)

    def until(self, done: Callable[[], Any], what: str) -> None:
        end_s = time.monotonic() + _PATIENCE_S
        while not done():
            if time.monotonic() > end_s:
                raise TimeoutError(f"no {what} in {_PATIENCE_S:g} s")
            self.wait(5)

    def run(self) -> None:
        """Do everything, and close the window."""
        self.program.tuning.enabled = False
        for step in (
            self.chat,
            self.look_around,
            self.open_dialogs,
            self.compare,
            self.make_variant,
            self.move_chats,
        ):
            step()
        self.program.window.close()

    def chat(self) -> None:
        program = self.program
        self.until(lambda: program.engine.state.status == "ready", "model")
        folder = self.folder / CANARIES["folder of an attachment"]
        folder.mkdir()
        file = folder / f"{CANARIES['name of an attachment']}.md"
        file.write_text(CANARIES["text of an attachment"])
        damaged = file.with_suffix(".pdf")
        damaged.write_bytes(b"%PDF-1.7\n" + CANARIES["text of an attachment"].encode())
        program.window.chat.composer.files_added.emit([str(damaged), str(file)])
        self.until(lambda: program.chat.attachments, "attachment")
        program.controller.set_chat_values(CANARIES["system prompt"], None, {"max_tokens": 8})
        program.chat.send(f"{CANARIES['message']} hello")
        self.until(lambda: len(program.controller.path) == 2, "question")
        self.until(lambda: not program.controller.runner.is_running, "reply")
        self.until(lambda: program.chats.conversations, "list of chats")
        (chat,) = program.chats.conversations
        program.window.sidebar.chats.rename_requested.emit(chat.id, CANARIES["title"])
        program.window.sidebar.search_changed.emit(CANARIES["search"])
        program.window.chat.composer.set_text(CANARIES["draft"])
        self.wait(1300)  # a draft is kept after a second
        # The engine dies: its last lines go to the log and into a notice.
        pid = program.engine.state.pid
        assert pid is not None
        import os
        import signal

        os.kill(pid, signal.SIGABRT)
        self.until(lambda: program.engine.state.status == "lost", "loss of the engine")
        program.models.load(self.models[0])
        self.until(lambda: program.engine.state.status == "ready", "model after the loss")

    def look_around(self) -> None:
        program = self.program
        self.until(lambda: program.scanner.entries, "models found")
        for page in ("models", "get_models", "compare", "planner", "chat"):
            program.window.show_page(page)
            self.wait(150)
        for theme in ("light", "dark", "system"):
            program.preferences.set_value("theme", theme)
        self.until(lambda: not program.scanner.is_scanning, "end of the scan")

    def open_dialogs(self) -> None:
        from PySide6.QtWidgets import QDialog

        program = self.program
        preferences, window = program.preferences, program.window
        for opener in (
            preferences.open_settings,
            preferences.open_chat_settings,
            lambda: preferences.open_load_settings(self.models[0]),
            preferences.open_about,
            preferences.open_context_log,
            window.show_keyboard_map,
        ):
            opener()
            self.wait(100)
            for dialog in window.findChildren(QDialog):
                if dialog.isVisible():
                    dialog.reject()

    def compare(self) -> None:
        compare = self.program.compare
        self.program.window.show_page("compare")
        compare.set_options({"text_tokens": 256, "max_tokens": 8, "measure_rates": False})
        compare.choose(self.models)
        self.until(lambda: compare.record is not None, "variants")
        compare.start(CANARIES["prompt of a comparison"])
        self.until(lambda: compare.is_running, "comparison")
        self.until(lambda: not compare.is_running, "end of the comparison")
        record = compare.record
        assert record is not None
        assert {variant.status for variant in record.variants} == {"done"}, record
        self.program.window.show_page("chat")

    def make_variant(self) -> None:
        program = self.program
        target = program.paths.models / "Made-Q8_0.gguf"
        program.variants.open(self.models[0], "Tiny", program.window)
        dialog = program.variants.dialog
        assert dialog is not None
        dialog.start_requested.emit("Q8_0", str(target), "", True)
        self.until(target.exists, "variant")
        dialog.reject()

    def move_chats(self) -> None:
        chats = self.program.chats
        for name in ("chats.json", "chats.md"):
            chats.export_to(str(self.folder / name), None)
            self.until((self.folder / name).exists, "export")
        chats.import_from(str(self.folder / "chats.json"))
        (self.folder / "damaged.json").write_text("{}")
        chats.import_from(str(self.folder / "damaged.json"))
        self.wait(300)


def main(arguments: list[str]) -> int:
    """Run a session; return the program's exit code, 70 where a step failed."""
    from PySide6.QtCore import QTimer

    from app.__main__ import main as program_main
    from app.ui import application

    folder = Path(arguments[0])
    failed: list[BaseException] = []
    original = application.Application.__init__

    def made(self: Application, *values: Any, **named: Any) -> None:
        original(self, *values, **named)

        def drive() -> None:
            try:
                _Session(self, folder).run()
            except BaseException as error:
                failed.append(error)
                traceback.print_exc()
                self.window.close()

        QTimer.singleShot(0, self, drive)

    application.Application.__init__ = made  # type: ignore[method-assign]
    models = sorted((folder / "models").glob("*.gguf"))
    code = program_main([str(models[0])])
    return 70 if failed else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

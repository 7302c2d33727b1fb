"""What a window does over and over in `tests.bench.leaks`, one step each."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog

from app.ui import tasks

if TYPE_CHECKING:
    from app.ui.application import Application

__all__ = ["DIALOGS", "PAGES", "Steps"]

_PATIENCE_S: Final = 120.0
PAGES: Final = ("models", "get_models", "compare", "planner")
DIALOGS: Final = (
    "settings", "chat settings", "load settings", "about", "keyboard map", "context log",
    "make a variant", "variants to compare", "options of a comparison", "access token",
    "model of a plan", "machine of a plan", "metadata", "details of a model",
)  # fmt: skip


class Steps:
    """The steps; each takes its number, from 0. ``models`` are two files."""

    def __init__(self, program: Application, models: list[str]) -> None:
        self._program = program
        self._models = models

    @staticmethod
    def until(done: Callable[[], bool]) -> None:
        """Let the window run until something is so.

        Raises:
            TimeoutError: it does not come to be in two minutes.
        """
        end_s = time.monotonic() + _PATIENCE_S
        while not done():
            if time.monotonic() > end_s:
                raise TimeoutError("something did not come to its end in two minutes")
            QTest.qWait(2)

    def ready(self) -> None:
        """Wait for the model, and until what is made and measured after the window stands is."""
        self.until(lambda: self._program.engine.state.status == "ready")
        QTest.qWait(1500)

    def rest(self) -> None:
        """Wait for what runs by itself: looking for models, and measuring main memory's bandwidth,
        for the panel or a page, which takes some hundreds of MiB and gives them back.
        """
        program = self._program
        self.until(lambda: not program.inspector.probing and not program.scanner.is_scanning)
        self.until(lambda: not tasks._running)
        self._settle()

    def turn(self, number: int) -> None:
        """Ask something and wait for the answer; a new chat every fifty."""
        program = self._program
        if number % 50 == 0:
            program.window.sidebar.new_chat_requested.emit()
            QTest.qWait(20)
        before = len(program.controller.path) if program.controller.conversation else 0
        program.chat.send(f"Message {number}")
        self.until(lambda: len(program.controller.path) > before)
        self.until(lambda: not program.controller.runner.is_running)

    def have_chats(self) -> None:
        """Begin chats until there are two to change between."""
        program = self._program
        for count in range(len(program.chats.conversations), 2):
            self.turn(0)
            self.until(lambda count=count: len(program.chats.conversations) > count)  # type: ignore[misc]

    def load(self, number: int) -> None:
        """Load the other model."""
        program = self._program
        program.models.load(self._models[number % 2])
        self.until(lambda: program.engine.state.status == "loading")
        self.until(lambda: program.engine.state.status == "ready")
        QTest.qWait(50)

    def prepare_comparison(self) -> None:
        """Choose what is compared."""
        compare = self._program.compare
        compare.set_options({"quality": False, "measure_rates": False, "max_tokens": 20})
        compare.choose(self._models)
        self.until(lambda: compare.record is not None)

    def compare(self, _number: int) -> None:
        """Compare two variants."""
        compare = self._program.compare
        compare.start("Hello")
        self.until(lambda: not compare.is_running)

    def theme(self, number: int) -> None:
        """Change between dark and light, with every page made."""
        self._program.preferences.set_value("theme", ("dark", "light")[number % 2])
        self._settle()

    def switch(self, number: int) -> None:
        """Open another of the chats."""
        program = self._program
        chats = program.chats.conversations
        chat = chats[number % len(chats)].id
        program.chats.open(chat)
        self.until(
            lambda: (here := program.controller.conversation) is not None and here.id == chat
        )
        self._settle()

    def page(self, name: str) -> Callable[[int], None]:
        """Return a step that shows a page and goes back to the chat."""

        def show(_number: int) -> None:
            self._program.window.show_page(name)
            self._settle()
            self._program.window.show_page("chat")
            self._settle()

        return show

    def dialog(self, name: str) -> Callable[[int], None]:
        """Return a step that opens a dialog and closes it."""
        opener = self._openers()[name]
        if name == "context log":
            self._have_something_leave_the_context()

        def show(_number: int) -> None:
            opener()
            self.until(lambda: self._dialogs() != [])
            self._settle()
            for dialog in self._dialogs():
                dialog.reject()
            self.until(lambda: self._dialogs() == [])
            self._settle()

        return show

    def _openers(self) -> dict[str, Callable[[], object]]:
        program, model = self._program, self._models[0]
        return {
            "settings": program.preferences.open_settings,
            "chat settings": program.preferences.open_chat_settings,
            "load settings": lambda: program.preferences.open_load_settings(model),
            "about": program.preferences.open_about,
            "keyboard map": program.window.show_keyboard_map,
            "context log": program.preferences.open_context_log,
            "make a variant": lambda: program.variants.open(model, "Tiny", program.window),
            "variants to compare": program.compare.open_chooser,
            "options of a comparison": program.compare.open_options,
            "access token": program.downloads.door.ask_token,
            "model of a plan": program.planner.type_model,
            "machine of a plan": program.planner.add_machine,
            "metadata": self._metadata,
            "details of a model": lambda: program.models_page.open_details(model),
        }

    def _have_something_leave_the_context(self) -> None:
        program = self._program
        chat = program.controller.conversation
        assert chat is not None
        asked = program.controller.path[0].id
        program.store.do(
            lambda store: store.add_context_event(
                chat.id, asked, dropped=(asked,), dropped_tokens=3, n_ctx=512, keep_from=None
            ),
            lambda _event: program.controller.reload(),
        )
        self.until(lambda: program.controller.events != ())

    def _metadata(self) -> None:
        from inspector.widgets.panel import InspectorPanel

        (panel,) = self._program.window.findChildren(InspectorPanel)
        panel.show_metadata()

    def _dialogs(self) -> list[QDialog]:
        found = self._program.window.findChildren(QDialog)
        return [dialog for dialog in found if dialog.isVisible()]

    @staticmethod
    def _settle() -> None:
        for _ in range(3):
            QApplication.processEvents()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

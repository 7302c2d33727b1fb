"""A way out of a full window: a new chat that begins with a summary of the old one.

The model writes the summary from what it still sees; it becomes part of the new chat's system
prompt, where it is never trimmed. The old chat stays as it is.
"""

from __future__ import annotations

import msgspec
from PySide6.QtCore import QObject, Slot

from app.engine.protocol import (
    ChatMessage,
    Chunk,
    Done,
    EngineMessage,
    Failed,
    SamplingOptions,
)
from app.engine.qt_client import EngineProcess
from app.settings import Settings
from app.ui.chat_controller import ChatController
from app.ui.main_window import MainWindow
from app.ui.shell.views import Choice, Notice

__all__ = ["SummaryPresenter"]

_NOTICE = "summary"
_MAX_TOKENS = 400
_ORDER = (
    "Summarise our conversation so far in at most 200 words. Keep names, numbers, decisions and "
    "open questions. Write only the summary."
)
_HEADING = "Summary of the conversation before this one:"


class SummaryPresenter(QObject):
    """Runs one summary at a time."""

    def __init__(
        self,
        engine: EngineProcess,
        controller: ChatController,
        settings: Settings,
        window: MainWindow,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine = engine
        self._controller = controller
        self._settings = settings
        self._window = window
        self._request_id = 0
        self._parts: list[str] = []
        self._system = ""
        engine.message.connect(self._on_message)
        window.chat.notices.chosen.connect(self._on_choice)

    @Slot()
    def start(self) -> None:
        """Have the chat on screen summarised, then begin a new one."""
        opened = self._controller.opened
        if opened is None or not self._engine.state.answers:
            return
        if self._controller.asker.hold(self.start, None):
            return
        prompt = opened.prompt(self._settings)
        order = ChatMessage(id="summary", role="user", content=_ORDER)
        self._system = opened.system_prompt(self._settings)
        self._parts = []
        self._request_id = self._engine.generate(
            "summary",
            msgspec.structs.replace(prompt, messages=(*prompt.messages, order)),
            SamplingOptions(temperature=0.2, max_tokens=_MAX_TOKENS),
        )
        self._window.chat.notices.show_notice(
            Notice(
                _NOTICE,
                self.tr("The model is summarising this chat for a new one."),
                choices=(Choice("cancel", self.tr("Cancel")),),
                closable=False,
            )
        )

    @Slot(str, str)
    def _on_choice(self, notice: str, choice: str) -> None:
        if notice == _NOTICE and choice == "cancel":
            self._engine.cancel(self._request_id)

    @Slot(object)
    def _on_message(self, message: EngineMessage) -> None:
        if not self._request_id or getattr(message, "id", 0) != self._request_id:
            return
        if isinstance(message, Chunk):
            self._parts.append(message.answer)
        elif isinstance(message, Done | Failed):
            self._request_id = 0
            self._window.chat.notices.remove_notice(_NOTICE)
            summary = "".join(self._parts).strip()
            if isinstance(message, Failed):
                self._window.chat.notices.show_notice(Notice(_NOTICE, message.message, "error"))
            elif message.stop != "stopped" and summary:
                self._begin(summary)

    def _begin(self, summary: str) -> None:
        draft = self._window.chat.composer.text()
        system = f"{self._system}\n\n{_HEADING}\n{summary}".strip()
        self._controller.new_chat()
        self._controller.set_chat_values(system, None, {})
        self._window.chat.composer.set_text(draft)
        self._window.chat.notices.show_notice(
            Notice(
                _NOTICE,
                self.tr("This chat begins with a summary of the one before, as its system prompt."),
            )
        )

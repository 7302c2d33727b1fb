"""What is done with a message: what concerns the view alone is done here, the rest is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.ui.transcript.entry import Entry
from app.ui.transcript.items import MessageAction
from app.ui.transcript.rows import RowKind

if TYPE_CHECKING:
    from app.ui.transcript.flow import Flow
    from app.ui.transcript.stage import Stage
    from app.ui.transcript.view import Transcript

__all__ = ["Acts"]


class Acts:
    """Copies, folds and edits; changes of the conversation leave as `MessageAction`."""

    def __init__(self, transcript: Transcript, flow: Flow, stage: Stage) -> None:
        self._transcript = transcript
        self._flow = flow
        self._stage = stage

    def act(self, kind: str, message_id: str, payload: str | None = None) -> None:
        """Do something with a message that is here."""
        entry = self._flow.find(message_id)
        if entry is None:
            return
        match kind:
            case "copy":
                self._transcript.copy_text(entry.view.text)
            case "edit":
                self._set_editing(entry, True)
            case "cancel_edit":
                self._set_editing(entry, False)
            case "save_edit":
                self._set_editing(entry, False)
                self._ask("edit", message_id, payload)
            case "toggle_reasoning":
                entry.unfolded = not entry.unfolded
                self._transcript.refresh(entry, again=RowKind.REASONING)
            case "toggle_text":
                entry.whole = not entry.whole
                self._transcript.refresh(entry)
            case _:
                self._ask(kind, message_id, payload)

    def _ask(self, kind: str, message_id: str, payload: str | None) -> None:
        self._transcript.action_requested.emit(MessageAction(kind, message_id, payload))

    def _set_editing(self, entry: Entry, editing: bool) -> None:
        if entry.editing == editing:
            return
        entry.editing = editing
        entry.draft = None
        if not entry.is_open:
            self._stage.changed(entry, [], entry.open() or [])
        self._transcript.refresh(entry)
        if editing:
            if entry.rows[0].widget is None:
                self._transcript.scroll_to(entry.view.id)
                self._stage.bring(entry, entry.rows[0])
            entry.rows[0].widget.edit.setFocus()
        else:
            self._transcript.setFocus()

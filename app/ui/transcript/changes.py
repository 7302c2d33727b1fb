"""Messages that come, change and go; what is done here is laid out by the transcript, once."""

from __future__ import annotations

from collections.abc import Sequence

from app.ui.transcript.entry import Entry
from app.ui.transcript.flow import Flow
from app.ui.transcript.items import MessageView
from app.ui.transcript.redraws import Redraws
from app.ui.transcript.stage import Stage

__all__ = ["Changes"]


class Changes:
    """Keeps flow and stage in step with the messages of a conversation.

    Attribute ``last_reply`` is the id of the newest reply, "" where there is none.
    """

    def __init__(self, flow: Flow, stage: Stage, redraws: Redraws) -> None:
        self._flow = flow
        self._stage = stage
        self._redraws = redraws
        self.last_reply = ""

    def begin(self, messages: Sequence[MessageView]) -> None:
        """Begin anew with these messages, at their end."""
        self._redraws.clear()
        self._stage.pool.release_all()
        self._flow.set_entries(messages)
        self.last_reply = self._flow.entries.last_reply()

    def remove(self, message_id: str) -> None:
        """Take a message out; nothing happens where there is none."""
        self._redraws.forget(message_id)
        entry = self._flow.remove(message_id)
        if entry is None:
            return
        for row in entry.rows:
            self._stage.pool.release(row)
        self.last_reply = self._flow.entries.last_reply()

    def insert(self, index: int, view: MessageView) -> None:
        """Put a message before the one at ``index``, or at the end."""
        if index < len(self._flow.entries):
            self._flow.insert(index, Entry(view))
            self.last_reply = self._flow.entries.last_reply()
            return
        self._flow.append(Entry(view))
        if view.role == "assistant":
            self.last_reply = view.id

    def update(self, view: MessageView) -> bool:
        """Show another value of a message; tell whether it is finished with it.

        Raises:
            KeyError: there is no such message.
        """
        entry = self._flow.find(view.id)
        if entry is None:
            raise KeyError(view.id)
        self._redraws.forget(view.id)
        was_live = entry.is_live
        changed, gone = entry.set_view(view)
        self._stage.changed(entry, changed, gone)
        return was_live and not entry.is_live

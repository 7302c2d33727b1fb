"""Recorded turns in the panel: those of the chat on screen, and those of an exported file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QFileDialog

from app.ui import tasks
from app.ui.main_window import MainWindow
from app.ui.shell.views import Notice
from inspector.records import TurnRecord
from inspector.report import read_report
from inspector.session import Session, replayed

__all__ = ["Replay"]

_NOTICE: Final = "record"
_MAX_BYTES: Final = 64 << 20


class Replay(QObject):
    """Holds the recorded session that the panel shows in place of the live one, if any.

    Signals:
        changed(): another record is shown, or none.
    """

    changed = Signal()

    def __init__(self, window: MainWindow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._window = window
        self.session: Session | None = None
        self.message: str | None = None  # the turn that is shown, None for a file's

    def show_turn(self, turns: Sequence[TurnRecord], message_id: str) -> bool:
        """Show a turn of the chat on screen; tell whether there is a record of it."""
        # Of a reply that was continued the last part, as below the reply itself.
        found = [index for index, turn in enumerate(turns) if turn.message == message_id]
        if not found:
            return self._say(self.tr("This reply has no figures to show."))
        before = turns[: found[-1] + 1]
        if before[-1].load is None:
            return self._say(
                self.tr("The record of the load under which this reply was written is not kept.")
            )
        return self._show(before, message_id)

    def show_last(self, turns: Sequence[TurnRecord]) -> bool:
        """Show the last turn that has a record, without a word if there is none."""
        last = next((turn for turn in reversed(turns) if turn.load is not None), None)
        return False if last is None else self._show(turns[: turns.index(last) + 1], None)

    @Slot()
    def back(self) -> None:
        """Go back to what is live."""
        if self.session is not None:
            self.session = self.message = None
            self.changed.emit()

    @Slot()
    def choose_file(self) -> None:
        """Ask for a report in JSON (``plimsoll report --json``) and show its last turn."""
        dialog = QFileDialog(self._window, self.tr("Open a record"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([self.tr("Reports in JSON (*.json)"), self.tr("All files (*)")])
        dialog.fileSelected.connect(self.open_file)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    @Slot(str)
    def open_file(self, path: str) -> None:
        """Show the last turn of a report in JSON."""

        def read() -> tuple[TurnRecord, ...]:
            if Path(path).stat().st_size > _MAX_BYTES:
                raise ValueError("it is too large for a report")
            return read_report(Path(path).read_bytes())[1]

        def failed(error: Exception) -> None:
            if not isinstance(error, OSError | ValueError):
                raise error
            why = error.strerror if isinstance(error, OSError) else str(error)
            self._say(self.tr("{0} can't be shown: {1}.").format(Path(path).name, why))

        def done(turns: tuple[TurnRecord, ...]) -> None:
            if not self.show_last(turns):
                self._say(self.tr("{0} has no turn with a record.").format(Path(path).name))

        tasks.run(read, done, failed, self)

    def _show(self, turns: Sequence[TurnRecord], message_id: str | None) -> bool:
        load = turns[-1].load
        assert load is not None
        same = [turn for turn in turns if turn.load is not None and turn.load.id == load.id]
        self.session = replayed(load, same)
        self.message = message_id
        self._window.chat.notices.remove_notice(_NOTICE)
        self.changed.emit()
        return True

    def _say(self, sentence: str) -> bool:
        self._window.chat.notices.show_notice(Notice(_NOTICE, sentence, "info"))
        return False

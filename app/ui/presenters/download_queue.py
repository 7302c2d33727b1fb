"""The queue of downloads: one at a time, in a process each that can be ended at once.

A download that is paused, or was running when the program ended, stays in its folder and is found
there again (`DownloadQueue.recall`), so nothing but the finished files has to be remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.data.hub.errors import HubError
from app.data.hub.places import check_space, discard, kept_bytes, remember, unfinished
from app.data.hub.protocol import Access, Answer, Fetch, Fetched, Moved, Refused
from app.data.hub.values import Job, Transfer
from app.ui import tasks
from app.ui.downloads.views import DownloadState
from app.ui.hub_process import HubProcess

__all__ = ["Download", "DownloadQueue"]


@dataclass(slots=True)
class Download:
    """A job and how it is with it. ``paths`` are its files once it is done."""

    job: Job
    state: DownloadState = "waiting"
    transfer: Transfer | None = None
    kept_bytes: int = 0
    sentence: str = ""
    paths: tuple[str, ...] = ()

    @property
    def done_bytes(self) -> int:
        """Bytes that are here."""
        if self.state == "done":
            return self.job.size_bytes
        return self.kept_bytes if self.transfer is None else self.transfer.done_bytes

    @property
    def left_bytes(self) -> int:
        """Bytes that are still to come."""
        return max(self.job.size_bytes - self.done_bytes, 0)


class DownloadQueue(QObject):
    """Downloads in their order.

    Signals:
        changed(): something of a download is another now.
        finished(Download): its files are in place.
    """

    changed = Signal()
    finished = Signal(object)

    def __init__(self, access: Callable[[], Access], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._access = access
        self._items: dict[str, Download] = {}
        self._process: HubProcess | None = None
        self._running: str | None = None
        self._request = 0
        self._after: Callable[[], None] | None = None  # once the ended process is gone
        self._closed = False

    @property
    def downloads(self) -> tuple[Download, ...]:
        """All downloads, in their order."""
        return tuple(self._items.values())

    def get(self, key: str) -> Download | None:
        """Return a download by its job's id."""
        return self._items.get(key)

    # --- orders ---

    def add(self, job: Job, refused: Callable[[str], None]) -> None:
        """Put a job at the end, or let a paused one go on; ``refused`` is told why it can't be."""
        known = self._items.get(job.id)
        if known is not None and known.state in {"paused", "failed"}:
            self.resume(job.id)
            return
        if known is not None and known.state != "done":
            return
        waiting = sum(item.left_bytes for item in self._items.values() if item.state != "done")

        def prepare() -> int:
            check_space(job, waiting)
            try:
                remember(job)
            except OSError as error:
                raise HubError(
                    "disk", f"{job.folder} can't be written ({error.strerror or error})."
                ) from error
            return kept_bytes(job)

        def done(kept: int) -> None:
            self._items[job.id] = Download(job, kept_bytes=kept)
            self._next()
            self.changed.emit()

        def failed(error: Exception) -> None:
            if not isinstance(error, HubError):
                raise error
            refused(str(error))

        tasks.run(prepare, done, failed, self)

    def recall(self, folder: Path) -> None:
        """Look for downloads that an earlier run left unfinished; they wait for a `resume`."""

        def found(jobs: list[tuple[Job, int]]) -> None:
            fresh = [item for item in jobs if item[0].id not in self._items]
            for job, kept in fresh:
                self._items[job.id] = Download(job, "paused", kept_bytes=kept)
            if fresh:
                self.changed.emit()

        def work() -> list[tuple[Job, int]]:
            return [(job, kept_bytes(job)) for job in unfinished(folder)]

        tasks.run(work, found, None, self)

    def pause(self, key: str) -> None:
        """Stop a download at once and keep what is there."""
        item = self._items.get(key)
        if item is None or item.state not in {"waiting", "running"}:
            return
        was_running = key == self._running
        if item.transfer is not None:
            item.kept_bytes = item.transfer.done_bytes
        item.state, item.transfer, item.sentence = "paused", None, ""
        if was_running:
            self._end_process(None)
        self.changed.emit()

    def pause_all(self) -> None:
        """Stop all downloads and keep what is there."""
        for key in list(self._items):
            self.pause(key)

    def resume(self, key: str) -> None:
        """Let a paused or failed download go on, when it is its turn."""
        item = self._items.get(key)
        if item is not None and item.state in {"paused", "failed"}:
            item.state, item.sentence = "waiting", ""
            self._next()
            self.changed.emit()

    def remove(self, key: str) -> None:
        """Cancel a download and remove what is there of it; a finished one is only forgotten."""
        item = self._items.pop(key, None)
        if item is None:
            return
        if item.state != "done":

            def sweep() -> None:
                tasks.run(lambda: discard(item.job), lambda _nothing: None, None, self)

            if key == self._running:
                self._end_process(sweep)
            else:
                sweep()
        self.changed.emit()

    def close(self) -> None:
        """End what runs, at the end of the program; it can go on in another run."""
        self._closed = True
        if self._process is not None:
            self._process.wait_ended()

    # --- one after another ---

    def _next(self) -> None:
        if self._process is not None or self._closed:
            return
        item = next((item for item in self._items.values() if item.state == "waiting"), None)
        if item is None:
            return
        item.state = "running"
        self._running = item.job.id
        self._process = HubProcess(self._access(), self)
        self._process.answered.connect(self._on_answer)
        self._process.ended.connect(self._on_ended)
        self._request = self._process.new_id()
        self._process.ask(Fetch(id=self._request, job=item.job))

    def _end_process(self, after: Callable[[], None] | None) -> None:
        self._running = None
        self._after = after
        if self._process is not None:
            self._process.end()

    @Slot(object)
    def _on_answer(self, answer: Answer) -> None:
        item = self._items.get(self._running or "")
        if item is None or answer.id != self._request:
            return
        if isinstance(answer, Moved):
            item.transfer = answer.transfer
        elif isinstance(answer, Fetched):
            item.state, item.transfer, item.paths = "done", None, answer.paths
            self._end_process(None)
            self.finished.emit(item)
        elif isinstance(answer, Refused):
            if item.transfer is not None:
                item.kept_bytes = item.transfer.done_bytes
            if answer.kind == "checksum":
                item.kept_bytes = 0
            item.state, item.transfer, item.sentence = "failed", None, answer.sentence
            self._end_process(None)
        self.changed.emit()

    @Slot()
    def _on_ended(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.deleteLater()
        after, self._after = self._after, None
        if after is not None:
            after()
        self._next()
        self.changed.emit()

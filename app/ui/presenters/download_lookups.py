"""Questions to the hub for the page Get models: what there is, and what its headers say.

One process answers them all; it is started with the first question and ended when the way to the
hub changes. Only the newest question of each kind is listened to.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.data.hub.protocol import (
    Access,
    Answer,
    Found,
    HeadFailed,
    HeadKept,
    HeadsRead,
    Listed,
    ReadHeads,
    Refused,
)
from app.data.hub.values import Listing, Variant
from app.ui import tasks
from app.ui.hub_process import HubProcess
from app.ui.presenters.download_fits import DownloadFits, Read, size_fit
from app.ui.presenters.download_words import Figures

__all__ = ["HubLookups"]


class HubLookups(QObject):
    """What is known of the hub now.

    Signals:
        found(tuple of Repository): answer to `search`.
        search_refused(str, str): kind of the fault, and its sentence.
        listed(Listing): answer to `look_into`; its figures follow.
        listing_refused(str, str)
        figures_changed(): of a variant of the listing.

    Attributes:
        listing: the repository looked into, None until its answer.
        figures: what is known of its variants, by key.
        fetched_bytes: what was fetched for headers, None while nothing was.
        needs_token: whether the headers are given only to who has a token.
    """

    found = Signal(object)
    search_refused = Signal(str, str)
    listed = Signal(object)
    listing_refused = Signal(str, str)
    figures_changed = Signal()

    def __init__(
        self,
        access: Callable[[], Access],
        fits: DownloadFits,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._access = access
        self._fits = fits
        self._process: HubProcess | None = None
        self._search = 0
        self._look = 0
        self._heads = 0
        self._forget()

    def _forget(self) -> None:
        self.listing: Listing | None = None
        self.figures: dict[str, Figures] = {}
        self.fetched_bytes: int | None = None
        self.needs_token = False

    # --- questions ---

    def search(self, text: str) -> None:
        """Look for repositories."""
        hub = self._hub()
        hub.cancel(self._search)
        self._search = hub.search(text)

    def look_into(self, repository: str) -> None:
        """List a repository's models, then read their headers."""
        hub = self._hub()
        for request in (self._look, self._heads):
            hub.cancel(request)
        self._heads = 0
        self._forget()
        self._look = hub.look_up(repository)

    def stop(self) -> None:
        """Listen to no answer any more."""
        if self._process is not None:
            for request in (self._search, self._look, self._heads):
                self._process.cancel(request)
        self._search = self._look = self._heads = 0

    def restart(self) -> None:
        """End the process: the way to the hub, or the token, is another now."""
        process, self._process = self._process, None
        self._search = self._look = self._heads = 0
        if process is not None:
            process.ended.connect(process.deleteLater)
            process.end()

    def close(self) -> None:
        """End the process at the end of the program."""
        if self._process is not None:
            self._process.wait_ended()

    def _hub(self) -> HubProcess:
        if self._process is None or not self._process.is_running:
            self.restart()
            self._process = HubProcess(self._access(), self)
            self._process.answered.connect(self._on_answer)
        return self._process

    # --- answers ---

    @Slot(object)
    def _on_answer(self, answer: Answer) -> None:
        if isinstance(answer, Refused):
            self._on_refused(answer)
        elif isinstance(answer, Found) and answer.id == self._search:
            self._search = 0
            self.found.emit(answer.repositories)
        elif isinstance(answer, Listed) and answer.id == self._look:
            self._look = 0
            self._on_listed(answer.listing)
        elif answer.id != self._heads:
            return
        elif isinstance(answer, HeadKept):
            self.fetched_bytes = answer.fetched_bytes
            self._read(answer.key)
        elif isinstance(answer, HeadFailed):
            self._judge_by_size(answer.key, answer.sentence)
        elif isinstance(answer, HeadsRead):
            self._heads = 0

    def _on_listed(self, listing: Listing) -> None:
        self.listing = listing
        wanted = tuple(item for item in listing.variants if not item.projector and not item.missing)
        if wanted:
            hub = self._hub()
            self._heads = hub.ask(ReadHeads(id=hub.new_id(), listing=listing, variants=wanted))
        self.listed.emit(listing)

    def _on_refused(self, refused: Refused) -> None:
        if refused.id == self._search:
            self._search = 0
            self.search_refused.emit(refused.kind, refused.sentence)
        elif refused.id == self._look:
            self._look = 0
            self.listing_refused.emit(refused.kind, refused.sentence)
        elif refused.id == self._heads:
            self._heads = 0
            self.needs_token = refused.kind in {"gated", "token"}
            for variant in () if self.listing is None else self.listing.variants:
                if variant.key not in self.figures:
                    self._judge_by_size(variant.key, refused.sentence)

    # --- figures ---

    def variant(self, key: str) -> Variant | None:
        """Return a variant of the listing."""
        variants = () if self.listing is None else self.listing.variants
        return next((item for item in variants if item.key == key), None)

    def _read(self, key: str) -> None:
        variant, listing = self.variant(key), self.listing
        if variant is None:
            return

        def done(read: Read) -> None:
            if self.listing is not listing:
                return
            facts, fit = read
            if facts is None:
                self._judge_by_size(key, fit.note)
                return
            self.figures[key] = Figures("header", facts, fit)
            self.figures_changed.emit()

        cache = Path(self._access().cache)
        tasks.run(self._fits.reader(cache, variant), done, None, self)

    def _judge_by_size(self, key: str, note: str) -> None:
        variant = self.variant(key)
        if variant is None or variant.projector or variant.missing:
            return
        fit = size_fit(variant.size_bytes, self._fits.machine())
        self.figures[key] = Figures("size", None, fit, note)
        self.figures_changed.emit()

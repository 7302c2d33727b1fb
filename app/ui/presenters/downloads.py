"""The page Get models: it asks the hub when the user does, and shows what comes back."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices

from app.data.hub.errors import HubFault
from app.data.hub.places import target_path
from app.data.hub.values import Job, Listing, Repository, Variant, job_of
from app.data.hub.variants import parse_reference
from app.paths import Paths
from app.settings import Settings
from app.ui import tasks
from app.ui.downloads.page import GetModelsPage
from app.ui.downloads.views import FileState, MessageView
from app.ui.main_window import MainWindow
from app.ui.presenters.download_door import HubDoor
from app.ui.presenters.download_fits import DownloadFits
from app.ui.presenters.download_lookups import HubLookups
from app.ui.presenters.download_queue import Download, DownloadQueue
from app.ui.presenters.download_words import (
    best_variant,
    download_view,
    fault_message,
    in_order,
    queue_words,
    repository_view,
    result_view,
)
from app.ui.shell.views import Notice
from app.ui.theme import ThemeManager

__all__ = ["PAGE", "DownloadsPresenter"]

PAGE = "get_models"
_SHOW_MS = 120


class DownloadsPresenter(QObject):
    """Connects the page with the hub's processes and the queue.

    Signals:
        arrived(str): path of a model that was downloaded; the library has one more.
        chat_requested(str): a downloaded model is to be loaded.
        folder_needed(str): models go to this folder, which the library should look into.
        settings_requested()
    """

    arrived = Signal(str)
    chat_requested = Signal(str)
    folder_needed = Signal(str)
    settings_requested = Signal()

    def __init__(
        self,
        window: MainWindow,
        themes: ThemeManager,
        settings: Settings,
        paths: Paths,
        fits: DownloadFits,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._window = window
        self.page = page = GetModelsPage(themes, window)
        window.add_inner_page(PAGE, "models", page)
        self.door = HubDoor(settings, paths, themes, window, self)
        self._text = ""
        self._repository = ""
        self._wanted = ""  # a file or quantisation that an address named
        self._chosen_by_us = ""
        self._here: set[str] = set()
        self._drawn_states: dict[str, FileState] = {}
        self.lookups = HubLookups(self.door.access, fits, self)
        self.queue = DownloadQueue(self.door.access, self)
        self._draw: tasks.Throttle[[]] = tasks.Throttle(_SHOW_MS, self._show_repository, self)
        self._draw_queue: tasks.Throttle[[]] = tasks.Throttle(_SHOW_MS, self._show_queue, self)
        page.shown.connect(self._on_shown)
        page.back_requested.connect(lambda: window.show_page("models"))
        page.search_requested.connect(self.search)
        page.repository_requested.connect(self.open_repository)
        page.download_requested.connect(self.download)
        page.download_chosen.connect(self._on_download_chosen)
        page.message_chosen.connect(self._on_message_chosen)
        page.token_requested.connect(self.door.ask_token)
        page.folder_requested.connect(self._on_folder)
        page.folder_change_requested.connect(self.door.ask_folder)
        page.settings_requested.connect(self.settings_requested)
        page.web_requested.connect(self._on_web)
        self.door.token_changed.connect(self._after_token)
        self.door.place_known.connect(page.set_place)
        self.lookups.found.connect(self._on_found)
        self.lookups.search_refused.connect(self._on_search_refused)
        self.lookups.listed.connect(self._on_listed)
        self.lookups.listing_refused.connect(self._on_listing_refused)
        self.lookups.figures_changed.connect(self._draw.call)
        self.queue.changed.connect(self._draw_queue.call)
        self.queue.changed.connect(self._on_queue)
        self.queue.finished.connect(self._on_finished)
        self._welcome()

    @Slot()
    def show_page(self) -> None:
        """Bring the page on screen."""
        self._window.show_page(PAGE)

    # --- the state of the page ---

    def refresh(self) -> None:
        """Follow the settings: another hub, folder, or offline mode."""
        self.lookups.restart()
        self.door.tell_place()
        self.queue.recall(self.door.folder)
        if self.door.is_offline:
            self.queue.pause_all()
            self._say_offline()
        elif self.page.results_message.view.choice == "settings":
            self._welcome()

    @Slot()
    def _on_shown(self) -> None:
        self.door.tell_place()
        self.queue.recall(self.door.folder)
        if self.door.is_offline:
            self._say_offline()

    def _welcome(self) -> None:
        self.page.say_results(
            MessageView(
                self.tr("Search for a model"),
                self.tr(
                    "Type a name such as “qwen3 4b” and press Enter. Nothing leaves this computer "
                    "before you do."
                ),
            )
        )
        self.page.say_repository(
            MessageView(
                self.tr("Its files come here"),
                self.tr("Each with its size, whether it fits this computer, and how fast it is."),
                "models",
            )
        )

    def _say_offline(self) -> None:
        self.lookups.stop()
        sentence = self.tr("Turn it off in the settings (Privacy) to search and to download.")
        self.page.say_results(fault_message("offline", sentence))
        self.page.say_repository(MessageView(self.tr("Its files come here"), icon="models"))

    # --- questions to the hub ---

    @Slot(str)
    def search(self, text: str) -> None:
        """Look for repositories; a text that names one opens it too."""
        self._text = text
        if self.door.is_offline:
            self._say_offline()
            return
        named = parse_reference(text)
        self.page.say_results(
            MessageView(self.tr("Searching"), busy=True, choice="stop", label=self.tr("Stop"))
        )
        self.lookups.search(named.repository if named is not None else text)
        if named is not None:
            self._open(named.repository, named.file or named.quantization)

    @Slot(str)
    def open_repository(self, repository: str) -> None:
        """Look into a repository."""
        self._open(repository, "")

    def _open(self, repository: str, wanted: str) -> None:
        self._repository = repository
        self._wanted = wanted
        self._chosen_by_us = ""
        self._here = set()
        self.page.results.mark_opened(repository)
        text = self.tr("Looking into %1").replace("%1", repository.rpartition("/")[2])
        self.page.say_repository(MessageView(text, icon="models", busy=True))
        self.lookups.look_into(repository)

    @Slot(object)
    def _on_found(self, found: tuple[Repository, ...]) -> None:
        if found:
            self.page.set_results(tuple(result_view(item) for item in found))
            self.page.results.mark_opened(self._repository)
            return
        text = self.tr("No repository with GGUF files has “%1” in its name.")
        self.page.say_results(MessageView(self.tr("Nothing found"), text.replace("%1", self._text)))

    @Slot(str, str)
    def _on_search_refused(self, kind: HubFault, sentence: str) -> None:
        self.page.say_results(fault_message(kind, sentence))

    @Slot(str, str)
    def _on_listing_refused(self, kind: HubFault, sentence: str) -> None:
        self.page.say_repository(fault_message(kind, sentence))

    @Slot(object)
    def _on_listed(self, listing: Listing) -> None:
        self._repository = listing.repository
        self.page.results.mark_opened(listing.repository)
        if not listing.variants:
            text = self.tr("%1 holds no GGUF file; look for a conversion of it.")
            self.page.say_repository(
                MessageView(
                    self.tr("Nothing to download"),
                    text.replace("%1", listing.repository),
                    "models",
                )
            )
            return
        self._look_for_files(listing)
        self._show_repository()

    # --- the files of a repository ---

    def _show_repository(self) -> None:
        listing = self.lookups.listing
        if listing is None or not listing.variants:
            return
        self._drawn_states = self._states(listing)
        view = repository_view(
            listing,
            self.lookups.figures,
            self._drawn_states,
            self.door.endpoint,
            self.lookups.fetched_bytes,
            needs_token=self.lookups.needs_token,
        )
        chosen = self._chosen_at_first(listing)
        moved = self.page.files.chosen_key() not in {"", self._chosen_by_us}
        self.page.set_repository(view, chosen)
        if not moved and chosen:
            # Until the user chooses, the best of what is known so far is chosen for them.
            self._chosen_by_us = chosen
            self.page.files.choose(chosen)

    def _chosen_at_first(self, listing: Listing) -> str:
        wanted = self._wanted.casefold()
        for variant in listing.variants if wanted else ():
            names = {file.path.casefold() for file in variant.files}
            if wanted in names or wanted == (variant.quantization or "").casefold():
                return variant.key
        return best_variant(listing, self.lookups.figures)

    def _job(self, listing: Listing, variant: Variant) -> Job:
        return job_of(listing, variant, str(self.door.folder))

    def _states(self, listing: Listing) -> dict[str, FileState]:
        states: dict[str, FileState] = dict.fromkeys(self._here, "here")
        for variant in listing.variants:
            item = self.queue.get(self._job(listing, variant).id)
            if item is not None and item.state in {"waiting", "running"}:
                states[variant.key] = "waiting"
            elif item is not None and item.state == "done":
                states[variant.key] = "here"
        return states

    def _look_for_files(self, listing: Listing) -> None:
        """Find which variants lie in the folder already, by name and size."""
        jobs = {variant.key: self._job(listing, variant) for variant in listing.variants}
        self._here = set()

        def there(job: Job) -> bool:
            try:
                return all(
                    target_path(job, file).stat().st_size == file.size_bytes for file in job.files
                )
            except Exception:  # not there, or a name that can't be: it is not here
                return False

        def found(here: set[str]) -> None:
            if self.lookups.listing is listing:
                self._here = here
                self._draw.call()

        tasks.run(lambda: {key for key, job in jobs.items() if there(job)}, found, None, self)

    # --- downloads ---

    @Slot(str)
    def download(self, key: str) -> None:
        """Put a variant of the repository on screen into the queue."""
        listing, variant = self.lookups.listing, self.lookups.variant(key)
        if listing is None or variant is None or variant.missing:
            return
        if self.door.is_offline:
            self._say_offline()
            return
        self.page.notices.remove_notice("download")
        self.folder_needed.emit(str(self.door.folder))
        self.queue.add(self._job(listing, variant), self._refuse)

    def _refuse(self, sentence: str) -> None:
        self.page.notices.show_notice(Notice("download", sentence, "error"))

    @Slot(str, str)
    def _on_download_chosen(self, key: str, action: str) -> None:
        item = self.queue.get(key)
        if action == "pause":
            self.queue.pause(key)
        elif action == "resume":
            self.queue.resume(key)
        elif action in {"remove", "dismiss"}:
            self.queue.remove(key)
        elif action == "chat" and item is not None and item.paths:
            self.chat_requested.emit(item.paths[0])

    @Slot(object)
    def _on_finished(self, item: Download) -> None:
        self.arrived.emit(item.paths[0])
        self.door.tell_place()

    @Slot()
    def _on_queue(self) -> None:
        """Draw the files again where one of them is being downloaded now, or no longer."""
        listing = self.lookups.listing
        if listing is not None and self._states(listing) != self._drawn_states:
            self._draw.call()

    def _show_queue(self) -> None:
        items = self.queue.downloads
        self.page.queue.set_downloads(
            tuple(download_view(item) for item in in_order(items)), queue_words(items)
        )

    # --- the rest of the page ---

    @Slot(str)
    def _on_message_chosen(self, choice: str) -> None:
        actions: dict[str, Callable[[], object]] = {
            "settings": self.settings_requested.emit,
            "token": self.door.ask_token,
            "again": self._again,
            "stop": self._stop,
        }
        if choice in actions:
            actions[choice]()

    def _again(self) -> None:
        if self.page.files_message.view.choice == "again" and self._repository:
            self._open(self._repository, self._wanted)
        if self.page.results_message.view.choice == "again" and self._text:
            self.search(self._text)

    def _stop(self) -> None:
        self.lookups.stop()
        self._welcome()

    @Slot()
    def _after_token(self) -> None:
        """Ask again with the new token what was refused with the old one."""
        self.lookups.restart()
        refused = self.page.files_message.view.choice == "token" or self.lookups.needs_token
        if refused and self._repository:
            self._open(self._repository, self._wanted)
        elif self.page.results_message.view.choice == "token" and self._text:
            self.search(self._text)

    @Slot()
    def _on_folder(self) -> None:
        try:
            self.door.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            text = self.tr("The folder %1 can't be made: %2.").replace("%1", str(self.door.folder))
            self._refuse(text.replace("%2", error.strerror or str(error)))
            return
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.door.folder)))

    @Slot(str)
    def _on_web(self, address: str) -> None:
        QDesktopServices.openUrl(QUrl(address))

    def close(self) -> None:
        """End all processes, at the end of the program."""
        self.lookups.close()
        self.queue.close()

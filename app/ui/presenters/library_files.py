"""What is added to the list of models, removed from it, and moved to the trash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QFileDialog

from app.data.library.choices import LibraryChoices
from app.data.library.entries import ModelEntry
from app.settings import Settings
from app.ui import tasks
from app.ui.main_window import MainWindow
from app.ui.models.files import files_to_trash, move_to_trash
from app.ui.models.page import ModelsPage
from app.ui.presenters.library_scan import LibraryScanner
from app.ui.presenters.library_views import keeper_of, title_of
from app.ui.theme import ThemeManager
from gguf_tools.units import format_bytes

__all__ = ["LibraryFiles"]


class LibraryFiles(QObject):
    """Does what the Models page asks for with files; nothing is deleted, only moved.

    Signals:
        told(str sentence, str severity): why something was not done.
    """

    told = Signal(str, str)

    def __init__(
        self,
        page: ModelsPage,
        scanner: LibraryScanner,
        choices: LibraryChoices,
        settings: Settings,
        window: MainWindow,
        themes: ThemeManager,
        loaded: Callable[[], str | None],
        set_setting: Callable[[str, Any], None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._scanner = scanner
        self._choices = choices
        self._settings = settings
        self._window = window
        self._themes = themes
        self._loaded = loaded
        self._set_setting = set_setting
        page.hide_requested.connect(self.hide)
        page.put_back_requested.connect(self.put_back)
        page.trash_requested.connect(self.ask_to_trash)
        page.folder_requested.connect(self.choose_folder)
        page.files_requested.connect(self.choose_files)
        page.paths_dropped.connect(self.add)

    @Slot(object)
    def add(self, paths: Sequence[str]) -> None:
        """Add folders and files to what is looked through; they stay where they are."""
        files = [Path(path) for path in paths if path.lower().endswith(".gguf")]
        folders = [path for path in paths if Path(path) not in files]
        if files:
            self._choices.add(files)
        kept = tuple(self._settings.get("model_folders"))
        fresh = tuple(folder for folder in folders if folder not in kept)
        if fresh:
            self._set_setting("model_folders", (*kept, *fresh))
        self._scanner.scan()

    @Slot()
    def choose_folder(self) -> None:
        """Ask for a folder to add."""
        dialog = QFileDialog(self._window, self.tr("Add a folder with models"))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda path: self.add([path]))
        dialog.open()

    @Slot()
    def choose_files(self) -> None:
        """Ask for files to add."""
        dialog = QFileDialog(self._window, self.tr("Add GGUF files"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilters([self.tr("GGUF models (*.gguf *.GGUF)")])
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self.add)
        dialog.open()

    @Slot(object)
    def hide(self, keys: Sequence[str]) -> None:
        """Remove files from the list; they stay on the disk."""
        self._choices.hide(Path(key) for key in keys)
        self._scanner.changed.emit()

    @Slot(object)
    def put_back(self, keys: Sequence[str]) -> None:
        """List files again."""
        self._choices.show(Path(key) for key in keys)
        self._scanner.changed.emit()

    @Slot(object)
    def ask_to_trash(self, keys: Sequence[str]) -> None:
        """Ask whether files may go to the trash; say why not where another program keeps them."""
        from app.ui.models.trash_dialog import TrashDialog

        entries = [entry for entry in self._scanner.entries if str(entry.path) in set(keys)]
        obstacle = next((text for entry in entries if (text := self._obstacle(entry))), "")
        if obstacle:
            self.told.emit(obstacle, "info")
        if obstacle or not entries:
            return
        names = ", ".join(title_of(self._scanner.arranged, entry) for entry in entries)
        files = files_to_trash(file for entry in entries for file in entry.files)
        size = format_bytes(sum(entry.size_bytes for entry in entries))
        question = (
            self.tr("Move {0} to the trash?").format(names)
            if len(entries) <= 3
            else self.tr("Move {0} models to the trash?").format(len(entries))
        )
        text = self.tr("{0} in all. Until the trash is emptied they can be brought back.")
        if any(entry.source != "Plimsoll" for entry in entries):
            text += " " + self.tr("Other programs that use these files will miss them.")
        dialog = TrashDialog(
            self._themes, question, text.format(size), [str(file) for file in files], self._window
        )
        dialog.accepted.connect(lambda: self._trash(entries))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def _obstacle(self, entry: ModelEntry) -> str:
        """Return why a file must not be moved now, nothing if it may be."""
        keeper = keeper_of(entry)
        if not keeper and str(entry.path) == self._loaded():
            text = self.tr("{0} is loaded: unload it before it goes to the trash.")
            return text.format(entry.path.name)
        return keeper

    def _trash(self, entries: Sequence[ModelEntry]) -> None:
        files = [file for entry in entries for file in entry.files]
        self._scanner.expect(entry.path for entry in entries)

        def done(left: list[Path]) -> None:
            if left:
                text = self.tr(
                    "{0} could not be moved to the trash: the disk it lies on has none, or it may "
                    "not be changed. It is still there."
                )
                self.told.emit(text.format(", ".join(path.name for path in left[:3])), "error")
            self._choices.forget(entry.path for entry in entries if entry.path not in left)
            self._scanner.scan()

        tasks.run(lambda: move_to_trash(files), done, None, self)

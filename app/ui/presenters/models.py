"""The models on this computer: for the picker and the first run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Slot

from app.data.library.choices import LibraryChoices
from app.data.library.entries import ModelEntry
from app.engine.qt_client import EngineProcess
from app.paths import starter_model
from app.ui.main_window import MainWindow
from app.ui.presenters.engine import EnginePresenter
from app.ui.presenters.library_scan import LibraryScanner
from app.ui.shell import views
from app.ui.shell.views import FirstRun

__all__ = ["ModelsPresenter"]


class ModelsPresenter(QObject):
    """Keeps the lists of models true and loads what is chosen."""

    def __init__(
        self,
        scanner: LibraryScanner,
        choices: LibraryChoices,
        engine: EngineProcess,
        loader: EnginePresenter,
        window: MainWindow,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._scanner = scanner
        self._choices = choices
        self._engine = engine
        self._loader = loader
        self._window = window
        self._then: Callable[[], None] | None = None
        for source in (window.picker, window.first_run):
            source.model_chosen.connect(self.choose)
        window.model_opened.connect(self.choose)
        window.model_dropped.connect(self.choose)
        window.picker.opened.connect(scanner.scan)
        scanner.changed.connect(self._show)
        loader.model_loaded.connect(self._show)

    @Slot()
    def _show(self, _model: object = None) -> None:
        loaded = self._engine.state.path if self._engine.state.model is not None else None
        hidden = self._choices.hidden
        shown = tuple(
            _view(entry, loaded)
            for entry in self._scanner.entries
            if _is_offered(entry) and entry.path not in hidden
        )
        self._window.picker.set_entries(shown)
        starter = starter_model()
        self._window.first_run.set_state(
            FirstRun(
                starter=next((v for v in shown if starter and v.key == str(starter)), None),
                found=tuple(v for v in shown if not (starter and v.key == str(starter))),
                scanning=self._scanner.is_scanning,
            )
        )

    @Slot(str)
    def choose(self, path: str) -> None:
        """Load a model, and show the chat."""
        self._window.set_first_run(False)
        self._window.show_page("chat")
        then, self._then = self._then, None
        self._loader.load(path, then=then)

    def then_regenerate(self, message_id: str, regenerate: Callable[[str], None]) -> None:
        """Regenerate a message once the model that is chosen next is loaded."""
        self._then = lambda: regenerate(message_id)


def _is_offered(entry: ModelEntry) -> bool:
    """Projectors and adapters are part of models, not models to choose."""
    return entry.kind in {"model", "unknown", "diffusion"}


def _view(entry: ModelEntry, loaded: str | None) -> views.ModelEntry:
    name = entry.base_name or entry.name or Path(entry.path).stem
    return views.ModelEntry(
        key=str(entry.path),
        name=name,
        quantization=entry.quantization or "",
        size_bytes=entry.size_bytes,
        context_tokens=entry.context_length,
        found_in=entry.source,
        problem=entry.problem,
        loaded=str(entry.path) == loaded,
    )

"""The models on this computer: for the picker and the first run."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Slot

from app.data.library.choices import LibraryChoices
from app.engine.qt_client import EngineProcess
from app.paths import starter_model
from app.ui.main_window import MainWindow
from app.ui.presenters.engine import EnginePresenter
from app.ui.presenters.library_scan import LibraryScanner
from app.ui.presenters.model_entries import picker_entries
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
        window.picker.opened.connect(scanner.scan)
        scanner.changed.connect(self._show)
        loader.model_loaded.connect(self._show)
        self._show()

    @Slot()
    def _show(self, _model: object = None) -> None:
        loaded = self._engine.state.path if self._engine.state.model is not None else None
        hidden = self._choices.hidden
        shown = picker_entries(self._scanner.entries, hidden, loaded)
        self._window.picker.set_entries(shown)
        if not self._window.is_first_run:
            return
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
        state = self._engine.state
        if state.answers and state.model is not None and state.path == path:
            # It is there, with the chat in its cache: to load it again would throw that away.
            if then is not None:
                then()
            return
        self._loader.load(path, then=then)

    def then_regenerate(self, message_id: str, regenerate: Callable[[str], None]) -> None:
        """Regenerate a message once the model that is chosen next is loaded."""
        self._then = lambda: regenerate(message_id)

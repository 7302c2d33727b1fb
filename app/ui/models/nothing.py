"""What stands in place of the list while there is nothing to list: no models, or none found yet."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.ui.empty_state import EmptyState
from app.ui.models.views import ScanView
from app.ui.theme import ThemeManager

__all__ = ["NothingPanel"]


class NothingPanel(EmptyState):
    """A title, a sentence, and buttons that help.

    Signals:
        get_models_requested(), folder_requested(), clear_requested(): what helps.
    """

    get_models_requested = Signal()
    folder_requested = Signal()
    clear_requested = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(themes, "models", parent)
        self._get = self.add_button(self.tr("Get models"), primary=True)
        self._get.clicked.connect(self.get_models_requested)
        self._folder = self.add_button(self.tr("Add a folder…"), icon="folder")
        self._folder.clicked.connect(self.folder_requested)
        self._clear = self.add_button(self.tr("Show all models"))
        self._clear.clicked.connect(self.clear_requested)
        self.say_empty(())

    def say_empty(self, looked_in: tuple[str, ...]) -> None:
        """Say that there are no models, and where was looked."""
        text = self.tr(
            "Drop GGUF files or folders here, add a folder, or get models. Files stay where they "
            "are."
        )
        if looked_in:
            where = self.tr("Looked in %1.").replace("%1", ", ".join(looked_in))
            text = f"{where} {text}"
        self._show(self.tr("No models yet"), text, get=True, folder=True)

    def say_scanning(self, scan: ScanView) -> None:
        """Say that models are being looked for."""
        self._show(self.tr("Looking for models"), scan.words, progress=scan.share)

    def say_no_match(self, query: str) -> None:
        """Say that search or filter leave nothing."""
        text = self.tr("No model matches “%1”.").replace("%1", query)
        self._show(
            self.tr("Nothing found"),
            text if query else self.tr("No model is left by the filter."),
            clear=True,
        )

    def _show(
        self,
        title: str,
        text: str,
        *,
        get: bool = False,
        folder: bool = False,
        clear: bool = False,
        progress: float | None = None,
    ) -> None:
        self.say(title, text)
        self._get.setVisible(get)
        self._folder.setVisible(folder)
        self._clear.setVisible(clear)
        self.set_progress(progress, name=self.tr("Looking for models"))

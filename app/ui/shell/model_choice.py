"""The ways to choose a model: the picker, the first-run page, a file; made when they are shown."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QStackedWidget, QWidget

from app.ui.theme import ThemeManager

if TYPE_CHECKING:
    from app.ui.shell.first_run import FirstRunPage
    from app.ui.shell.model_picker import ModelPicker

__all__ = ["ModelChoice"]


class ModelChoice(QObject):
    """Joins them to the same signals.

    Signals:
        model_wanted(str): path of a model to load.
        load_settings_wanted(str): path of a model whose settings are wanted.
        get_models_requested()
    """

    model_wanted = Signal(str)
    load_settings_wanted = Signal(str)
    get_models_requested = Signal()

    def __init__(self, themes: ThemeManager, window: QWidget, pages: QStackedWidget) -> None:
        super().__init__(window)
        self._themes = themes
        self._window = window
        self._pages = pages

    @cached_property
    def first_run(self) -> FirstRunPage:
        """What stands in place of the chat until there is a model; few starts need it."""
        from app.ui.shell.first_run import FirstRunPage

        page = FirstRunPage(self._themes, self._window)
        page.model_chosen.connect(self.model_wanted)
        page.load_settings_requested.connect(self.load_settings_wanted)
        page.open_file_requested.connect(self.choose_file)
        page.get_models_requested.connect(self.get_models_requested)
        self._pages.addWidget(page)
        return page

    @cached_property
    def picker(self) -> ModelPicker:
        """The models to choose from, below the header's pill."""
        from app.ui.shell.model_picker import ModelPicker

        picker = ModelPicker(self._themes, self._window)
        picker.model_chosen.connect(self.model_wanted)
        picker.load_settings_requested.connect(self.load_settings_wanted)
        picker.open_file_requested.connect(self.choose_file)
        picker.get_models_requested.connect(self.get_models_requested)
        return picker

    @Slot()
    def choose_file(self) -> None:
        """Ask for a model file."""
        dialog = QFileDialog(self._window, self.tr("Open a GGUF file"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([self.tr("GGUF models (*.gguf *.GGUF)"), self.tr("All files (*)")])
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.model_wanted)
        dialog.open()

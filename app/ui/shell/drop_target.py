"""Files that are dragged over the window: what a drop would do, and what it does."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget

from app.ui.shell.drop_hint import DropHint
from app.ui.theme import ThemeManager

__all__ = ["DropTarget"]


class DropTarget(QObject):
    """Takes drags that a window hands it; models go before other files.

    Signals:
        model_dropped(str): path of a model file.
        files_dropped(list of str): paths of other files.
    """

    model_dropped = Signal(str)
    files_dropped = Signal(list)

    def __init__(self, themes: ThemeManager, window: QWidget, covered: QWidget) -> None:
        super().__init__(window)
        self._covered = covered
        self.hint = DropHint(themes, window)

    def enter(self, event: QDragEnterEvent) -> None:
        """Take local files, and say what a drop would do."""
        models, files = _dropped(event)
        if not models and not files:
            event.ignore()
            return
        event.acceptProposedAction()
        self.hint.show_over(
            self._covered,
            self.tr("Drop to load this model") if models else self.tr("Drop to attach"),
        )

    def leave(self) -> None:
        """Take the hint away."""
        self.hint.hide()

    def drop(self, event: QDropEvent) -> None:
        """Tell what was dropped."""
        self.hint.hide()
        models, files = _dropped(event)
        event.acceptProposedAction()
        if models:
            self.model_dropped.emit(models[0])
        elif files:
            self.files_dropped.emit(files)


def _dropped(event: QDropEvent) -> tuple[list[str], list[str]]:
    """Return the local model files and the other local files of a drag."""
    paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
    models = [path for path in paths if path.lower().endswith(".gguf")]
    return models, [path for path in paths if path not in models]

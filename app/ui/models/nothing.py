"""What stands in place of the list while there is nothing to list: no models, or none found yet."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.ui.icons import IconKeeper, pixmap
from app.ui.models.views import ScanView
from app.ui.theme import ThemeManager

__all__ = ["NothingPanel"]


class NothingPanel(QWidget):
    """A title, a sentence, and buttons that help.

    Signals:
        get_models_requested(), folder_requested(), clear_requested(): what helps.
    """

    get_models_requested = Signal()
    folder_requested = Signal()
    clear_requested = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._icon = QLabel(self)
        self._icon.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._title = QLabel(self)
        self._title.setProperty("kind", "heading")
        self._title.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._text = QLabel(self)
        self._text.setProperty("kind", "dim")
        self._text.setWordWrap(True)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self._progress = QProgressBar(self)
        self._progress.setRange(0, 1000)
        self._progress.setTextVisible(False)
        self._progress.setAccessibleName(self.tr("Looking for models"))
        self._get = QPushButton(self.tr("Get models"), self)
        self._get.setProperty("kind", "primary")
        self._get.clicked.connect(self.get_models_requested)
        self._folder = QPushButton(self.tr("Add a folder…"), self)
        IconKeeper(self._folder, themes, "folder", "dim", 15)
        self._folder.clicked.connect(self.folder_requested)
        self._clear = QPushButton(self.tr("Show all models"), self)
        self._clear.clicked.connect(self.clear_requested)
        self._buttons = QHBoxLayout()
        self._buttons.addStretch(1)
        for button in (self._get, self._folder, self._clear):
            self._buttons.addWidget(button)
        self._buttons.addStretch(1)
        self._column = QVBoxLayout(self)
        self._column.addStretch(2)
        self._column.addWidget(self._icon)
        self._column.addWidget(self._title)
        for widget in (self._text, self._progress):
            # In a row with stretches: a centred widget would not be asked for its height.
            row = QHBoxLayout()
            row.addStretch(1)
            row.addWidget(widget, 100)
            row.addStretch(1)
            self._column.addLayout(row)
        self._column.addLayout(self._buttons)
        self._column.addStretch(3)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()
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
        self._title.setText(title)
        self._text.setText(text)
        self._get.setVisible(get)
        self._folder.setVisible(folder)
        self._clear.setVisible(clear)
        self._progress.setVisible(progress is not None)
        if progress is not None:
            self._progress.setValue(round(min(max(progress, 0.0), 1.0) * 1000))

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        side = theme.px(24)
        self._column.setContentsMargins(side, side, side, side)
        self._column.setSpacing(theme.px(12))
        self._buttons.setSpacing(theme.px(8))
        self._text.setMaximumWidth(theme.px(440))
        self._progress.setMaximumWidth(theme.px(280))
        self._icon.setPixmap(
            pixmap("models", theme.css("faint"), theme.px(34), ratio=self.devicePixelRatioF())
        )

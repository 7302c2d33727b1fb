"""What stands in the middle until there is a model: what this is, and how to begin."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.ui.icons import IconKeeper, pixmap
from app.ui.shell.model_list import ModelList
from app.ui.shell.views import FirstRun
from app.ui.theme import ThemeManager
from gguf_tools.units import format_bytes
from inspector.widgets.flow import FlowLayout

__all__ = ["FirstRunPage"]

_MOST_ROWS = 5


class FirstRunPage(QScrollArea):
    """Starter model, a file, or a model that was found.

    Signals:
        model_chosen(str): key of a model (the starter's, or one that was found).
        load_settings_requested(str): key of a model that was found.
        open_file_requested()
        get_models_requested()
    """

    model_chosen = Signal(str)
    load_settings_requested = Signal(str)
    open_file_requested = Signal()
    get_models_requested = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "plain")
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # it follows the focus of what it holds
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._themes = themes
        self._state = FirstRun()
        page = QWidget(self)
        self._card = QWidget(page)
        self._logo = QLabel(self._card)
        self._title = QLabel(self.tr("Chat with models on this computer"), self._card)
        self._title.setProperty("kind", "title")
        self._title.setWordWrap(True)
        self._about = QLabel(
            self.tr(
                "Plimsoll runs GGUF models here, without the internet, and shows how deeply they "
                "load this computer. Choose a model to begin."
            ),
            self._card,
        )
        self._about.setProperty("kind", "dim")
        self._about.setWordWrap(True)
        self._starter = QPushButton(self.tr("Start with the starter model"), self._card)
        self._starter.setProperty("kind", "primary")
        self._starter.clicked.connect(self._on_starter)
        self._open = QPushButton(self.tr("Open a GGUF file…"), self._card)
        IconKeeper(self._open, themes, "folder", "dim", 16)
        self._open.clicked.connect(self.open_file_requested)
        self._get = QPushButton(self.tr("Get models…"), self._card)
        IconKeeper(self._get, themes, "import", "dim", 16)
        self._get.clicked.connect(self.get_models_requested)
        # Wrapped, not shortened: the name is at the end. Its longest word sets no width.
        self._starter_facts = QLabel(self._card)
        self._starter_facts.setTextFormat(Qt.TextFormat.PlainText)
        self._starter_facts.setProperty("kind", "faint")
        self._starter_facts.setWordWrap(True)
        self._starter_facts.setMinimumWidth(1)
        buttons = QWidget(self._card)
        self._buttons = FlowLayout(buttons)
        self._buttons.addWidget(self._starter)
        self._buttons.addWidget(self._open)
        self._buttons.addWidget(self._get)
        self._found_title = QLabel(self._card)
        self._found_title.setProperty("kind", "caps")
        self._found = ModelList(themes, self._card)
        self._found.model_chosen.connect(self.model_chosen)
        self._found.load_settings_requested.connect(self.load_settings_requested)
        self._hint = QLabel(self.tr("You can also drag a .gguf file onto this window."), self._card)
        self._hint.setProperty("kind", "faint")
        self._hint.setWordWrap(True)

        self._column = QVBoxLayout(self._card)
        self._column.addWidget(self._logo)
        self._column.addWidget(self._title)
        self._column.addWidget(self._about)
        self._column.addWidget(buttons)
        self._column.addWidget(self._starter_facts)
        self._column.addWidget(self._found_title)
        self._column.addWidget(self._found)
        self._column.addWidget(self._hint)
        outer = QHBoxLayout(page)
        outer.addStretch(1)
        outer.addWidget(self._card, 100, Qt.AlignmentFlag.AlignVCenter)
        outer.addStretch(1)
        self.setWidget(page)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()
        self.set_state(FirstRun())

    @property
    def starter_button(self) -> QPushButton:
        """The big button."""
        return self._starter

    @property
    def models(self) -> ModelList:
        """The models found."""
        return self._found

    def set_state(self, state: FirstRun) -> None:
        """Show what can be begun with."""
        self._state = state
        starter = state.starter
        self._starter.setVisible(starter is not None)
        self._starter_facts.setVisible(starter is not None)
        if starter is not None:
            facts = [starter.name, starter.quantization]
            if starter.size_bytes is not None:
                facts.append(format_bytes(starter.size_bytes))
            text = self.tr("The starter model is small and quick: %1.")
            self._starter_facts.setText(text.replace("%1", " · ".join(filter(None, facts))))
        found = state.found
        self._found.set_entries(found)
        self._found.setVisible(bool(found))
        self._found_title.setVisible(bool(found) or state.scanning)
        if state.scanning and not found:
            self._found_title.setText(self.tr("Looking for models on this computer…"))
        else:
            self._found_title.setText(self.tr("FOUND ON THIS COMPUTER"))
        self._fit_list()

    @Slot()
    def _on_starter(self) -> None:
        if self._state.starter is not None:
            self.model_chosen.emit(self._state.starter.key)

    def _fit_list(self) -> None:
        rows = min(len(self._state.found), _MOST_ROWS)
        self._found.setFixedHeight(rows * self._themes.theme.px(48) + 2)

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        self._card.setMaximumWidth(theme.px(560))
        self._column.setContentsMargins(theme.px(24), theme.px(24), theme.px(24), theme.px(24))
        self._column.setSpacing(theme.px(14))
        self._buttons.setSpacing(theme.px(10))
        self._logo.setPixmap(
            pixmap(
                "plimsoll",
                theme.css("ink"),
                theme.px(64),
                theme.px(40),
                self.devicePixelRatioF(),
            )
        )
        self._fit_list()

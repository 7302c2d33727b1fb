"""The popup below the header's pill: which model to load."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.icons import IconKeeper
from app.ui.popup import Popup
from app.ui.shell.model_list import ModelList
from app.ui.shell.views import ModelEntry
from app.ui.theme import ThemeManager

__all__ = ["ModelPicker"]


class ModelPicker(Popup):
    """Search field, models, and the way to a file of one's own.

    Signals:
        model_chosen(str): key of the model to load.
        load_settings_requested(str): key of the model whose settings are wanted.
        open_file_requested(): a file of one's own.
        get_models_requested(): models from elsewhere.
        opened(): it came on screen (a good time to look for new files).
    """

    model_chosen = Signal(str)
    load_settings_requested = Signal(str)
    open_file_requested = Signal()
    get_models_requested = Signal()
    opened = Signal()

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(themes, parent)
        self._has_any = False
        self._search = QLineEdit(self.card)
        self._search.setPlaceholderText(self.tr("Search models"))
        self._search.setAccessibleName(self.tr("Search models"))
        self._search.installEventFilter(self)
        self._list = ModelList(themes, self.card)
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._search.textChanged.connect(self._on_query)
        self._list.model_chosen.connect(self._on_chosen)
        self._list.load_settings_requested.connect(self._on_settings)
        self._nothing = QLabel(self.card)
        self._nothing.setProperty("kind", "faint")
        self._nothing.setWordWrap(True)
        self._nothing.setTextFormat(Qt.TextFormat.PlainText)
        self._open = QPushButton(self.tr("Open a file…"), self.card)
        self._open.setProperty("kind", "flat")
        IconKeeper(self._open, themes, "folder", "dim", 15)
        self._open.clicked.connect(self._on_open)
        self._get = QPushButton(self.tr("Get models…"), self.card)
        self._get.setProperty("kind", "flat")
        IconKeeper(self._get, themes, "import", "dim", 15)
        self._get.clicked.connect(self._on_get)
        self._settings = QPushButton(self.tr("Load settings…"), self.card)
        self._settings.setProperty("kind", "flat")
        IconKeeper(self._settings, themes, "settings", "dim", 15)
        self._settings.clicked.connect(self._list.ask_settings)
        self._foot = QHBoxLayout()
        self._foot.addWidget(self._open)
        self._foot.addWidget(self._get)
        self._foot.addStretch(1)
        self._foot.addWidget(self._settings)
        self._column = QVBoxLayout(self.card)
        self._column.addWidget(self._search)
        self._column.addWidget(self._list, 1)
        self._column.addWidget(self._nothing, 1)
        self._column.addLayout(self._foot)
        themes.changed.connect(self._apply_theme)
        self._apply_theme()
        self.set_entries(())

    @property
    def models(self) -> ModelList:
        """The list."""
        return self._list

    @property
    def search(self) -> QLineEdit:
        """The search field."""
        return self._search

    def set_entries(self, entries: tuple[ModelEntry, ...]) -> None:
        """Show models."""
        self._has_any = bool(entries)
        self._list.set_entries(entries)
        self._refresh()

    def open_below(self, anchor: QWidget) -> None:
        """Come on screen below a widget, within its window's screen."""
        self._search.clear()
        self._list.select("")
        theme = self._themes.theme
        room = anchor.screen().availableGeometry()
        width = min(theme.px(480), room.width())
        rows = max(len(self._list.shown()), 2)
        wanted = theme.px(118) + rows * theme.px(48)
        height = min(wanted, theme.px(460), max(room.height() - theme.px(80), theme.px(200)))
        self.resize(width, height)
        corner = anchor.mapToGlobal(anchor.rect().bottomLeft())
        if self.isRightToLeft():
            corner = anchor.mapToGlobal(anchor.rect().bottomRight())
            corner.setX(corner.x() - width)
        corner.setY(corner.y() + theme.px(6))
        corner.setX(max(room.left(), min(corner.x(), room.right() - width)))
        corner.setY(max(room.top(), min(corner.y(), room.bottom() - height)))
        self.move(corner)
        self.show()
        self._search.setFocus()
        self.opened.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move through the list from within the search field."""
        if (
            watched is self._search
            and event.type() == QEvent.Type.KeyPress
            and isinstance(event, QKeyEvent)
        ):
            steps = {
                Qt.Key.Key_Down: 1,
                Qt.Key.Key_Up: -1,
                Qt.Key.Key_PageDown: 7,
                Qt.Key.Key_PageUp: -7,
            }
            key = Qt.Key(event.key())
            if key in steps:
                self._list.step(steps[key])
                return True
            if key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                self._list.keyPressEvent(event)
                return True
        return super().eventFilter(watched, event)

    @Slot(str)
    def _on_query(self, query: str) -> None:
        self._list.set_query(query)
        self._refresh()

    @Slot(str)
    def _on_chosen(self, key: str) -> None:
        self.close()
        self.model_chosen.emit(key)

    @Slot(str)
    def _on_settings(self, key: str) -> None:
        self.close()
        self.load_settings_requested.emit(key)

    @Slot()
    def _on_open(self) -> None:
        self.close()
        self.open_file_requested.emit()

    @Slot()
    def _on_get(self) -> None:
        self.close()
        self.get_models_requested.emit()

    def _refresh(self) -> None:
        empty = not self._list.shown()
        self._list.setHidden(empty)
        self._nothing.setVisible(empty)
        self._settings.setHidden(empty)
        if self._has_any:
            self._nothing.setText(
                self.tr("No model matches “%1”.").replace("%1", self._search.text())
            )
        else:
            self._nothing.setText(
                self.tr(
                    "No models were found. Open a GGUF file, get one, or name folders with models "
                    "in the settings."
                )
            )

    @Slot()
    def _apply_theme(self) -> None:
        theme = self._themes.theme
        side = theme.px(10)
        self._column.setContentsMargins(side, side, side, side)
        self._column.setSpacing(theme.px(8))
        self._nothing.setContentsMargins(theme.px(10), theme.px(16), theme.px(10), theme.px(16))

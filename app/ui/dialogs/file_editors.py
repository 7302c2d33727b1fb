"""Editors of settings that name files and folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QListWidget,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.settings import Setting
from app.ui.dialogs.editor_base import Editor, LineEditor
from app.ui.theme import ThemeManager

__all__ = ["FoldersEditor", "ModelFileEditor"]


class ModelFileEditor(LineEditor):
    """The path of a model, typed or chosen."""

    def __init__(self, setting: Setting, parent: QWidget) -> None:
        super().__init__(parent)
        self._title = setting.label
        self._choose = QPushButton(self.tr("Choose…"), self)
        self._choose.setProperty("kind", "small")
        self._choose.setAccessibleName(f"{setting.label}: {self._choose.text()}")
        self._choose.clicked.connect(self._ask)
        layout = self.layout()
        if layout is not None:
            layout.addWidget(self._choose)

    def set_open(self, is_open: bool) -> None:
        """Let a path be typed or not; a file can be chosen at any time."""
        self.line.setEnabled(is_open)

    @Slot()
    def _ask(self) -> None:
        dialog = QFileDialog(self, self._title)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([self.tr("GGUF models (*.gguf *.GGUF)"), self.tr("All files (*)")])
        present = Path(self.line.text())
        if self.line.text() and present.parent.is_dir():
            dialog.setDirectory(str(present.parent))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.take)
        dialog.open()

    @Slot(str)
    def take(self, path: str) -> None:
        """Take a file that was chosen."""
        self.line.setText(path)
        self.edited.emit()


class FoldersEditor(Editor):
    """A list of folders."""

    def __init__(self, themes: ThemeManager, parent: QWidget) -> None:
        super().__init__(parent)
        self._list = QListWidget(self)
        self._list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._list.setFixedHeight(themes.theme.px(96))
        add = QPushButton(self.tr("Add a folder…"), self)
        add.setProperty("kind", "small")
        add.clicked.connect(self._ask)
        self._remove = QPushButton(self.tr("Remove"), self)
        self._remove.setProperty("kind", "small")
        self._remove.clicked.connect(self._on_remove)
        self._list.currentRowChanged.connect(self._on_row)
        buttons = QHBoxLayout()
        buttons.addWidget(add)
        buttons.addWidget(self._remove)
        buttons.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._list)
        column.addLayout(buttons)
        self._on_row(-1)

    def value(self) -> object:
        """Return the folders."""
        return tuple(self._list.item(row).text() for row in range(self._list.count()))

    def set_value(self, value: Any) -> None:
        """Show folders."""
        self._list.clear()
        self._list.addItems([str(folder) for folder in value])

    def field(self) -> QWidget:
        """Return the list."""
        return self._list

    def add_folder(self, folder: str) -> None:
        """Add a folder, once."""
        if folder and folder not in self.value():  # type: ignore[operator]
            self._list.addItem(folder)
            self.edited.emit()

    @Slot()
    def _ask(self) -> None:
        dialog = QFileDialog(self, self.tr("Add a folder with models"))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.add_folder)
        dialog.open()

    @Slot()
    def _on_remove(self) -> None:
        if self._list.currentRow() >= 0:
            self._list.takeItem(self._list.currentRow())
            self.edited.emit()

    @Slot(int)
    def _on_row(self, row: int) -> None:
        self._remove.setEnabled(row >= 0)

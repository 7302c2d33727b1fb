"""Makes a variant of a model: which type, what it will be, where it goes; then how far it is.

The work goes on when the dialog is closed; it is ended by Cancel alone.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.dialogs.buttons import DialogButtons
from app.ui.dialogs.sizes import open_size
from app.ui.elide import ElidedLabel
from app.ui.models.variant_table import VariantTable
from app.ui.models.views import VariantOption
from app.ui.second_click import SecondClick
from app.ui.theme import ThemeManager

__all__ = ["VariantDialog"]


class VariantDialog(QDialog):
    """Types in a table, a file to be made, and how far it is.

    Signals:
        start_requested(str type, str target path, str importance matrix or nothing, bool allowed):
            ``allowed``: making it from quantised weights is agreed to.
        cancel_requested(): the work that runs is to be ended.
        imatrix_changed(str): another importance matrix, or none; sizes may differ.
    """

    start_requested = Signal(str, str, str, bool)
    cancel_requested = Signal()
    imatrix_changed = Signal(str)

    def __init__(
        self,
        themes: ThemeManager,
        title: str,
        about: str,
        folder: Path,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._themes = themes
        self._folder = folder
        self._names: dict[str, str] = {}
        self._is_running = False
        theme = themes.theme
        self.setWindowTitle(self.tr("Make a variant"))
        heading = ElidedLabel(self.tr("Make a variant of %1").replace("%1", title), self)
        heading.setProperty("kind", "heading")
        source = ElidedLabel(about, self, Qt.TextElideMode.ElideMiddle)
        source.setProperty("kind", "faint")
        self.table = VariantTable(themes, self)
        self.table.type_changed.connect(self._on_type)
        self._warning = QLabel(self)
        self._warning.setWordWrap(True)
        self._warning.setTextFormat(Qt.TextFormat.PlainText)
        self.allowed = QCheckBox(self.tr("Make it from quantised weights all the same"), self)
        self.allowed.toggled.connect(self._refresh)

        self.target = QLineEdit(self)
        self.target.setAccessibleName(self.tr("File to be made"))
        self.target.textChanged.connect(self._refresh)
        self._browse = QPushButton(self.tr("Choose…"), self)
        self._browse.clicked.connect(self._choose_target)
        self.imatrix = QLineEdit(self)
        self.imatrix.setPlaceholderText(self.tr("None; sharpens types with few bits"))
        self.imatrix.setAccessibleName(self.tr("Importance matrix"))
        self.imatrix.editingFinished.connect(self._on_imatrix)
        self._find = QPushButton(self.tr("Choose…"), self)
        self._find.clicked.connect(self._choose_imatrix)
        grid = QGridLayout()
        grid.setHorizontalSpacing(theme.px(8))
        grid.setVerticalSpacing(theme.px(8))
        for row, (text, field, button) in enumerate(
            (
                (self.tr("File"), self.target, self._browse),
                (self.tr("Importance matrix"), self.imatrix, self._find),
            )
        ):
            label = QLabel(text, self)
            label.setProperty("kind", "dim")
            label.setBuddy(field)
            grid.addWidget(label, row, 0)
            grid.addWidget(field, row, 1)
            grid.addWidget(button, row, 2)

        self._words = QLabel(self)
        self._words.setWordWrap(True)
        self._words.setTextFormat(Qt.TextFormat.PlainText)
        self.progress = QProgressBar(self)
        self.progress.setRange(0, 1000)
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName(self.tr("Making the variant"))
        buttons = DialogButtons(self)
        self.start = buttons.main(self.tr("Make it"))
        self.start.clicked.connect(self._on_start)
        self.stop = buttons.other(self.tr("Stop"))
        self.stop.clicked.connect(self._on_stop)
        self._second_click = SecondClick()  # one button stands where the other one did
        self.close_button = buttons.close_button()
        foot = QHBoxLayout()
        foot.setSpacing(theme.px(8))
        foot.addWidget(self._words, 1)
        foot.addWidget(buttons)
        column = QVBoxLayout(self)
        side = theme.px(18)
        column.setContentsMargins(side, side, side, side)
        column.setSpacing(theme.px(10))
        column.addWidget(heading)
        column.addWidget(source)
        column.addWidget(self.table, 1)
        column.addWidget(self._warning)
        column.addWidget(self.allowed)
        column.addLayout(grid)
        column.addWidget(self.progress)
        column.addLayout(foot)
        open_size(self, theme, 840, 640)
        self.set_warning("")
        self.set_progress(None)
        self.say(self.tr("Working out what each type would be…"))

    # --- what is shown ---

    def set_options(self, options: tuple[VariantOption, ...], names: dict[str, str]) -> None:
        """Show types; ``names`` are file names to suggest, by the options' keys."""
        self._names = names
        self.table.set_options(options)
        chosen = self.table.chosen()
        if chosen is not None and not self.target.text():
            self._suggest(chosen.key)
        self.say("")
        self._refresh()
        self.table.setFocus()

    def set_warning(self, sentence: str) -> None:
        """Say what speaks against the file as a source; it then has to be agreed to."""
        theme = self._themes.theme
        self._warning.setStyleSheet(f"color: {theme.css('warning')};")
        self._warning.setText(sentence)
        self._warning.setVisible(bool(sentence))
        self.allowed.setVisible(bool(sentence))
        self._refresh()

    def set_progress(self, share: float | None) -> None:
        """Show how far the work is (0 to 1), or that none runs."""
        if share is not None and not self._is_running:
            self._second_click.begin()
        self._is_running = share is not None
        self.progress.setVisible(self._is_running)
        self.stop.setVisible(self._is_running)
        self.start.setVisible(not self._is_running)
        if share is not None:
            self.progress.setValue(round(share * 1000))
        self._refresh()

    def say(self, sentence: str, *, token: str = "dim") -> None:
        """Show a sentence beside the buttons."""
        self._words.setStyleSheet(f"color: {self._themes.theme.css(token)};")
        self._words.setText(sentence)

    # --- inner ---

    def _refresh(self) -> None:
        chosen = self.table.chosen()
        agreed = self.allowed.isHidden() or self.allowed.isChecked()
        ready = chosen is not None and not chosen.problem and bool(self.target.text().strip())
        self.start.setEnabled(ready and agreed and not self._is_running)
        for widget in (self.table, self.target, self.imatrix, self._browse, self._find):
            widget.setEnabled(not self._is_running)
        self.allowed.setEnabled(not self._is_running)

    def _suggest(self, key: str) -> None:
        if key in self._names:
            self.target.setText(str(self._folder / self._names[key]))

    @Slot(str)
    def _on_type(self, key: str) -> None:
        # A name of the user's own stays; one that was suggested follows the type.
        text = self.target.text().strip()
        if not text or Path(text).name in self._names.values():
            self._folder = Path(text).parent if text else self._folder
            self._suggest(key)
        self._refresh()

    @Slot()
    def _on_imatrix(self) -> None:
        self.imatrix_changed.emit(self.imatrix.text().strip())

    @Slot()
    def _on_stop(self) -> None:
        if not self._second_click.is_due:
            self._second_click.begin()  # of a stop that takes no time
            self.cancel_requested.emit()

    @Slot()
    def _on_start(self) -> None:
        if self._second_click.is_due:
            return
        chosen = self.table.chosen()
        if chosen is not None:
            self.start_requested.emit(
                chosen.key,
                self.target.text().strip(),
                self.imatrix.text().strip(),
                self.allowed.isChecked(),
            )

    @Slot()
    def _choose_target(self) -> None:
        dialog = QFileDialog(self, self.tr("File to be made"), self.target.text())
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)
        dialog.setDefaultSuffix("gguf")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.target.setText)
        dialog.open()

    @Slot()
    def _choose_imatrix(self) -> None:
        dialog = QFileDialog(self, self.tr("Importance matrix"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

        def take(path: str) -> None:
            self.imatrix.setText(path)
            self._on_imatrix()

        dialog.fileSelected.connect(take)
        dialog.open()

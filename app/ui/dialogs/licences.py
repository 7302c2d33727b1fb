"""The licences of everything that the program is made of, in one text that can be searched."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QPlainTextEdit, QVBoxLayout, QWidget

from app.ui.dialogs.buttons import DialogButtons
from app.ui.dialogs.sizes import open_size
from app.ui.theme import ThemeManager

__all__ = ["LicencesDialog"]


class LicencesDialog(QDialog):
    """A text to read; it is given, not gathered, because gathering reads many files."""

    def __init__(self, themes: ThemeManager, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("licencesDialog")
        self.setWindowTitle(self.tr("Licences"))
        theme = themes.theme
        self.text = QPlainTextEdit(text, self)
        self.text.setReadOnly(True)
        self.text.setAccessibleName(self.tr("Licences of all parts of Plimsoll"))
        self.text.setFont(theme.code_font)
        buttons = DialogButtons(self)
        buttons.close_button()
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(18), theme.px(16), theme.px(18), theme.px(14))
        column.setSpacing(theme.px(12))
        column.addWidget(self.text, 1)
        column.addWidget(buttons)
        open_size(self, theme, 760, 560)

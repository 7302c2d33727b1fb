"""Asks before files go to the trash: which, how much, and that they can be brought back."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import (
    QDialog,
    QLabel,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from app.ui.dialogs.buttons import DialogButtons
from app.ui.theme import ThemeManager

__all__ = ["TrashDialog"]


class TrashDialog(QDialog):
    """A question, the files, and two buttons; Cancel is the default."""

    def __init__(
        self,
        themes: ThemeManager,
        question: str,
        explanation: str,
        files: list[str],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        theme = themes.theme
        self.setWindowTitle(self.tr("Move to the trash"))
        heading = QLabel(question, self)
        heading.setProperty("kind", "heading")
        heading.setTextFormat(Qt.TextFormat.PlainText)
        heading.setWordWrap(True)
        text = QLabel(explanation, self)
        text.setProperty("kind", "dim")
        text.setTextFormat(Qt.TextFormat.PlainText)
        text.setWordWrap(True)
        names = QPlainTextEdit("\n".join(files), self)
        names.setReadOnly(True)
        names.setAccessibleName(self.tr("Files"))
        names.setFont(theme.font(11.5, code=True))
        names.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        names.setTabChangesFocus(True)
        names.setFixedHeight(theme.px(32 + 36 * min(len(files), 4)))
        buttons = DialogButtons(self)
        self.confirm = buttons.danger(self.tr("Move to the trash"))
        self.confirm.clicked.connect(self.accept)
        self.cancel = buttons.cancel()
        self.cancel.setDefault(True)
        column = QVBoxLayout(self)
        side = theme.px(18)
        column.setContentsMargins(side, side, side, side)
        column.setSpacing(theme.px(12))
        for widget in (heading, text, names):
            column.addWidget(widget)
        column.addWidget(buttons)
        width = theme.px(520)
        self.resize(width, column.totalHeightForWidth(width))
        self.cancel.setFocus()

"""Asks for the access token of a hub, never showing the one that is kept."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from app.ui.dialogs.buttons import DialogButtons
from app.ui.theme import ThemeManager

__all__ = ["TokenDialog"]


class TokenDialog(QDialog):
    """A field for a token.

    Signals:
        token_given(str): a token to keep.
        token_removed(): the kept one is to be forgotten.
    """

    token_given = Signal(str)
    token_removed = Signal()

    def __init__(
        self, themes: ThemeManager, *, kept: bool, place: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Access token"))
        theme = themes.theme
        about = QLabel(
            self.tr(
                "Gated and private repositories need a token of your account on the hub (its "
                "settings, Access Tokens, with the right to read). It is kept in %1, readable by "
                "you alone, and sent to the hub only. Without one, HF_TOKEN and the login of "
                "Hugging Face's own tools are used."
            ).replace("%1", place),
            self,
        )
        about.setProperty("kind", "dim")
        about.setWordWrap(True)
        about.setTextFormat(Qt.TextFormat.PlainText)
        self.field = QLineEdit(self)
        self.field.setEchoMode(QLineEdit.EchoMode.Password)
        self.field.setPlaceholderText(
            self.tr("A token is kept; a new one replaces it") if kept else "hf_…"
        )
        self.field.setAccessibleName(self.tr("Access token"))
        self.field.textChanged.connect(self._on_text)
        self.error = QLabel(self)
        self.error.setProperty("kind", "error")
        self.error.setWordWrap(True)
        self.error.hide()
        box = DialogButtons(self)
        self.keep = box.main(self.tr("Keep"))
        self.keep.setEnabled(False)
        box.cancel()
        self.forget = box.other(self.tr("Remove the token"))
        self.forget.setVisible(kept)  # after it was added, which shows a button
        self.keep.clicked.connect(self._on_keep)
        self.forget.clicked.connect(self._on_forget)
        column = QVBoxLayout(self)
        side = theme.px(20)
        column.setContentsMargins(side, side, side, side)
        column.setSpacing(theme.px(12))
        for widget in (about, self.field, self.error, box):
            column.addWidget(widget)
        self.setMinimumWidth(theme.px(440))
        self.field.setFocus()

    def say(self, sentence: str) -> None:
        """Say why the token can't be kept."""
        self.error.setText(sentence)
        self.error.setVisible(bool(sentence))

    @Slot(str)
    def _on_text(self, text: str) -> None:
        self.keep.setEnabled(bool(text.strip()))
        self.say("")

    @Slot()
    def _on_keep(self) -> None:
        self.token_given.emit(self.field.text().strip())

    @Slot()
    def _on_forget(self) -> None:
        self.token_removed.emit()

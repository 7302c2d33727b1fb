"""The row of buttons at the foot of a dialog, in the order of the platform, the same in all."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QPushButton

from app.ui.look import set_look

__all__ = ["DialogButtons"]

_Role = QDialogButtonBox.ButtonRole


class DialogButtons(QDialogButtonBox):
    """Buttons are added by what they do; where each goes is the platform's affair.

    Closing and cancelling reject the dialog; what the others do is for the dialog to connect.
    """

    def __init__(self, dialog: QDialog) -> None:
        super().__init__(dialog)
        layout = self.layout()
        if layout is not None:
            layout.setSpacing(round(self.fontMetrics().height() / 2))
        self.rejected.connect(dialog.reject)

    def main(self, text: str) -> QPushButton:
        """Add what the dialog is for; Enter presses it."""
        button = self._add(text, _Role.AcceptRole)
        set_look(button, "kind", "primary")
        button.setDefault(True)
        return button

    def second(self, text: str) -> QPushButton:
        """Add another way to take what the dialog says."""
        return self._add(text, _Role.AcceptRole)

    def danger(self, text: str) -> QPushButton:
        """Add what can't be taken back."""
        button = self._add(text, _Role.DestructiveRole)
        set_look(button, "look", "danger")
        return button

    def other(self, text: str) -> QPushButton:
        """Add what leaves the dialog open; it stands apart from the others."""
        return self._add(text, _Role.ResetRole)

    def cancel(self) -> QPushButton:
        """Add the way out that changes nothing."""
        return self._standard(QDialogButtonBox.StandardButton.Cancel)

    def close_button(self) -> QPushButton:
        """Add the way out of a dialog that has nothing to take."""
        return self._standard(QDialogButtonBox.StandardButton.Close)

    def event(self, event: QEvent) -> bool:
        """Leave no button out of the tab order.

        Qt hands the keyboard from the box on to its default button, past those before it.
        """
        taken = super().event(event)
        if self.focusProxy() is not None:
            self.setFocusProxy(None)  # type: ignore[arg-type]
        return taken

    def _add(self, text: str, role: QDialogButtonBox.ButtonRole) -> QPushButton:
        button = QPushButton(text, self)
        self.addButton(button, role)
        return button

    def _standard(self, kind: QDialogButtonBox.StandardButton) -> QPushButton:
        return self.addButton(kind)

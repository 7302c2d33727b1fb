"""Asks before a link is opened, and shows where it really leads."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, Qt, QUrl
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox, QWidget

__all__ = ["confirm_link", "shown_address"]


def shown_address(href: str) -> str:
    """Return an address so that it can't be mistaken: hosts in ASCII, nothing invisible."""
    return bytes(QUrl(href).toEncoded(QUrl.ComponentFormattingOption.FullyEncoded).data()).decode(
        "ascii", "replace"
    )


def confirm_link(parent: QWidget, href: str, opened: Callable[[str], None]) -> QMessageBox | None:
    """Show an address and call ``opened`` with it when the user wants to go there.

    Returns the dialog, or None when the address may not be opened at all.
    """
    from app.ui.transcript.markdown import is_safe_link

    if not is_safe_link(href) or not QUrl(href).isValid():
        return None

    def tr(text: str) -> str:
        return QCoreApplication.translate("LinkDialog", text)

    address = shown_address(href)
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle(tr("Open this link?"))
    box.setIcon(QMessageBox.Icon.Question)
    box.setTextFormat(Qt.TextFormat.PlainText)
    host = QUrl(href).host(QUrl.ComponentFormattingOption.FullyEncoded)
    box.setText(
        tr("Open {host} in your browser?").format(host=host)
        if host
        else tr("Write a mail to this address?")
    )
    # Long addresses are broken so that the dialog stays on the screen; nothing is left out
    # up to 2,000 characters.
    lines = [address[at : at + 80] for at in range(0, min(len(address), 2000), 80)]
    box.setInformativeText("\n".join(lines) + ("\n…" if len(address) > 2000 else ""))
    box.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    open_button = box.addButton(tr("Open"), QMessageBox.ButtonRole.AcceptRole)
    copy_button = box.addButton(tr("Copy address"), QMessageBox.ButtonRole.ActionRole)
    cancel = box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)
    open_button.clicked.connect(lambda: opened(address))
    copy_button.clicked.connect(lambda: QGuiApplication.clipboard().setText(address))
    box.open()
    return box

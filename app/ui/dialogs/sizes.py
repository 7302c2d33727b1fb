"""How large a dialog opens: as designed, but never beyond its screen."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog

from app.ui.theme import Theme

__all__ = ["open_size"]

_EDGE_PX = 40  # the window manager's frame and title, which Qt does not know before it is shown


def open_size(dialog: QDialog, theme: Theme, width: int, height: int) -> None:
    """Resize a dialog to design pixels, scaled with the text, within the screen's free area."""
    parent = dialog.parentWidget()
    room = (parent or dialog).screen().availableGeometry()
    dialog.resize(
        min(theme.px(width), room.width() - _EDGE_PX),
        min(theme.px(height), room.height() - _EDGE_PX),
    )

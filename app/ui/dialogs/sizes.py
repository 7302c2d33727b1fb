"""How large a dialog opens: as designed, but beyond neither its screen nor its window."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QDialog

from app.ui.theme import Theme

__all__ = ["open_size"]

_EDGE_PX = 40  # the window manager's frame and title, which Qt does not know before it is shown
_LEAST = QSize(560, 420)  # below this a dialog is of no use, whatever its window


def open_size(dialog: QDialog, theme: Theme, width: int, height: int) -> None:
    """Resize a dialog to design pixels, scaled with the text, within the room that there is.

    That is the screen's free area, and of it the window the dialog belongs to: enlarged text must
    not make a dialog of a small window larger than the window itself.
    """
    parent = dialog.parentWidget()
    free = (parent or dialog).screen().availableGeometry().size()
    room = free - QSize(_EDGE_PX, _EDGE_PX)
    if parent is not None:
        room = room.boundedTo(parent.window().size().expandedTo(_LEAST))
    dialog.resize(QSize(theme.px(width), theme.px(height)).boundedTo(room))

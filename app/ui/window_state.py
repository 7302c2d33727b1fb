"""Where the window stands at first, and what is kept of it from one run to the next."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QMargins, QRect, QSize, QTimer
from PySide6.QtWidgets import QStyle, QWidget

__all__ = ["WindowState", "inner_rect", "pack_state", "place_at_first", "unpack_state"]

_FIRST = QSize(1440, 900)
_FRAMED_MS = 250  # window managers put the frame on some time after the window was shown


@dataclass(frozen=True, slots=True)
class WindowState:
    """Qt's own record of the geometry, which columns the user wants, and the inspector's width.

    That is in design pixels; None is the usual one.
    """

    geometry: bytes
    sidebar: bool = True
    inspector: bool = True
    inspector_px: int | None = None


def pack_state(state: WindowState) -> bytes:
    """Return a state as it is stored."""
    values = {
        "geometry": base64.b64encode(state.geometry).decode("ascii"),
        "sidebar": state.sidebar,
        "inspector": state.inspector,
        "inspector_px": state.inspector_px,
    }
    return json.dumps(values).encode("utf-8")


def unpack_state(data: bytes) -> WindowState | None:
    """Return what `pack_state` packed, None for anything else."""
    try:
        values: Any = json.loads(data.decode("utf-8"))
        geometry = base64.b64decode(values["geometry"], validate=True)
        sidebar, inspector = values["sidebar"], values["inspector"]
        width = values.get("inspector_px")  # earlier versions kept none
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error):
        return None
    known = isinstance(width, int) and not isinstance(width, bool)
    return WindowState(
        geometry, sidebar is not False, inspector is not False, width if known else None
    )


def inner_rect(wanted: QRect, room: QRect, frame: QMargins) -> QRect:
    """Return a window's inside as wanted, moved and shrunk so that its frame lies in the room.

    All in pixels of the screen; ``frame`` is how far the frame reaches beyond the inside.
    """
    free = room.marginsRemoved(frame)
    width, height = min(wanted.width(), free.width()), min(wanted.height(), free.height())
    left = min(max(wanted.left(), free.left()), free.left() + free.width() - width)
    top = min(max(wanted.top(), free.top()), free.top() + free.height() - height)
    return QRect(left, top, width, height)


def place_at_first(window: QWidget) -> None:
    """Give a window that was never open its size: with its frame it fits onto the screen."""
    room = window.screen().availableGeometry()
    # The frame isn't known before the window is shown; a title bar's height is a good guess.
    bar = window.style().pixelMetric(QStyle.PixelMetric.PM_TitleBarHeight)
    size = inner_rect(QRect(room.topLeft(), _FIRST), room, QMargins(0, bar, 0, 0)).size()
    window.resize(size)
    QTimer.singleShot(_FRAMED_MS, window, lambda: _keep_on_screen(window, size))


def _keep_on_screen(window: QWidget, size: QSize) -> None:
    """Mend what the guess of the frame got wrong, unless the window was given another size."""
    handle = window.windowHandle()
    if handle is None or not window.isVisible() or window.size() != size:
        return
    frame, inside = handle.frameMargins(), window.geometry()
    fitted = inner_rect(inside, window.screen().availableGeometry(), frame)
    if fitted != inside:
        window.setGeometry(fitted)

"""A frameless pop-up with a rounded card; its corners show what lies behind it, on any screen."""

from __future__ import annotations

import ctypes
import logging

from PySide6.QtCore import QRectF, Qt, Slot
from PySide6.QtGui import (
    QGuiApplication,
    QNativeInterface,
    QPainterPath,
    QRegion,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from app.ui.theme import ThemeManager

__all__ = ["Popup", "blends_windows"]

log = logging.getLogger(__name__)

_RADIUS_PX = 12  # as the style sheet rounds `#popup`


def blends_windows() -> bool:
    """Tell whether what lies behind a window shows through where it is transparent.

    On all platforms it does, but for an X server without a compositing manager: there what is
    transparent is black.
    """
    if QGuiApplication.platformName() != "xcb":
        return True
    app = QGuiApplication.instance()
    native = app.nativeInterface() if isinstance(app, QGuiApplication) else None
    if not isinstance(native, QNativeInterface.QX11Application):
        return False
    try:
        x11 = ctypes.CDLL("libX11.so.6")
    except OSError as error:
        log.info("pop-ups get plain corners: %s", error)
        return False
    x11.XInternAtom.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int)
    x11.XInternAtom.restype = ctypes.c_ulong
    x11.XGetSelectionOwner.argtypes = (ctypes.c_void_p, ctypes.c_ulong)
    x11.XGetSelectionOwner.restype = ctypes.c_ulong
    x11.XDefaultScreen.argtypes = (ctypes.c_void_p,)
    display = native.display()
    # A compositing manager owns the selection of this name while it runs.
    name = f"_NET_WM_CM_S{x11.XDefaultScreen(display)}".encode()
    return bool(x11.XGetSelectionOwner(display, x11.XInternAtom(display, name, 0)))


class Popup(QFrame):
    """Holds `card`, which what the pop-up shows is put into."""

    def __init__(self, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self._themes = themes
        self._is_blended = blends_windows()
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground, self._is_blended)
        self.card = QFrame(self)
        self.card.setObjectName("popup")
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.card)
        themes.changed.connect(self._cut_corners)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Cut the corners off at another size."""
        super().resizeEvent(event)
        self._cut_corners()

    def showEvent(self, event: QShowEvent) -> None:
        """Cut the corners off before it is seen."""
        super().showEvent(event)
        self._cut_corners()

    @Slot()
    def _cut_corners(self) -> None:
        """Take the corners from the window where they could not be seen through."""
        if self._is_blended:
            return
        radius = self._themes.theme.px(_RADIUS_PX)
        path = QPainterPath()
        path.addRoundedRect(QRectF(self.rect()), radius, radius)
        self.setMask(QRegion(path.toFillPolygon().toPolygon()))

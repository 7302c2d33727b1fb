"""Line icons of the transcript, drawn from paths so that they take any colour and size.

Glyphs such as "⎘" are missing from many fonts; a path looks the same everywhere.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

__all__ = ["icon_pixmap"]

_PATHS: Final = {
    "regenerate": '<path d="M13 8a5 5 0 1 1-1.6-3.7"/><path d="M13.2 2.2v2.9h-2.9"/>',
    "regenerate_with": '<path d="M2.5 5h8.8M9 2.6 11.4 5 9 7.4M13.5 11H4.7M7 8.6 4.6 11 7 13.4"/>',
    "several": '<path d="M2.2 8h11.6M5 8l3.4-4.2h5.4M5 8l3.4 4.2h5.4"/>',
    "edit": '<path d="M10.8 2.9 13.1 5.2 5.6 12.7 2.7 13.3 3.3 10.4zM9.3 4.4l2.3 2.3"/>',
    "copy": '<rect x="5.5" y="5.5" width="7.8" height="7.8" rx="1.6"/>'
    '<path d="M3.6 10.4h-.2a1 1 0 0 1-1-1V3.6a1.2 1.2 0 0 1 1.2-1.2h5.8a1 1 0 0 1 1 1v.2"/>',
    "check": '<path d="M3 8.6 6.4 12 13 4.6"/>',
    "continue": '<path d="M3 3.6 7.6 8 3 12.4M8.4 3.6 13 8l-4.6 4.4"/>',
    "delete": '<path d="M2.8 4.4h10.4M6.2 4.2V2.8h3.6v1.4M4.2 4.6l.6 8.6h6.4l.6-8.6"/>',
    "previous": '<path d="M9.8 3.6 5.6 8l4.2 4.4"/>',
    "next": '<path d="M6.2 3.6 10.4 8l-4.2 4.4"/>',
    "down": '<path d="M8 2.8v10M3.8 8.8 8 13l4.2-4.2"/>',
    "folded": '<path d="M6 4l4 4-4 4"/>',
    "unfolded": '<path d="M4 6l4 4 4-4"/>',
    "warning": '<path d="M8 2.4 14.2 13H1.8z"/><path d="M8 6.4v3.2M8 11.2v.1"/>',
    "stopped": '<circle cx="8" cy="8" r="5.8"/><rect x="6" y="6" width="4" height="4" rx=".6"/>',
    "cut": '<circle cx="4" cy="4.4" r="1.7"/><circle cx="4" cy="11.6" r="1.7"/>'
    '<path d="M5.4 5.4 13.2 11.6M5.4 10.6 13.2 4.4"/>',
    "info": '<circle cx="8" cy="8" r="5.8"/><path d="M8 7.4v3.6M8 5v.1"/>',
    "file": '<path d="M4 2.4h5l3 3v8.2H4z"/><path d="M9 2.6v3h3"/>',
}


@lru_cache(maxsize=256)
def _pixmap(name: str, rgb: str, size: int, ratio: float) -> QPixmap:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" '
        f'stroke="{rgb}" stroke-width="1.35" stroke-linecap="round" stroke-linejoin="round">'
        f"{_PATHS[name]}</svg>"
    )
    device = max(round(size * ratio), 1)
    pixmap = QPixmap(device, device)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(svg.encode())).render(painter, QRectF(0, 0, device, device))
    painter.end()
    pixmap.setDevicePixelRatio(ratio)
    return pixmap


def icon_pixmap(name: str, colour: QColor, size: int, ratio: float) -> QPixmap:
    """Return an icon of ``size`` logical pixels for a screen of that pixel ratio."""
    return _pixmap(name, colour.name(), size, ratio)

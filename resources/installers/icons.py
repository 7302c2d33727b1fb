"""The program's icon in every size and container that systems ask for, from one drawing.

PNG files go to Linux' icon folders, one ``.ico`` to Windows, one ``.icns`` to macOS; the last two
are containers of PNG files (Microsoft's ICONDIR, Apple's icon family).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from resources.loader import read_bytes

__all__ = ["LINUX_SIZES", "as_icns", "as_ico", "png", "write_icons"]

LINUX_SIZES: Final = (16, 22, 24, 32, 48, 64, 96, 128, 256, 512)
_ICO_SIZES: Final = (16, 20, 24, 32, 40, 48, 64, 128, 256)
_ICNS_TYPES: Final[dict[str, int]] = {
    # Apple's types of PNG entries, with the edge in pixels
    "icp4": 16, "icp5": 32, "icp6": 64, "ic07": 128, "ic08": 256, "ic09": 512, "ic10": 1024,
    "ic11": 32, "ic12": 64, "ic13": 256, "ic14": 512,
}  # fmt: skip


def png(size_px: int) -> bytes:
    """Return the icon as PNG with an edge of so many pixels."""
    image = QImage(size_px, size_px, QImage.Format.Format_ARGB32)
    image.fill(0)
    renderer = QSvgRenderer(QByteArray(read_bytes("icons/app-icon.svg")))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    renderer.render(painter, QRectF(0, 0, size_px, size_px))
    painter.end()
    written = QByteArray()
    buffer = QBuffer(written)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    buffer.close()
    return bytes(written.data())


def as_ico(pictures: Mapping[int, bytes]) -> bytes:
    """Return a Windows icon of PNG pictures by size (at most 256 pixels)."""
    offset = 6 + 16 * len(pictures)
    head, body = struct.pack("<HHH", 0, 1, len(pictures)), b""
    for size, data in sorted(pictures.items()):
        edge = size % 256  # 256 is written as 0
        head += struct.pack("<BBBBHHII", edge, edge, 0, 0, 1, 32, len(data), offset + len(body))
        body += data
    return head + body


def as_icns(pictures: Mapping[str, bytes]) -> bytes:
    """Return a macOS icon of PNG pictures by Apple's type."""
    body = b"".join(
        kind.encode() + struct.pack(">I", 8 + len(data)) + data for kind, data in pictures.items()
    )
    return b"icns" + struct.pack(">I", 8 + len(body)) + body


def write_icons(folder: Path) -> None:
    """Write ``plimsoll.ico``, ``plimsoll.icns`` and ``SIZE.png`` for Linux into a folder."""
    for size in LINUX_SIZES:
        (folder / f"{size}.png").write_bytes(png(size))
    (folder / "plimsoll.ico").write_bytes(as_ico({size: png(size) for size in _ICO_SIZES}))
    icns = {kind: png(size) for kind, size in _ICNS_TYPES.items()}
    (folder / "plimsoll.icns").write_bytes(as_icns(icns))

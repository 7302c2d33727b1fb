from __future__ import annotations

import struct
from pathlib import Path

from PySide6.QtGui import QImage, QImageReader

from resources.installers.icons import LINUX_SIZES, as_ico, png, write_icons


def test_the_icon_is_drawn_in_each_size(tmp_path: Path) -> None:
    write_icons(tmp_path)
    for size in LINUX_SIZES:
        image = QImage(str(tmp_path / f"{size}.png"))
        assert (image.width(), image.height()) == (size, size)
        assert image.pixelColor(0, 0).alpha() == 0  # round corners
        assert image.pixelColor(size // 2, size // 2).alpha() == 255
        colours = {image.pixel(x, y) for x in range(size) for y in range(size)}
        assert len(colours) > 8


def test_two_drawings_are_the_same() -> None:
    assert png(64) == png(64)


def test_windows_gets_pictures_in_one_file() -> None:
    data = as_ico({256: b"large", 16: b"small"})
    kind, count = struct.unpack_from("<HH", data, 2)
    assert (kind, count) == (1, 2)
    for number, (edge, content) in enumerate([(16, b"small"), (0, b"large")]):
        row = struct.unpack_from("<BBBBHHII", data, 6 + 16 * number)
        assert row[0] == row[1] == edge
        assert data[row[7] : row[7] + row[6]] == content


def test_windows_icon_is_one_that_a_reader_accepts(tmp_path: Path) -> None:
    write_icons(tmp_path)
    reader = QImageReader(str(tmp_path / "plimsoll.ico"))
    edges = set()
    for number in range(reader.imageCount()):
        assert reader.jumpToImage(number)
        edges.add(reader.read().width())
    assert {16, 32, 48, 256} <= edges


def test_macos_gets_all_of_apples_sizes(tmp_path: Path) -> None:
    write_icons(tmp_path)
    data = (tmp_path / "plimsoll.icns").read_bytes()
    assert data[:4] == b"icns"
    assert struct.unpack(">I", data[4:8])[0] == len(data)
    edges, at = {}, 8
    while at < len(data):
        length = struct.unpack(">I", data[at + 4 : at + 8])[0]
        picture = QImage.fromData(data[at + 8 : at + length])
        edges[data[at : at + 4]] = picture.width()
        at += length
    assert edges[b"ic07"] == 128
    assert edges[b"ic10"] == 1024
    assert min(edges.values()) == 16

from __future__ import annotations

import pytest
from PySide6.QtCore import QMargins, QPoint, QRect
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.ui.window_state import (
    WindowState,
    inner_rect,
    pack_state,
    place_at_first,
    unpack_state,
)


@pytest.mark.parametrize("sidebar", [True, False])
@pytest.mark.parametrize("inspector", [True, False])
def test_what_was_packed_comes_back(sidebar: bool, inspector: bool) -> None:
    for width in (None, 480):
        state = WindowState(b"\x01\xd9\xd0\xcb\x00", sidebar, inspector, width)
        assert unpack_state(pack_state(state)) == state


@pytest.mark.parametrize("width", [b"", b', "inspector_px": "wide"', b', "inspector_px": true'])
def test_a_state_without_a_width_has_the_usual_one(width: bytes) -> None:
    kept = b'{"geometry": "AA==", "sidebar": true, "inspector": false' + width + b"}"
    assert unpack_state(kept) == WindowState(b"\x00", True, False, None)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b"[]",
        b"{}",
        b'{"geometry": "not base64!", "sidebar": true, "inspector": true}',
        b'{"geometry": 4, "sidebar": true, "inspector": true}',
        b'{"geometry": "AA=="}',
        b"[" * 100_000,
    ],
)
def test_anything_else_is_no_state(data: bytes) -> None:
    assert unpack_state(data) is None


@pytest.mark.parametrize(
    ("wanted", "fitted"),
    [
        ((0, 0, 1440, 900), (1, 25, 1438, 874)),  # all of the screen: room for the frame is left
        ((100, 100, 800, 600), (100, 100, 800, 600)),
        ((900, 500, 800, 600), (639, 299, 800, 600)),  # moved before it is shrunk
    ],
)
def test_a_window_keeps_its_frame_on_the_screen(
    wanted: tuple[int, int, int, int], fitted: tuple[int, int, int, int]
) -> None:
    room, frame = QRect(0, 0, 1440, 900), QMargins(1, 25, 1, 1)
    assert inner_rect(QRect(*wanted), room, frame) == QRect(*fitted)


def test_first_window_fits_onto_the_screen_with_its_frame(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    place_at_first(window)
    window.move(window.screen().availableGeometry().topLeft() + QPoint(5, 5))
    window.show()
    room = window.screen().availableGeometry()
    assert room.width() < 1440  # the offscreen platform's screen is a small one
    assert not room.contains(window.frameGeometry())
    qtbot.waitUntil(lambda: room.contains(window.frameGeometry()))
    assert window.frameGeometry().width() == room.width()


def test_size_that_was_given_meanwhile_stays(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    place_at_first(window)
    window.resize(1440, 900)
    window.show()
    qtbot.wait(400)
    assert (window.width(), window.height()) == (1440, 900)

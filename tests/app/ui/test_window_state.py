from __future__ import annotations

import pytest

from app.ui.window_state import WindowState, pack_state, unpack_state


@pytest.mark.parametrize("sidebar", [True, False])
@pytest.mark.parametrize("inspector", [True, False])
def test_what_was_packed_comes_back(sidebar: bool, inspector: bool) -> None:
    state = WindowState(b"\x01\xd9\xd0\xcb\x00", sidebar, inspector)
    assert unpack_state(pack_state(state)) == state


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

"""What is kept of the window from one run to the next: its place, its size, its columns."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any

__all__ = ["WindowState", "pack_state", "unpack_state"]


@dataclass(frozen=True, slots=True)
class WindowState:
    """Qt's own record of the geometry, and which columns the user wants."""

    geometry: bytes
    sidebar: bool = True
    inspector: bool = True


def pack_state(state: WindowState) -> bytes:
    """Return a state as it is stored."""
    values = {
        "geometry": base64.b64encode(state.geometry).decode("ascii"),
        "sidebar": state.sidebar,
        "inspector": state.inspector,
    }
    return json.dumps(values).encode("utf-8")


def unpack_state(data: bytes) -> WindowState | None:
    """Return what `pack_state` packed, None for anything else."""
    try:
        values: Any = json.loads(data.decode("utf-8"))
        geometry = base64.b64decode(values["geometry"], validate=True)
        sidebar, inspector = values["sidebar"], values["inspector"]
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error):
        return None
    return WindowState(geometry, sidebar is not False, inspector is not False)

"""How the disk image looks; read by dmgbuild, which hands in ``defines``."""

from pathlib import Path
from typing import Any

defines: dict[str, Any] = globals().get("defines", {})
_app = str(defines.get("app", "Plimsoll.app"))
_name = Path(_app).name

format = "UDZO"  # noqa: A001 - dmgbuild's own name
files = [_app]
symlinks = {"Applications": "/Applications"}
icon = defines.get("icon")
icon_locations = {_name: (160, 170), "Applications": (440, 170)}
window_rect = ((200, 200), (600, 380))
default_view = "icon-view"
icon_size = 112
text_size = 13

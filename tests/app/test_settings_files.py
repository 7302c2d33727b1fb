from __future__ import annotations

import os
import time
from pathlib import Path

from app.settings.files import atomic_write, sweep


def test_halves_of_killed_writers_go_and_nothing_else(tmp_path: Path) -> None:
    atomic_write(tmp_path / "settings.json", b"{}")
    old, young = tmp_path / "settings.json1a2b.new", tmp_path / "state.json3c4d.new"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    os.utime(tmp_path / "settings.json", (time.time() - 7200,) * 2)
    (tmp_path / "folder.new").mkdir()
    os.utime(tmp_path / "folder.new", (time.time() - 7200,) * 2)
    assert sweep(tmp_path) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "folder.new",
        "settings.json",
        "state.json3c4d.new",
    ]
    assert sweep(tmp_path / "nothing") == 0

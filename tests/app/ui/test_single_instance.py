from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.ui.single_instance import SingleInstance

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has named pipes")


def test_socket_lies_in_the_data_folder_for_its_user_alone(tmp_path: Path, qtbot: Any) -> None:
    first = SingleInstance(tmp_path)
    assert first.listen()
    try:
        (socket,) = [path for path in tmp_path.iterdir() if path.is_socket()]
        assert not stat.S_IMODE(socket.stat().st_mode) & 0o077
    finally:
        first.close()
        first.deleteLater()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_too_deep_for_a_socket_has_it_elsewhere(tmp_path: Path, qtbot: Any) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    first = SingleInstance(deep)
    assert first.listen()
    try:
        assert list(deep.iterdir()) == []
        with qtbot.waitSignal(first.asked, timeout=10_000) as asked:
            code = (
                "import sys; from pathlib import Path; from PySide6.QtCore import QCoreApplication;"
                "from app.ui.single_instance import SingleInstance; app = QCoreApplication([]);"
                "print(SingleInstance(Path(sys.argv[1])).hand_over('/m.gguf'))"
            )
            other = subprocess.Popen(
                [sys.executable, "-c", code, str(deep)], stdout=subprocess.PIPE, text=True
            )
        assert asked.args == ["/m.gguf"]
        said, _ = other.communicate(timeout=20)
        assert said.strip() == "True"
    finally:
        first.close()
        first.deleteLater()

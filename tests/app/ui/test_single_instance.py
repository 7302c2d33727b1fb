from __future__ import annotations

import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from app.ui.single_instance import SingleInstance
from tests.helpers.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has named pipes")


def test_socket_lies_in_the_data_folder_for_its_user_alone(tmp_path: Path, qtbot: Any) -> None:
    first = SingleInstance(tmp_path)
    assert first.listen()
    try:
        (place,) = [path for path in tmp_path.iterdir() if path.is_socket()]
        assert not stat.S_IMODE(place.stat().st_mode) & 0o077
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
        with qtbot.waitSignal(first.asked) as asked:
            code = (
                "import sys; from pathlib import Path; from PySide6.QtCore import QCoreApplication;"
                "from app.ui.single_instance import SingleInstance; app = QCoreApplication([]);"
                "print(SingleInstance(Path(sys.argv[1])).hand_over('/m.gguf'))"
            )
            other = subprocess.Popen(
                [sys.executable, "-c", code, str(deep)], stdout=subprocess.PIPE, text=True
            )
        assert asked.args == ["/m.gguf"]
        said, _ = other.communicate(timeout=PATIENCE_S)
        assert said.strip() == "True"
    finally:
        first.close()
        first.deleteLater()


def test_a_busy_window_is_waited_for(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from PySide6.QtCore import QCoreApplication;"
        "from app.ui import single_instance; app = QCoreApplication([]);"
        "single_instance._WAIT_MS = 20;"  # it connects at once, as ever
        "print(single_instance.SingleInstance(Path(sys.argv[1])).hand_over('/m.gguf'))"
    )
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "window.socket"))
        listener.listen()
        other = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        stream, _ = listener.accept()
        with stream:
            asked = stream.recv(1000)
            time.sleep(0.2)  # longer than it may take to connect
            stream.sendall(b"ok\n")
            said, _ = other.communicate(timeout=PATIENCE_S)
    assert said.strip() == "True"
    assert asked == b'{"model": "/m.gguf"}\n'

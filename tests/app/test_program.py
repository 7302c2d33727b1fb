from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.data.hub.child import child_argv
from app.engine.launch import worker_argv
from app.engine.templates.renderer import argv
from app.program import own_command


def test_from_source_python_runs_the_package() -> None:
    assert own_command("--worker") == [sys.executable, "-m", "app", "--worker"]


def test_a_built_program_runs_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", "/opt/plimsoll/plimsoll")
    for command in (worker_argv(), argv(), child_argv()):
        assert command[0] == "/opt/plimsoll/plimsoll"
        assert len(command) == 2
        assert command[1].startswith("--")


def test_on_windows_the_program_with_streams_serves_the_window(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "plimsoll-window.exe"))
    assert own_command("--worker") == [str(tmp_path / "plimsoll-window.exe"), "--worker"]
    (tmp_path / "plimsoll.exe").touch()
    assert own_command("--worker") == [str(tmp_path / "plimsoll.exe"), "--worker"]

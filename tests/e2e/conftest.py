"""Whole programs over the scripted engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.paths import Paths
from tests.app.engine.conftest import fake_script, faults
from tests.helpers.window import Program

__all__ = ["fake_script", "faults", "model", "open_program"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A file that stands for a model of the scripted engine."""
    path = tmp_path / "Fake-1B-Q4_0.gguf"
    path.write_bytes(b"fake")
    return path


@pytest.fixture
def open_program(qtbot: Any, paths: Paths) -> Iterator[Callable[..., Program]]:
    """Open the program on this test's data folder, as often as wanted; all are closed."""
    opened: list[Program] = []

    def make(model: Path | None = None) -> Program:
        program = Program(qtbot, paths, model)
        opened.append(program)
        return program

    yield make
    for program in opened:
        program.close()

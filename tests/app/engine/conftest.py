"""Engines for tests: the scripted fake, the real one with tiny and real models, two clients."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from app.engine.launch import FAKE_ENGINE_VARIABLE, FAULTS_VARIABLE
from tests.helpers.engine import BlockingDriver, Driver, QtDriver


class FakeScript(Protocol):
    def __call__(self, **values: Any) -> Path: ...


@pytest.fixture
def fake_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeScript:
    """Write a script for the fake engine; workers started after this follow it."""

    def write(**values: Any) -> Path:
        path = tmp_path / "script.json"
        path.write_text(json.dumps(values))
        monkeypatch.setenv(FAKE_ENGINE_VARIABLE, str(path))
        return path

    return write


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow workers to misbehave on demand."""
    monkeypatch.setenv(FAULTS_VARIABLE, "1")


@pytest.fixture(params=["subprocess", "qprocess"])
def make_driver(request: pytest.FixtureRequest) -> Iterator[Callable[[], Driver]]:
    """Start engines through either client."""
    made: list[Driver] = []
    qtbot = request.getfixturevalue("qtbot") if request.param == "qprocess" else None

    def make() -> Driver:
        driver: Driver = BlockingDriver() if qtbot is None else QtDriver(qtbot)
        made.append(driver)
        return driver

    yield make
    for driver in made:
        driver.close()

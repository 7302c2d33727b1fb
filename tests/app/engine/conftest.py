"""Engines for tests: the scripted fake, the real one with tiny and real models, two clients."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from app.engine.launch import FAKE_ENGINE_VARIABLE, FAULTS_VARIABLE
from app.engine.templates.renderer import TemplateRenderer
from tests.helpers.engine import BlockingDriver, Driver, QtDriver
from tests.helpers.rpc_server import RpcServer, rpc_server
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model


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


@pytest.fixture
def driver() -> Iterator[BlockingDriver]:
    """Return a worker of its own, without a model."""
    driver = BlockingDriver()
    yield driver
    driver.close()


@pytest.fixture(scope="module")
def renderer() -> Iterator[TemplateRenderer]:
    """Return what renders templates in its child, which has started."""
    with TemplateRenderer() as renderer:
        renderer.render("", {})
        yield renderer


@pytest.fixture(scope="module")
def server() -> Iterator[RpcServer]:
    """Return a running RPC server of this computer."""
    with rpc_server() as running:
        yield running


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a scripted model of six layers, to be spread over devices."""
    words = tuple(f" word{i}" for i in range(30))
    shape = TinyModel(layers=6, script=(*words, "<|im_end|>"), embedding=128, feed_forward=256)
    return write_tiny_model(tmp_path / "six.gguf", shape)

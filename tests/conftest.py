"""Every test runs offscreen, in a data folder of its own, and leaves nothing behind."""

from __future__ import annotations

import gc
import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ.setdefault("QT_LOGGING_RULES", "qt.qpa.fonts=false")

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.paths import DATA_DIR_VARIABLE, Paths, default_paths, starter_model
from tests.coverage import WATCH
from tests.helpers.patience import PATIENCE_S
from tests.helpers.patient_bot import PatientBot

_OLD = 20
"""Looks at the young objects between two looks at all."""


def pytest_configure(config: pytest.Config) -> None:
    if WATCH is not None:
        config.pluginmanager.register(WATCH, "coverage-watch")


@pytest.fixture(autouse=True)
def paths(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Paths:
    """Data folder of this test alone; the program finds it by its variable."""
    folder = tmp_path_factory.mktemp("data")
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(folder))
    found = default_paths()
    found.make()
    return found


@pytest.fixture(autouse=True)
def collected_between_tests() -> Iterator[None]:
    """Cycles are collected here, as the program does in the window's thread.

    The interpreter would do so in whatever thread happens to make an object, and a widget of an
    earlier test that is destroyed there ends the process.
    """
    gc.disable()
    yield
    gc.collect(2 if gc.get_count()[2] > _OLD else 1)


@pytest.fixture
def qtbot(qapp: object, request: pytest.FixtureRequest) -> PatientBot:
    """The usual one, which waits longer: a machine that is busy is no fault of the program."""
    return PatientBot(request)


@pytest.fixture(scope="session")
def starter() -> Path:
    """The real model that the ``starter`` extra installs."""
    path = starter_model()
    assert path is not None, "install the starter extra: uv sync --extra starter"
    return path


@pytest.fixture(autouse=True)
def no_child_left() -> Iterator[None]:
    """A test that leaves a child process running has leaked an engine."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    yield
    left = [c for c in psutil.Process().children(recursive=True) if c.pid not in before]
    _gone, alive = psutil.wait_procs(left, timeout=PATIENCE_S)
    for child in alive:
        child.kill()
    assert not alive, f"child processes left running: {alive}"


@pytest.fixture(autouse=True)
def no_widget_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """A top-level widget or a running timer that outlives its test breaks a later one.

    So does a button that is still held: the later one's pointer drags where it only moves.
    """
    yield
    if "qapp" not in request.fixturenames and "qtbot" not in request.fixturenames:
        return
    from PySide6.QtCore import QCoreApplication, QEvent, Qt
    from PySide6.QtWidgets import QApplication

    app = QApplication.instance()
    if not isinstance(app, QApplication):
        return
    for _ in range(3):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()
    left = [w for w in app.topLevelWidgets() if w.isVisible()]
    for widget in left:
        widget.close()
        widget.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert not left, f"windows left open: {left}"
    assert app.mouseButtons() == Qt.MouseButton.NoButton, "a button of the mouse is left pressed"

"""The start: a window that takes keys at once, and all that is behind it a moment later."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEventLoop
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget

from app.data.conversations import ConversationStore
from app.data.state import StateFile
from app.paths import Paths
from app.ui.later import is_made
from tests.app.engine.conftest import FakeScript
from tests.helpers.patience import PATIENCE_S
from tests.helpers.start_child import BEGUN, NO_MODEL, OPEN
from tests.helpers.window import Program

ROOT = Path(__file__).parents[2]

# What an empty window that takes keys needs none of.
HEAVY = (
    "PySide6.QtSvgWidgets",
    "app.compare",
    "app.data.database",
    "app.data.hub",
    "app.data.library",
    "app.data.probe",
    "app.data.transfer",
    "app.engine.client",
    "app.ui.compare",
    "app.ui.dialogs.form",
    "app.ui.downloads",
    "app.ui.models",
    "app.ui.planner",
    "app.ui.presenters.compare",
    "app.ui.presenters.downloads",
    "app.ui.presenters.inspector",
    "app.ui.presenters.library",
    "app.ui.presenters.planner",
    "app.ui.presenters.tuning",
    "app.ui.shell.first_run",
    "app.ui.shell.model_picker",
    "app.ui.transcript.markdown",
    "app.ui.transcript.text_row",
    "email",
    "gguf_tools.compute",
    "gguf_tools.facts",
    "gguf_tools.plan",
    "huggingface_hub",
    "importlib.metadata",
    "inspector.findings",
    "inspector.panel",
    "inspector.views",
    "inspector.widgets.panel",
    "jinja2",
    "llama_cpp",
    "markdown_it",
    "numpy",
    "psutil",
    "pygments",
    "pypdf",
    "pyqtgraph",
    "sqlite3",
    "statistics",
    "ziamath",
)
# What may still be read when a page or a dialog is opened for the first time.
LATE_ENOUGH = 6


def turns(count: int) -> None:
    """Let the event loop turn some times."""
    app = QApplication.instance()
    assert app is not None
    for _ in range(count):
        app.processEvents(QEventLoop.ProcessEventsFlag.AllEvents)


def words(widget: QWidget) -> list[str]:
    """Return what a widget's labels say."""
    return [label.text() for label in widget.findChildren(QLabel)]


def warmed(program: Program) -> Program:
    program.until(lambda: not program.app.warm_up.is_running)
    return program


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a start in a process of its own tells."""
    return start(tmp_path_factory.mktemp("start"), opens=True)


def start(data: Path, *, opens: bool) -> dict[str, Any]:
    """Start the program on a data folder and return what it tells; all pages are opened or none."""
    environment = os.environ | {
        "PLIMSOLL_DATA_DIR": str(data),
        BEGUN: repr(time.time()),
        NO_MODEL: "1",
    }
    if opens:
        environment[OPEN] = "1"
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.start_child"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "propagateSizeHints" not in line]
    assert said == []  # that one is the offscreen platform's
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_key_stands_in_the_composer_before_anything_heavy_is_read(told: dict[str, Any]) -> None:
    early = set(told["modules"])
    assert sorted(early.intersection(HEAVY)) == []
    assert len(early) < 400


def test_the_chat_that_was_open_last_comes_after_the_first_key(
    told: dict[str, Any], tmp_path: Path
) -> None:
    paths = Paths(tmp_path, tmp_path / "cache")
    store = ConversationStore(paths.store)
    chat = store.create()
    asked = store.add_message(chat.id, None, "user", "Tell me **much**")
    store.add_message(chat.id, asked.id, "assistant", "| a | b |\n|---|---|\n| 1 | 2 |")
    store.close()
    StateFile(paths.state).set_last_chat(chat.id)
    again = start(tmp_path, opens=False)
    assert again["shown_chat"] == chat.id
    early = set(again["modules"])
    assert sorted(early.intersection(HEAVY)) == []
    assert early - set(told["modules"]) == set()


def test_processor_time_until_keys_are_taken_keeps_within_bounds(told: dict[str, Any]) -> None:
    """Generous: bytecode may be forbidden here, and other tests run beside this one."""
    assert told["input_cpu_s"] < 1.2


def test_only_the_windows_thread_collects(told: dict[str, Any]) -> None:
    """The interpreter would do so in any thread, and destroy widgets there."""
    assert told["collects_by_itself"] is False


def test_opening_a_page_later_reads_next_to_nothing(told: dict[str, Any]) -> None:
    assert len(told["late_modules"]) <= LATE_ENOUGH, told["late_modules"]


@pytest.mark.parametrize("page", ["models", "compare", "planner"])
def test_a_page_asked_for_in_the_first_instant_is_there(
    page: str, open_program: Callable[..., Program], fake_script: FakeScript
) -> None:
    fake_script(replies=["a reply"])
    program = open_program()
    window = program.app.window
    assert program.app.warm_up.is_running
    (button,) = [
        button
        for button in window.sidebar.findChildren(QPushButton)
        if button.text().lower() == page
    ]
    button.click()
    assert window.page == page
    shown = window._stack.currentWidget()
    assert shown is window._stack.page(page)
    assert shown.isVisible()
    warmed(program)
    assert window.page == page
    assert window._stack.currentWidget() is shown
    again = [b for b in window.sidebar.findChildren(QPushButton) if b.text().lower() == page]
    assert again == [button]


def test_all_that_is_asked_for_in_the_first_instant_is_done(
    open_program: Callable[..., Program], fake_script: FakeScript
) -> None:
    fake_script(replies=["a reply"])
    program = open_program()
    window = program.app.window
    for key in ("get_models", "keyboard_map", "about", "settings", "choose_model"):
        window.actions_by_key[key].trigger()
    assert window.page == "get_models"
    titles = {
        type(widget).__name__ for widget in QApplication.topLevelWidgets() if widget.isVisible()
    }
    assert {"KeyboardMapDialog", "AboutDialog", "SettingsDialog", "ModelPicker"} <= titles
    for widget in QApplication.topLevelWidgets():
        if widget is not window:
            widget.close()
    warmed(program)


def test_keys_of_the_first_instant_are_kept(
    open_program: Callable[..., Program], fake_script: FakeScript
) -> None:
    fake_script(replies=["a reply"])
    program = open_program()
    edit = program.app.window.chat.composer.edit
    QTest.keyClicks(edit, "Hello ")
    turns(3)
    QTest.keyClicks(edit, "there")
    warmed(program)
    assert program.app.window.chat.composer.text() == "Hello there"


def test_a_model_chosen_in_the_first_instant_is_the_one_that_is_loaded(
    open_program: Callable[..., Program], fake_script: FakeScript, model: Path, tmp_path: Path
) -> None:
    fake_script(replies=["a reply"])
    program = open_program(model)
    other = tmp_path / "Other-1B-Q4_0.gguf"
    other.write_bytes(b"fake")
    program.app.window.model_wanted.emit(str(other))
    assert is_made(program.app, "inspector")
    program.ready()
    warmed(program)
    assert program.app.engine.state.path == str(other)
    # It was followed from its beginning: the panel knows how it was loaded.
    assert program.app.inspector.session.load is not None


def test_the_panel_takes_the_place_that_was_kept_for_it(
    open_program: Callable[..., Program], fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["a reply"])
    program = open_program(model)
    window = program.app.window
    turns(1)
    before = window.chat.geometry()
    assert window._slot.isVisible()
    warmed(program)
    assert is_made(program.app, "inspector")
    assert window._slot.isVisible()
    assert window.chat.geometry() == before


@pytest.mark.parametrize("count", [0, 1, 5, 30])
def test_closed_while_it_warms_up_it_leaves_nothing_behind(
    count: int, open_program: Callable[..., Program], fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["a reply"])
    program = open_program(model)
    turns(count)
    program.close()
    assert not program.app.warm_up.is_running
    assert program.app.engine.state.pid is None


def test_a_model_that_will_be_loaded_is_named_from_the_first_picture_on(
    open_program: Callable[..., Program], fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["a reply"])
    program = open_program(model)
    window = program.app.window
    assert "Fake 1B" in window.windowTitle() or "Fake-1B" in window.windowTitle()
    assert any("The model is loading" in text for text in words(window.chat.composer))
    assert any(text.startswith("Loading Fake") for text in words(window.chat.empty))
    program.ready()
    assert any(text.startswith("Ask ") for text in words(window.chat.empty))


def test_a_load_cancelled_in_the_first_instant_does_not_happen(
    open_program: Callable[..., Program], fake_script: FakeScript, model: Path
) -> None:
    fake_script(replies=["a reply"])
    program = open_program(model)
    window = program.app.window
    window.header.model.cancel_requested.emit()
    assert window.windowTitle() == "Plimsoll"
    assert "No model is loaded" in words(window.chat.empty)
    warmed(program)
    program.until(lambda: program.app.engine.state.status == "idle")
    turns(20)
    assert program.app.engine.state.path is None
    # Nothing is held against the model.
    assert program.app.models.may_load_by_itself(str(model))

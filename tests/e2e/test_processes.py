"""Programs as processes: killed windows, second starts, no screen, what a start imports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from app.data.conversations import ConversationStore
from app.paths import Paths
from app.ui.single_instance import SingleInstance
from tests.app.engine.conftest import FakeScript
from tests.helpers.patience import PATIENCE_S
from tests.helpers.window import Program

ROOT = Path(__file__).resolve().parents[2]
LONG = " ".join(f"w{i}" for i in range(3000))


def _python(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_killed_window_loses_at_most_a_second_of_a_reply(
    fake_script: FakeScript, model: Path, paths: Paths, open_program: Callable[..., Program]
) -> None:
    fake_script(replies=[LONG], decode_per_s=200)
    process = _python("-m", "tests.helpers.window", str(model), "Tell me much")
    assert process.stdout is not None
    shown: list[tuple[float, int]] = []  # when, and how many characters
    for line in process.stdout:
        said = json.loads(line)
        shown.append((said["at_s"], said["chars"]))
        if said["chars"] > 1500:
            break
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    _, alive = psutil.wait_procs(children, timeout=PATIENCE_S)
    assert not alive  # the worker ends with its window

    store = ConversationStore(paths.store, read_only=True)
    (chat,) = store.list_all()
    question, reply = store.path(chat.id)
    store.close()
    assert question.text == "Tell me much"
    assert LONG.startswith(reply.text)
    killed_s = shown[-1][0]  # or later
    old = [chars for at_s, chars in shown if at_s < killed_s - 1.5]
    assert len(reply.text) >= max(old, default=1)

    program = open_program()
    program.until(lambda: bool(program.app.chats.conversations))
    program.app.chats.open(chat.id)
    program.until(lambda: len(program.app.controller.path) == 2)
    assert program.app.controller.path[-1].state == "interrupted"
    assert program.texts()[-1] == reply.text


def test_without_a_screen_one_sentence_names_the_terminal_chat(paths: Paths) -> None:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}
    }
    done = subprocess.run(
        [sys.executable, "-m", "app"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "plimsoll chat" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("app.cli", {"PySide6", "llama_cpp", "numpy"}),
        ("app.engine.client", {"PySide6", "llama_cpp"}),
        ("app.engine.worker", {"PySide6", "llama_cpp"}),
        (
            "app.ui.application",
            {
                "llama_cpp",
                "pyqtgraph",
                "numpy",
                "ziamath",
                "pypdf",
                "huggingface_hub",
                "httpx2",
                "jinja2",
            },
        ),
    ],
)
def test_start_imports_nothing_that_it_does_not_need(module: str, unwanted: set[str]) -> None:
    code = f"import {module}, sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert not loaded & unwanted


def test_a47_second_start_hands_its_file_over(
    open_program: Callable[..., Program], fake_script: FakeScript, model: Path, paths: Paths
) -> None:
    fake_script(replies=["ok"])
    program = open_program()
    first = SingleInstance(paths.data)
    first.asked.connect(program.app.raise_window)
    assert first.listen()
    other = _python("-m", "app", str(model), QT_QPA_PLATFORM="offscreen")
    program.until(lambda: program.app.engine.state.path == str(model))
    _, errors = other.communicate(timeout=PATIENCE_S)
    assert other.returncode == 0
    assert errors.endswith(
        f"it is open already; its window was brought forward and given {model.name}.\n"
    )
    first.close()
    first.deleteLater()


def test_a47_stale_socket_does_not_block_a_start(paths: Paths, qtbot: object) -> None:
    killed = _python(
        "-c",
        "import sys; from pathlib import Path; from PySide6.QtCore import QCoreApplication;"
        "from app.ui.single_instance import SingleInstance;"
        "app = QCoreApplication([]); one = SingleInstance(Path(sys.argv[1])); "
        "print(one.listen(), flush=True); app.exec()",
        str(paths.data),
    )
    assert killed.stdout is not None
    assert killed.stdout.readline().strip() == "True"
    killed.kill()
    killed.communicate()
    instance = SingleInstance(paths.data)
    assert not instance.hand_over("")
    assert instance.listen()
    instance.close()


def test_bad_arguments_are_told_in_one_sentence() -> None:
    for arguments, words in (
        (["nothing.gguf"], "there is no file nothing.gguf."),
        (["folder/chatt"], "there is no file folder/chatt."),
        (["--frob"], "--frob is no option and no command; 'plimsoll --help' lists"),
        (["chatt"], "chatt is no command; did you mean 'plimsoll chat'?"),
        (["quantise", "a", "b"], "quantise is no command; did you mean 'plimsoll quantize'?"),
        (["frobnicate"], "frobnicate is no command, and there is no such file; 'plimsoll --help'"),
        (["frobnicate", "a"], "frobnicate is no command, and there is no such file;"),
        (["README.md", "a.gguf"], "README.md is no command, and the window opens one file alone;"),
        ([str(ROOT)], "is a folder"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "app", *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_logout_keeps_the_draft_of_a_new_chat_and_ends_the_engine(
    fake_script: FakeScript, model: Path, paths: Paths, open_program: Callable[..., Program]
) -> None:
    fake_script(replies=["ok"])
    code = (
        "import sys; from app.ui import application as a, start\n"
        "def shown(self):\n"
        "    self.window.chat.composer.set_text('half a thought')\n"
        "    print('ready', flush=True)\n"
        "old = a.Application._on_model_loaded\n"
        "a.Application._on_model_loaded = lambda self, m: (old(self, m), shown(self))\n"
        "sys.exit(start.run(sys.argv[1]))\n"
    )
    process = _python("-c", code, str(model), QT_QPA_PLATFORM="offscreen")
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE_S) == 0
    process.communicate()
    _, alive = psutil.wait_procs(children, timeout=PATIENCE_S)
    assert not alive
    program = open_program(model)
    assert program.app.window.chat.composer.text() == "half a thought"

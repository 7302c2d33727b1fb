from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import pytest

from app.cli import run
from app.cli.chat import choose_model
from app.data.state import StateFile
from app.paths import Paths
from tests.helpers.patience import PATIENCE_S
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

if sys.platform != "win32":
    import pty


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_tiny_model(tmp_path / "tiny.gguf")


@pytest.mark.parametrize("source", ["argument", "stdin"])
def test_bytes_that_are_not_utf8_are_replaced_and_said(source: str, model: Path) -> None:
    said = b"caf\xe9 \xff"
    words: list[bytes] = [os.fsencode(model), b"--show-prompt"]
    if source == "argument":
        words += [b"-p", said]
    done = subprocess.run(
        [os.fsencode(sys.executable), b"-m", b"app", b"chat", *words],
        check=False,
        input=b"" if source == "argument" else said + b"\n",
        capture_output=True,
        timeout=PATIENCE_S,
        env=os.environ | {"PYTHONUTF8": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "caf\ufffd \ufffd" in done.stdout.decode()
    err = done.stderr.decode()
    assert err.count("not UTF-8") == 1
    assert "Traceback" not in err


def test_an_empty_prompt_is_refused(capsys: pytest.CaptureFixture[str], model: Path) -> None:
    assert run(["chat", str(model), "-p", " "]) == 2
    assert capsys.readouterr().err.startswith("The prompt is empty")


def test_an_unknown_chat_format_gets_the_names(
    capsys: pytest.CaptureFixture[str], model: Path
) -> None:
    assert run(["chat", str(model), "-p", "hi", "--template", "nosuch"]) == 2
    err = capsys.readouterr().err
    assert "nosuch" in err
    assert "chatml" in err
    assert err.count("\n") == 1


def test_what_is_no_file_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    for path, words in ((tmp_path, "is a folder"), (tmp_path / "pipe.gguf", "is a pipe")):
        assert run(["chat", str(path), "-p", "hi"]) == 3
        assert words in capsys.readouterr().err


def test_a_chat_in_the_terminal_leaves_the_windows_model(
    capsys: pytest.CaptureFixture[str], paths: Paths, model: Path, tmp_path: Path
) -> None:
    other = write_tiny_model(tmp_path / "window.gguf")
    StateFile(paths.state).set_last_model(other)
    assert run(["chat", str(model), "-p", "hi", "--max-tokens", "2"]) == 0
    capsys.readouterr()
    kept = StateFile(paths.state)
    assert kept.last_model == other
    assert choose_model(None, kept) == str(model)  # but the next chat here goes on with it
    model.unlink()
    assert choose_model(None, kept) == str(other)


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo terminal")
def test_ctrl_c_stops_a_reply_and_the_chat_goes_on(tmp_path: Path) -> None:
    words = tuple(f" word{number}" for number in range(4000))
    path = write_tiny_model(tmp_path / "long.gguf", TinyModel(context=4096, script=words))
    with _Terminal("chat", str(path), "--ctx", "4096") as terminal:
        terminal.read_until("> ")
        terminal.write(b"Hello\n")
        for times in (1, 2):
            terminal.read_until(" word9 ")
            terminal.write(b"\x03")
            terminal.read_until("tok/s")  # its statistics
            terminal.read_until("> ")
            assert terminal.process.poll() is None
            terminal.write(f"Again {times}\n".encode())
        terminal.read_until(" word9 ")
        terminal.write(b"\x03")
        terminal.read_until("> ")
        terminal.write(b"\x04")
        assert terminal.process.wait(PATIENCE_S) == 0
    assert "Traceback" not in terminal.text


# The first terminal that the leader of a session opens is its own, whose Ctrl+C it gets.
_WITH_A_TERMINAL = """
import os, runpy, sys
os.open(os.ttyname(0), os.O_RDWR)
runpy.run_module("app", run_name="__main__")
"""


class _Terminal:
    """A command at a terminal of its own."""

    def __init__(self, *words: str) -> None:
        self._ours, theirs = pty.openpty()
        self.text = ""
        self._seen = 0
        self.process = subprocess.Popen(
            [sys.executable, "-c", _WITH_A_TERMINAL, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def write(self, data: bytes) -> None:
        os.write(self._ours, data)

    def read_until(self, words: str) -> None:
        """Read on until some words come."""
        end = time.monotonic() + PATIENCE_S
        while (found := self.text.find(words, self._seen)) < 0:
            assert time.monotonic() < end, self.text[-2000:]
            ready, _, _ = select.select([self._ours], [], [], 1.0)
            if ready:
                self.text += os.read(self._ours, 65536).decode("utf-8", "replace")
        self._seen = found + len(words)

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli import run
from app.cli.chat import choose_model
from app.data.state import StateFile
from app.paths import Paths
from tests.helpers.patience import PATIENCE_S
from tests.helpers.tiny_gguf import write_tiny_model


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

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.cli import run
from app.cli.terminal import for_stream, json_line, shown, well_formed
from app.data.conversations import ConversationStore
from app.paths import DATA_DIR_VARIABLE, Paths
from tests.helpers.patience import PATIENCE_S
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

EVIL = "a\x1b]0;b\x07\x9b2J\u202ec\rd"
HARMLESS = "a\\x1b]0;b\\x07\\x9b2J\\u202ec\\rd"


def _plimsoll(*arguments: str | bytes, **options: Any) -> subprocess.CompletedProcess[bytes]:
    command: list[str | bytes] = [sys.executable, "-m", "app", *arguments]
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run(
        command, check=False, stderr=subprocess.PIPE, timeout=PATIENCE_S, **options
    )


def test_control_characters_are_spelt_out() -> None:
    assert shown(EVIL) == HARMLESS
    assert shown("a\nb\tc") == "a\\nb\\tc"
    assert shown("a\nb\tc\x1b", lines=True) == "a\nb\tc\\x1b"
    persian_and_emoji = "می\u200cخواهم 👩\u200d💻"
    assert shown(persian_and_emoji) == persian_and_emoji
    assert shown("\U000e0041\udc80") == "\\U000e0041\\udc80"


def test_json_stays_json_and_harmless() -> None:
    line = json_line({"name": f"{EVIL}é\U000e0041\x7f"})
    assert json.loads(line)["name"] == f"{EVIL}é\U000e0041\x7f"
    assert "é" in line
    assert shown(line) == line


@pytest.fixture
def terminal() -> Iterator[int]:
    ours, theirs = pty.openpty()
    yield theirs
    os.close(ours)
    os.close(theirs)


def test_only_a_terminal_is_protected(terminal: int, tmp_path: Path) -> None:
    with os.fdopen(os.dup(terminal), "w") as stream:
        assert for_stream(f"{EVIL}\n", stream) == f"{HARMLESS}\n"
    with (tmp_path / "out").open("w") as stream:
        assert for_stream(EVIL, stream) == EVIL
        assert for_stream("a\udcff", stream) == "a\ufffd"
    assert well_formed("a\udcff\udcfeé") == "a\ufffd\ufffdé"


def test_names_of_models_and_titles_reach_no_terminal(
    paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    path = paths.models / "evil\x1b[2J.gguf"
    write_tiny_model(path, TinyModel(name=EVIL))
    store = ConversationStore(paths.store)
    store.create(EVIL)
    store.close()
    for words in (
        ["models"],
        ["facts", str(path)],
        ["plan", str(path), "--hardware", "RTX 4090"],
        ["facts", str(path), "--json"],
        ["export"],
        ["facts", f"{path}\x1b.gguf"],
    ):
        run(words)
        out, err = capsys.readouterr()
        text = out + err
        assert text
        assert shown(text, lines=True) == text
        assert "\\x1b" in text or "\\u001b" in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [("models",), ("facts", "MODEL"), ("facts", "--help")])
def test_a_full_disk_is_one_sentence(words: tuple[str, ...], tmp_path: Path) -> None:
    model = write_tiny_model(tmp_path / "tiny.gguf")
    with Path("/dev/full").open("wb") as full:
        done = _plimsoll(*(str(model) if word == "MODEL" else word for word in words), stdout=full)
    assert done.returncode == 1
    assert done.stderr.decode() == "The output can't be written: No space left on device.\n"


def test_usage_errors_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["chat", "--ctx", "99999999"])
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "between 256 and 16,777,216" in err
    assert err.endswith("see 'plimsoll chat --help'.\n")


@pytest.mark.parametrize(
    "words",
    [("--bandwidth", "-4"), ("--bandwidth", "nan"), ("--depth", "99999999"), ("--ctx", "many"),
     ("--prompt", "-1"), ("--sequences", "0")],
)  # fmt: skip
def test_numbers_out_of_range_are_refused_in_words(
    words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(["plan", "x.gguf", *words])
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert words[0] in err
    assert " not " in err or "expected one argument" in err
    assert "e+0" not in err


def test_a_depth_beyond_the_context_is_clamped_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_tiny_model(tmp_path / "tiny.gguf")
    words = ["plan", str(path), "--ctx", "256", "--hardware", "RTX 4090", "--depth", "100000"]
    assert run(words) == 0
    assert capsys.readouterr().err == (
        "--depth is taken as 256: the context of a chat holds no more tokens.\n"
    )


@pytest.mark.parametrize("below", ["", "deeper"])
@pytest.mark.parametrize("command", ["models", "chat", "export"])
def test_a_data_folder_that_is_a_file(
    command: str,
    below: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(tmp_path / "taken" / below))
    assert run([command]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert f"{tmp_path / 'taken'} is a file" in err


def test_a_new_data_folder_is_made_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(tmp_path / "new" / "data"))
    assert run(["models"]) == 0
    assert not caplog.records
    assert (tmp_path / "new" / "data" / "models").is_dir()


def test_a_command_says_what_was_wrong_with_its_files_in_sentences_alone(paths: Paths) -> None:
    paths.settings.write_bytes(b"{")
    (paths.data / "state.json").write_bytes(b"{")
    done = subprocess.run(
        [sys.executable, "-m", "app", "models", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    (kept,) = paths.data.glob("settings.damaged-*.json")
    assert done.stderr == f"[The settings file was damaged; it is kept as {kept.name}.]\n"
    json.loads(done.stdout)

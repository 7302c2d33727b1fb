"""The self-test passes where all is well, and finds what is broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app import self_test
from app.paths import DATA_DIR_VARIABLE, Paths
from resources.loader import read_bytes
from tests.helpers.patience import PATIENCE_S
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model


def test_the_model_is_the_one_that_its_recipe_makes(tmp_path: Path) -> None:
    """So that it can be made again when the writer or the engine changes."""
    recipe = TinyModel(
        layers=1, embedding=32, heads=2, kv_heads=1, feed_forward=32, context=512,
        name="Self-test", script=("Plimsoll", " works", "<|im_end|>"),
    )  # fmt: skip
    made = write_tiny_model(tmp_path / "self-test.gguf", recipe)
    assert made.read_bytes() == read_bytes("self-test.gguf")


def test_every_check_passes_and_prints_one_line_and_nothing_else(paths: Paths) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "app", "self-test"],
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    lines = [line.split()[:2] for line in done.stdout.splitlines()]
    assert lines == [["ok", name] for name in self_test.CHECKS]
    # It worked in folders of its own.
    assert not (paths.data / "chats.sqlite3").exists()


def test_one_check_as_json() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "app", "self-test", "--only", "database", "--json"],
        capture_output=True, text=True, timeout=PATIENCE_S, check=True,
    )  # fmt: skip
    (check,) = json.loads(done.stdout)["checks"]
    assert check["name"] == "database"
    assert check["passed"] is True


def test_a_missing_font_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import resources.loader

    whole = resources.loader.read_bytes

    def without_a_font(name: str) -> bytes:
        if name.endswith("Inter-Bold.otf"):
            raise FileNotFoundError(name)
        return whole(name)

    monkeypatch.setattr(resources.loader, "read_bytes", without_a_font)
    result = self_test.run_check("resources")
    assert not result.passed
    assert "Inter-Bold.otf" in result.detail


def test_an_engine_that_says_something_else_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = write_tiny_model(tmp_path / "x.gguf", TinyModel(script=("ship", " sea", "<|im_end|>")))
    monkeypatch.setattr("resources.loader.read_bytes", lambda _name: other.read_bytes())
    result = self_test.run_check("engine")
    assert not result.passed
    assert "instead of 'Plimsoll works'" in result.detail


def test_a_window_that_can_not_start_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Qt ends its process without its plugins; the test lives on and tells."""
    monkeypatch.setenv("QT_QPA_PLATFORM_PLUGIN_PATH", "/nowhere")
    monkeypatch.setenv("QT_PLUGIN_PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    result = self_test.run_check("window")
    assert not result.passed
    assert "the window ended with code 1" in result.detail


def test_the_data_folder_is_put_back(paths: Paths) -> None:
    before = os.environ[DATA_DIR_VARIABLE]
    assert self_test.run_check("program").passed
    assert os.environ[DATA_DIR_VARIABLE] == before

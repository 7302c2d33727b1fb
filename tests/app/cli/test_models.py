from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from app.cli import models
from app.paths import Paths
from app.settings import Settings
from tests.helpers.tiny_gguf import write_tiny_model


@pytest.fixture(autouse=True)
def no_other_programs(paths: Paths) -> None:
    """Models of whoever runs the tests are not looked at."""
    Settings(paths.settings).set("scan_other_programs", False)


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    models.add_arguments(parser)
    return models.run(parser.parse_args(words))


def test_a_table_and_what_is_wrong_with_the_rest(
    paths: Paths, starter: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_tiny_model(paths.models / f"{'a' * 60}.gguf")
    (tmp_path / "broken.gguf").write_bytes(b"")
    Settings(paths.settings).set("model_folders", (str(tmp_path),))
    assert run() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "NAME", "QUANT", "SIZE", "PARAMETERS", "CONTEXT", "ARCHITECTURE", "FOUND", "IN",
    ]  # fmt: skip
    assert any(
        line.startswith("SmolLM2 135M Instruct") and "93.8 MiB" in line and "8,192" in line
        for line in lines
    )
    assert any(line.startswith("Tiny Test") and line.endswith("Plimsoll") for line in lines)
    assert "Not for chat:" in lines
    assert lines[-2].strip() == str(tmp_path / "broken.gguf")
    assert "empty" in lines[-1]


def test_json(starter: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["models"]
    assert (row["path"], row["kind"], row["problem"]) == (str(starter), "model", None)


def test_no_model_at_all(
    capsys: pytest.CaptureFixture[str], paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.data.library.places.starter_model", lambda: None)
    assert run() == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert str(paths.models) in err

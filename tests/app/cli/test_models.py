from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from app.cli import models
from app.data.bandwidths import keep_bandwidth
from app.data.library.choices import LibraryChoices
from app.data.state import StateFile
from app.engine.threads import clamp_threads, cpu_name
from app.paths import Paths
from app.settings import Settings
from inspector.records import BandwidthRecord
from tests.helpers.library_files import projector
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model


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
        "NAME", "VARIANT", "SIZE", "PARAMETERS", "CONTEXT", "ARCHITECTURE", "FOUND", "IN",
    ]  # fmt: skip
    assert any(
        line.startswith("SmolLM2-135M-Instruct") and "93.8 MiB" in line and "8,192" in line
        for line in lines
    )
    assert any(line.startswith("Tiny Test") and line.endswith("Plimsoll") for line in lines)
    assert "Not for chat:" in lines
    assert lines[-2].strip() == str(tmp_path / "broken.gguf")
    assert "empty" in lines[-1]


def test_two_files_of_one_name_are_told_apart(
    paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [paths.models / folder / "Same-1M-F32.gguf" for folder in ("a", "b")]
    for file in files:
        write_tiny_model(file, TinyModel(name="x"))
    assert run() == 0
    lines = capsys.readouterr().out.splitlines()
    same = [line for line in lines if line.startswith("Same-1M")]
    assert [line.rpartition(" · ")[2] for line in same] == [str(file) for file in files]


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


def test_variants_stand_together_and_parts_apart(
    paths: Paths, starter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for quant in ("F16", "F32"):
        write_tiny_model(paths.models / f"Tiny-1M-{quant}.gguf", TinyModel(name="Tiny 1M"))
    projector(64, "Tiny 1M").write(paths.models / "mmproj-Tiny-1M.gguf")
    assert run() == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines() if "Plimsoll" in line] == ["Tiny-1M"] * 2
    assert f"{paths.models / 'mmproj-Tiny-1M.gguf'}\n    projector of Tiny-1M" in out
    assert run("--json") == 0
    rows = json.loads(capsys.readouterr().out)["models"]
    named = {Path(row["path"]).name: row for row in rows}
    assert named["mmproj-Tiny-1M.gguf"]["model"] == "Tiny-1M"
    assert (named["mmproj-Tiny-1M.gguf"]["kind"], named["Tiny-1M-F16.gguf"]["broken"]) == (
        "projector", False,
    )  # fmt: skip
    assert "fit" not in named["Tiny-1M-F16.gguf"]


def test_what_was_removed_from_the_list_is_left_out(
    paths: Paths, starter: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    hidden = write_tiny_model(paths.models / "hidden.gguf")
    added = write_tiny_model(tmp_path / "added.gguf")
    choices = LibraryChoices(StateFile(paths.state))
    choices.hide([hidden])
    choices.add([added])
    assert run("--json") == 0
    found = {row["path"] for row in json.loads(capsys.readouterr().out)["models"]}
    assert str(hidden) not in found
    assert str(added) in found
    assert run("--json", "--all") == 0
    found = {row["path"] for row in json.loads(capsys.readouterr().out)["models"]}
    assert str(hidden) in found


def test_what_fits_is_said_as_the_plan_says_it(
    paths: Paths, starter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the real engine, which knows the devices; the bandwidth was measured before."""
    record = BandwidthRecord(
        at_ms=1, threads=clamp_threads(None), buffer_bytes=starter.stat().st_size, samples=(20e9,)
    )
    keep_bandwidth(StateFile(paths.state), cpu_name(), record)
    assert run("--fit", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["models"]
    fit = row["fit"]
    assert fit["verdict"] == "fits"
    assert (fit["n_ctx"], fit["max_context"]) == (8192, 8192)
    assert fit["needed_bytes"] > row["size_bytes"]
    assert 0 < fit["expected_low"] < fit["expected_high"] <= fit["ceiling"]
    assert fit["ceiling"] < 20e9 / row["size_bytes"] * 1.2
    assert fit["bandwidth_source"] == "measured"
    assert run("--fit") == 0
    heads, line = capsys.readouterr().out.splitlines()[:2]
    assert "FITS" in heads
    assert " yes " in line

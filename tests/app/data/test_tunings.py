"""Tunings are remembered by processor and engine build, and the oldest give way."""

from __future__ import annotations

from pathlib import Path

from app.data.state import StateFile
from app.data.tunings import KeptTuning, Tunings

KEPT = KeptTuning(outcome="kept", threads=2, threads_batch=4, flash_attention="off", n_ubatch=256)


def test_they_outlive_the_program_and_belong_to_one_machine(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    Tunings(StateFile(path), cpu="A", engine="1").keep("model", KEPT)
    again = Tunings(StateFile(path), cpu="A", engine="1")
    assert again.get("model") == KEPT
    assert again.get("other") is None
    assert Tunings(StateFile(path), cpu="A", engine="2").get("model") is None
    assert Tunings(StateFile(path), cpu="B", engine="1").get("model") is None


def test_one_that_was_begun_is_known_until_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    tunings = Tunings(StateFile(path), cpu="A", engine="1")
    tunings.begin("model")
    after_a_crash = Tunings(StateFile(path), cpu="A", engine="1").get("model")
    assert after_a_crash == KeptTuning(outcome="unfinished")
    tunings.keep("model", KEPT)
    assert tunings.get("model") == KEPT
    tunings.forget("model")
    tunings.forget("model")
    assert tunings.get("model") is None


def test_the_oldest_give_way() -> None:
    tunings = Tunings(StateFile(None), cpu="A", engine="1")
    for number in range(70):
        tunings.keep(str(number), KEPT)
    assert tunings.get("0") is None
    assert tunings.get("6") == KEPT
    tunings.keep("6", KEPT)  # the newest now
    tunings.keep("70", KEPT)
    assert tunings.get("6") == KEPT
    assert tunings.get("7") is None


def test_damage_is_no_knowledge() -> None:
    state = StateFile(None)
    tunings = Tunings(state, cpu="A", engine="1")
    state.set_blob("tuning A | 1", b'{"model": {"outcome": "lost"}}')
    assert tunings.get("model") is None
    for damage in (b"\xff", b'{"model":' * 100_000, b"[" * 100_000):
        state.set_blob("tuning A | 1", damage)
        assert tunings.get("model") is None
    tunings.keep("model", KEPT)
    assert tunings.get("model") == KEPT

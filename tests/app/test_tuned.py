"""What was measured goes where the options leave room, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from app.data.tunings import KeptTuning
from app.engine.protocol import Loaded, LoadOptions, Tune, Tuned, TuneRow, Tuning
from app.tuned import faster_rows, kept_of, key_of, shape_of_file, with_tuning
from tests.helpers.engine import BlockingDriver
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

KEPT = KeptTuning(outcome="kept", threads=2, threads_batch=4, flash_attention="off", n_ubatch=1024)


def test_open_options_are_filled() -> None:
    assert with_tuning(LoadOptions(), KEPT) == LoadOptions(
        threads=2, threads_batch=4, flash_attention="off", n_ubatch=1024, n_batch=1024
    )


@pytest.mark.parametrize(
    "asked",
    [
        {"threads": 7},
        {"threads_batch": 7},
        {"flash_attention": "on"},
        {"n_ubatch": 256},
        {"n_batch": 4096},
    ],
)
def test_what_the_user_set_stays(asked: dict[str, object]) -> None:
    options = with_tuning(LoadOptions(**asked), KEPT)  # type: ignore[arg-type]
    for name, value in asked.items():
        assert getattr(options, name) == value
    if "threads" in asked:
        assert options.threads_batch is None  # the engine takes the same number for both


@pytest.mark.parametrize("outcome", ["undone", "unfinished"])
def test_what_was_undone_or_not_finished_changes_nothing(outcome: str) -> None:
    kept = KeptTuning(outcome=outcome, threads=2)  # type: ignore[arg-type]
    assert with_tuning(LoadOptions(), kept) == LoadOptions()
    assert with_tuning(LoadOptions(), None) == LoadOptions()


def test_what_is_kept_is_what_runs() -> None:
    tuning = Tuning(threads=3, threads_batch=2, flash_attention="auto", n_ubatch=512)
    options = with_tuning(LoadOptions(), kept_of(tuning))
    assert (options.threads, options.threads_batch, options.n_ubatch) == (3, 2, 512)
    assert options.flash_attention == "auto"


def test_the_key_is_of_the_shape_and_of_what_was_asked(tmp_path: Path) -> None:
    first = write_tiny_model(tmp_path / "a.gguf", TinyModel(seed=1, name="One"))
    second = write_tiny_model(tmp_path / "b.gguf", TinyModel(seed=2, name="Two"))
    larger = write_tiny_model(tmp_path / "c.gguf", TinyModel(layers=3))
    shape = shape_of_file(str(first))
    assert shape == shape_of_file(str(second)) != ""
    assert shape != shape_of_file(str(larger))
    (tmp_path / "d.gguf").write_bytes(b"none")
    assert shape_of_file(str(tmp_path / "d.gguf")) == ""
    assert shape_of_file(str(tmp_path / "e.gguf")) == ""
    assert key_of("", LoadOptions()) == ""
    assert key_of(shape, LoadOptions()) == key_of(shape, LoadOptions(n_ctx=4096, mmap=False))
    keys = {
        key_of(shape, options)
        for options in (
            LoadOptions(),
            LoadOptions(threads=2),
            LoadOptions(type_v="q8_0"),
            LoadOptions(gpu_layers=4),
            LoadOptions(compatibility=True),
        )
    }
    assert len(keys) == 5


def test_gains_are_told_where_they_are_some(tmp_path: Path) -> None:
    def row(test: str, depth: int, gain: float) -> TuneRow:
        return TuneRow(test=test, depth=depth, before=10.0, after=10.0 * gain)  # type: ignore[arg-type]

    rows = (
        row("prefill", 0, 1.2),
        row("decode", 0, 1.001),
        row("decode", 4096, 1.5),
        row("prefill", 4096, 1.22),
    )
    driver = BlockingDriver()
    try:
        loaded = driver.load(write_tiny_model(tmp_path / "tiny.gguf"))
        assert isinstance(loaded, Loaded)
        request = Tune(id=driver.new_id(), options=LoadOptions(), measure=False)
        driver.send(request)
        *_, answer = driver.receive(request.id)
    finally:
        driver.close()
    assert isinstance(answer, Tuned)
    assert faster_rows(answer) == ()
    told = faster_rows(msgspec.structs.replace(answer, rows=rows))
    assert told == (rows[2], rows[0])

from __future__ import annotations

from pathlib import Path

import pytest

from app.data.comparisons import Comparisons
from tests.inspector.compare.samples import comparison


def test_kept_listed_opened_deleted(tmp_path: Path) -> None:
    store = Comparisons(tmp_path / "comparisons")
    assert store.entries() == []
    older, newer = comparison(at_ms=1_000), comparison(at_ms=2_000)
    store.keep(older)
    store.keep(newer)
    entries = store.entries()
    assert [entry.id for entry in entries] == [newer.id, older.id]
    assert entries[0].title == "Model 8B: Q4_K_M, Q8_0, Q2_K"
    assert (entries[0].variants, entries[0].failed) == (3, 1)
    assert store.load(older.id) == older
    store.delete(older.id)
    store.delete(older.id)
    assert [entry.id for entry in store.entries()] == [newer.id]
    assert store.load(older.id) is None


def test_keeping_again_replaces(tmp_path: Path) -> None:
    store = Comparisons(tmp_path)
    store.keep(comparison())
    store.keep(comparison(cancelled=True))
    (entry,) = store.entries()
    found = store.load(entry.id)
    assert found is not None
    assert found.cancelled


def test_damaged_and_foreign_files_are_left_alone(tmp_path: Path) -> None:
    store = Comparisons(tmp_path)
    store.keep(comparison())
    damaged = tmp_path / "00000000000001-00000000.json"
    damaged.write_bytes(b"{")
    (tmp_path / "notes.json").write_text("mine")
    assert len(store.entries()) == 1
    assert store.load(damaged.stem) is None
    assert damaged.exists()


@pytest.mark.parametrize("name", ["", "..", "../secret", "a/b", "x" * 23])
def test_only_ids_are_opened_and_deleted(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "secret.json"
    outside.write_text("{}")
    store = Comparisons(tmp_path / "comparisons")
    assert store.load(name) is None
    store.delete(name)
    assert outside.exists()


def test_a_folder_that_can_not_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        Comparisons(tmp_path / "file" / "comparisons").keep(comparison())

"""A03, A05 to A08: what a scan says of good, split, foreign and damaged files."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from app.data.library import scan as scan_module
from app.data.library.cache import EntryCache
from app.data.library.entries import ModelEntry
from app.data.library.places import Place
from app.data.library.scan import ScanProgress, recheck, scan
from tests.helpers.gguf_bytes import GgufBuilder
from tests.helpers.library_files import write_ollama
from tests.helpers.tiny_gguf import TinyModel, tiny_builder, write_tiny_model


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder to put models into."""
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


def look(folder: Path, **more: Any) -> list[ModelEntry]:
    return list(scan([Place("Folder", folder)], None, **more))


def only(folder: Path) -> ModelEntry:
    (entry,) = look(folder)
    return entry


def projector() -> GgufBuilder:
    built = GgufBuilder().text("general.architecture", "clip").text("general.type", "mmproj")
    return built.tensor("v.blk.0.attn_q.weight", (32, 32))


def adapter() -> GgufBuilder:
    built = GgufBuilder().text("general.architecture", "llama").text("general.type", "adapter")
    return built.text("adapter.type", "lora").tensor("blk.0.attn_q.weight.lora_a", (32, 4))


def test_a_good_model(models: Path) -> None:
    path = write_tiny_model(models / "publisher" / "repo" / "Tiny-Test-1M-Q4_0.gguf")
    entry = only(models)
    assert entry.usable
    assert (entry.path, entry.files, entry.name, entry.base_name, entry.kind, entry.source) == (
        path, (path,), "Tiny Test", "Tiny-Test-1M", "model", "Folder",
    )  # fmt: skip
    assert (entry.architecture, entry.context_length) == ("llama", 2048)
    assert entry.size_bytes == path.stat().st_size
    assert entry.parameters


def test_a08_names_in_any_script(models: Path) -> None:
    path = write_tiny_model(models / "日本 語 é" / "モデル　1 🚢.gguf")
    assert only(models).path == path
    assert only(models).usable


def test_a07_a_split_model_is_one_entry(models: Path) -> None:
    built = tiny_builder()
    count = len(built.tensors)
    parts = built.write_split(models, "big-Q8_0", (4, 4, count - 8))
    entry = only(models)
    assert entry.usable
    assert (entry.path, entry.files) == (parts[0], tuple(parts))
    assert entry.size_bytes == sum(part.stat().st_size for part in parts)
    parts[1].unlink()
    broken = only(models)
    assert not broken.usable
    assert broken.problem is not None
    assert parts[1].name in broken.problem
    parts[0].unlink()
    assert not only(models).usable


def test_a07_links_of_a_hub_cache_keep_their_names(tmp_path: Path) -> None:
    hub = tmp_path / "hub" / "models--org--big"
    blobs, snapshot = hub / "blobs", hub / "snapshots" / "abc"
    built = tiny_builder()
    snapshot.mkdir(parents=True)
    parts = built.write_split(tmp_path / "made", "big", (4, len(built.tensors) - 4))
    blobs.mkdir()
    for part in parts:
        part.rename(blobs / f"hash-of-{part.name[4:9]}")
        (snapshot / part.name).symlink_to(Path("../../blobs") / f"hash-of-{part.name[4:9]}")
    # A second revision with the same files is the same model.
    shutil.copytree(snapshot, hub / "snapshots" / "older", symlinks=True)
    (snapshot / "gone.gguf").symlink_to("../../blobs/gone")
    entries = look(tmp_path / "hub")
    usable = [entry for entry in entries if entry.usable]
    assert [entry.path for entry in usable] == [snapshot / parts[0].name]
    assert [entry.path.name for entry in entries if not entry.usable] == ["gone.gguf"]


def test_a05_projectors_and_adapters_are_told_apart(models: Path) -> None:
    projector().write(models / "mmproj-x.gguf")
    adapter().write(models / "lora.gguf")
    kinds = {entry.path.name: entry for entry in look(models)}
    assert kinds["mmproj-x.gguf"].kind == "projector"
    assert kinds["lora.gguf"].kind == "adapter"
    for entry in kinds.values():
        assert not entry.usable
        assert entry.problem is not None
        assert entry.problem.startswith("This is a")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.gguf", b"", "empty"),
        ("four.gguf", b"GGUF", "ends"),
        ("lfs.gguf", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "LFS"),
        ("page.gguf", b"<!DOCTYPE html><html>Not found</html>", "web page"),
        ("noise.gguf", bytes(range(256)), "GGUF"),
    ],
)
def test_a06_files_that_are_none(models: Path, name: str, content: bytes, words: str) -> None:
    (models / name).write_bytes(content)
    entry = only(models)
    assert not entry.usable
    assert entry.kind == "unknown"
    assert entry.size_bytes == len(content)
    assert entry.problem is not None
    assert words in entry.problem


def test_a03_an_incomplete_download_and_its_end(models: Path) -> None:
    whole = tiny_builder().build()
    path = models / "tiny.gguf"
    path.write_bytes(whole[:-1])
    entry = only(models)
    assert not entry.usable
    assert entry.problem is not None
    assert "incomplete" in entry.problem
    assert f"{len(whole) - 1:,} of {len(whole):,} bytes" in entry.problem
    path.write_bytes(whole)
    assert recheck(entry).usable
    path.rename(models / "tiny.gguf.part")
    partial = only(models)
    assert partial.path.name == "tiny.gguf.part"
    assert not partial.usable
    assert partial.problem is not None


def test_what_is_no_model_file_is_passed_over(models: Path) -> None:
    (models / "x.gguf").mkdir()
    (models / "notes.txt").write_text("GGUF")
    (models / "model.safetensors").write_bytes(b"x")
    (models / "loop").symlink_to(models)
    assert look(models) == []
    assert look(models / "missing") == []
    assert look(Path("nul\0name")) == []


def test_a_file_that_may_not_be_read(models: Path) -> None:
    (models / "loop.gguf").symlink_to("loop.gguf")
    entry = only(models)
    assert not entry.usable
    assert entry.size_bytes == 0


def ollama(root: Path) -> Path:
    blob = root / "blobs" / "sha256-aa11"
    write_tiny_model(blob)
    manifests = {
        "registry.ollama.ai/library/tiny/1m": "sha256:aa11",
        "registry.ollama.ai/ada/tuned/latest": "sha256:bb22",
        "hub.example/org/other/q8": "sha256:../../../etc/passwd",
    }
    for name, digest in manifests.items():
        path = root / "manifests" / name
        path.parent.mkdir(parents=True)
        layers = [
            {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:cc"},
            {"mediaType": "application/vnd.ollama.image.model", "digest": digest},
        ]
        path.write_text(json.dumps({"schemaVersion": 2, "layers": layers}))
    for number, text in enumerate(["", "[]", '{"layers": 7}', '{"layers": [7]}', "[" * 99_999]):
        (root / "manifests" / f"bad{number}").write_text(text)
    return blob


def test_ollama_names_come_from_manifests(tmp_path: Path) -> None:
    blob = ollama(tmp_path)
    entries = list(scan([Place("Ollama", tmp_path, "ollama")], None))
    assert {entry.name for entry in entries} == {"tiny:1m", "ada/tuned:latest"}
    (usable,) = [entry for entry in entries if entry.usable]
    assert (usable.path, usable.name, usable.base_name) == (blob, "tiny:1m", "tiny")
    assert recheck(usable) == usable


def test_the_starter_model_is_listed(starter: Path) -> None:
    (entry,) = scan([Place("Starter model", starter, "file")], None)
    assert entry.usable
    assert (entry.shown_name, entry.quantization) == ("SmolLM2-135M-Instruct", "Q4_1")


def test_a_file_in_two_places_is_listed_once(models: Path) -> None:
    write_tiny_model(models / "a" / "x.gguf")
    entries = list(scan([Place("Plimsoll", models / "a"), Place("Folder", models)], None))
    assert [entry.source for entry in entries] == ["Plimsoll"]


def test_a_second_scan_reads_no_file(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "library.sqlite3"
    for number in range(5):
        write_tiny_model(models / f"m{number}.gguf", TinyModel(name=f"Model {number}"))
    (models / "bad.gguf").write_bytes(b"bad")
    place = [Place("Folder", models)]
    first = list(scan(place, cache))

    def forbidden(*_: object) -> ModelEntry:
        raise AssertionError("read again")

    with monkeypatch.context() as patch:
        patch.setattr(scan_module, "read_entry", forbidden)
        assert list(scan(place, cache)) == first
    # A file that changed is read, one that went is forgotten.
    write_tiny_model(models / "m1.gguf", TinyModel(name="Renamed"))
    os.utime(models / "m1.gguf", ns=(1, 1))
    (models / "m2.gguf").unlink()
    names = {entry.name for entry in scan(place, cache)}
    assert names == {"Model 0", "Renamed", "Model 3", "Model 4", "bad.gguf"}
    with sqlite3.connect(cache) as db:
        assert db.execute("SELECT count(*) FROM models").fetchone() == (5,)
    db.close()


@pytest.mark.parametrize("content", [b"", b"x" * 9999, bytes(9999)])
def test_a_damaged_cache_is_no_trouble(models: Path, tmp_path: Path, content: bytes) -> None:
    cache = tmp_path / "library.sqlite3"
    cache.write_bytes(content)
    write_tiny_model(models / "x.gguf")
    place = [Place("Folder", models)]
    assert list(scan(place, cache)) == list(scan(place, cache))
    assert list(scan(place, tmp_path)) == list(scan(place, None))  # a folder is no cache


def test_an_entry_of_another_shape_is_read_anew(tmp_path: Path) -> None:
    cache = EntryCache(tmp_path / "c.sqlite3")
    cache.close()
    with sqlite3.connect(tmp_path / "c.sqlite3") as db:
        db.execute("INSERT INTO models VALUES ('/x', 's', '{\"path\": 7}')")
    db.close()
    again = EntryCache(tmp_path / "c.sqlite3")
    assert again.get(Path("/x"), "s") is None
    again.close()
    again.close()


def test_progress_and_cancelling(models: Path, tmp_path: Path) -> None:
    for number in range(4):
        write_tiny_model(models / f"m{number}.gguf")
    said: list[ScanProgress] = []
    list(scan([Place("A", models), Place("B", tmp_path / "none")], None, progress=said.append))
    assert [p.found for p in said] == [1, 2, 3, 4, 4, 4]
    assert (said[-1].source, said[-1].places_done, said[-1].places) == ("B", 2, 2)
    cache = tmp_path / "cache.sqlite3"
    seen: list[ModelEntry] = []
    seen.extend(scan([Place("A", models)], cache, cancelled=lambda: len(seen) == 2))
    assert len(seen) == 2
    with sqlite3.connect(cache) as db:  # what was read is kept
        assert db.execute("SELECT count(*) FROM models").fetchone() == (2,)
    db.close()


def test_a_name_that_is_no_text(models: Path, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(models) + b"/bad\xff.gguf"))
    write_tiny_model(path)
    for _ in range(2):
        (entry,) = scan([Place("Folder", models)], tmp_path / "c.sqlite3")
        assert entry.path == path
        assert entry.usable


def test_ollamas_projectors_belong_to_their_models(tmp_path: Path) -> None:
    blob = write_ollama(tmp_path, "seeing", "4b", tiny_builder(), projector())
    entries = list(scan([Place("Ollama", tmp_path, "ollama")], None))
    assert [(entry.kind, entry.belongs_to) for entry in entries] == [
        ("model", None),
        ("projector", blob),
    ]
    assert entries[1].name == "seeing:4b"
    assert recheck(entries[1]) == entries[1]


def test_a_file_that_was_added_comes_with_its_other_parts(models: Path, tmp_path: Path) -> None:
    built = tiny_builder()
    parts = built.write_split(models, "big-Q8_0", (4, len(built.tensors) - 4))
    single = write_tiny_model(tmp_path / "single.gguf")
    for added, files in ((parts[1], tuple(parts)), (single, (single,))):
        (entry,) = scan([Place("Added", added, "added")], None)
        assert entry.files == files
        assert entry.usable
    (gone,) = scan([Place("Added", models / "gone.gguf", "added")], None)
    assert not gone.usable


def test_what_is_broken_and_what_is_only_no_model(models: Path) -> None:
    projector().write(models / "mmproj.gguf")
    (models / "cut.gguf").write_bytes(tiny_builder().build()[:-1])
    (models / "empty.gguf").write_bytes(b"")
    unknown = tiny_builder().drop("general.architecture").text("general.architecture", "later9")
    unknown.write(models / "later.gguf")
    found = {entry.path.name: entry.broken for entry in look(models)}
    assert found == {
        "mmproj.gguf": False, "cut.gguf": True, "empty.gguf": True, "later.gguf": True,
    }  # fmt: skip

"""Models in several files, opened by any of them, and files that only seem to be some."""

from __future__ import annotations

from pathlib import Path

import pytest

from gguf_tools.facts import read_facts
from gguf_tools.header import HeaderError, open_header
from gguf_tools.shard_names import parse_shard_name, shard_name
from tests.helpers.gguf_bytes import pack_string
from tests.helpers.header_files import problem_of, raw_file, small_model

# --- A07: split models


def _split(tmp_path: Path) -> list[Path]:
    builder = small_model()
    total = len(builder.tensors)
    return builder.write_split(tmp_path, "m", (total - 4, 2, 2))


def test_any_shard_opens_the_model(tmp_path: Path) -> None:
    paths = _split(tmp_path)
    whole = read_facts(small_model().write(tmp_path / "whole.gguf"))
    for path in paths:
        facts = read_facts(path)
        assert facts.path == paths[0]
        assert facts.files == tuple(paths)
        assert facts.weights_bytes == whole.weights_bytes
        assert facts.file_bytes == sum(item.stat().st_size for item in paths)


def test_missing_renamed_and_glued_shards(tmp_path: Path) -> None:
    paths = _split(tmp_path)
    glued = raw_file(tmp_path, b"".join(path.read_bytes() for path in paths), "glued.gguf")
    assert problem_of(glued) == "split_joined"
    paths[1].rename(tmp_path / "other.gguf")
    assert problem_of(paths[0]) == "split_missing"
    assert problem_of(tmp_path / "other.gguf") == "split_name"
    (tmp_path / "other.gguf").rename(paths[1])
    paths[2].unlink()
    with pytest.raises(HeaderError, match="00003-of-00003"):
        read_facts(paths[0])


def test_shards_behind_links_to_hashes(tmp_path: Path) -> None:
    paths = _split(tmp_path / "real")
    links = tmp_path / "hub"
    links.mkdir()
    for index, path in enumerate(paths):
        blob = path.rename(tmp_path / "real" / f"{index:064x}")
        (links / path.name).symlink_to(blob)
    facts = read_facts(links / paths[1].name)
    assert facts.path == links / paths[0].name  # the path that a person sees


def test_one_shard_of_one(tmp_path: Path) -> None:
    builder = small_model()
    (path,) = builder.write_split(tmp_path, "m", (len(builder.tensors),))
    assert read_facts(path).layers == 2


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("m-00002-of-00003.gguf", ("m", 2, 3)),
        ("a-00001-of-00002-00002-of-00009.gguf", ("a-00001-of-00002", 2, 9)),
        ("m-0002-of-0003.gguf", None),
        ("m-00002-of-00003.gguf.part", None),
        ("m.gguf", None),
    ],
)
def test_names_of_shards(name: str, found: tuple[str, int, int] | None) -> None:
    assert parse_shard_name(name) == found
    if found is not None:
        assert shard_name(*found) == name


def _patched(path: Path, key: str, kind: str, value: int) -> None:
    """Change a number of a shard where it stands."""
    data = bytearray(path.read_bytes())
    size = {"u16": 2, "i32": 4}[kind]
    at = data.index(pack_string(key)) + 8 + len(key) + 4
    data[at : at + size] = value.to_bytes(size, "little")
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("shard", "key", "kind", "value", "problem", "words"),
    [
        (1, "split.no", "u16", 2, "split_mixed", "is not part 2 of 3"),
        (2, "split.count", "u16", 4, "split_mixed", "is not part 3 of 3"),
        (0, "split.tensors.count", "i32", 99, "split_mixed", "promises 99 tensors"),
        (0, "split.no", "u16", 1, "split_name", "call it m-00002-of-00003.gguf"),
    ],
)
def test_shards_that_contradict_each_other(
    shard: int, key: str, kind: str, value: int, problem: str, words: str, tmp_path: Path
) -> None:
    paths = _split(tmp_path)
    _patched(paths[shard], key, kind, value)
    assert problem_of(paths[0]) == problem
    with pytest.raises(HeaderError, match=words):
        open_header(paths[0])


def test_a_tensor_in_two_shards(tmp_path: Path) -> None:
    builder = small_model()
    builder.tensors[-1].name = builder.tensors[0].name
    paths = builder.write_split(tmp_path, "m", (len(builder.tensors) - 1, 1))
    with pytest.raises(HeaderError, match=r"repeats the tensor token_embd\.weight"):
        open_header(paths[1])


def test_many_missing_shards_are_not_all_listed(tmp_path: Path) -> None:
    builder = small_model()
    total = len(builder.tensors)
    paths = builder.write_split(tmp_path, "m", (total - 6, 1, 1, 1, 1, 1, 1))
    for path in paths[1:]:
        path.unlink()
    with pytest.raises(HeaderError, match=r"there is no m-00002-of-00007\.gguf, ") as caught:
        open_header(paths[0])
    assert str(caught.value).endswith("m-00005-of-00007.gguf, ….")


@pytest.mark.parametrize(("kind", "count"), [("u32", 100_000), ("u64", 1 << 60)])
def test_more_shards_than_names_can_count(kind: str, count: int, tmp_path: Path) -> None:
    path = small_model().key("split.count", kind, count).write(tmp_path / "m.gguf")
    with pytest.raises(HeaderError, match=f"one of {count} files"):
        open_header(path)


@pytest.mark.parametrize("kind", ["f32", "[u16]"])
def test_a_count_that_is_no_number_is_none(kind: str, tmp_path: Path) -> None:
    value = [2, 2] if kind.startswith("[") else 2.0
    path = small_model().key("split.count", kind, value).write(tmp_path / "m.gguf")
    assert open_header(path).files == (path,)

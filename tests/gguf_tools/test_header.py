"""Files that broke readers: slow, hostile, cut, split, foreign, odd."""

from __future__ import annotations

import os
import random
import socket
import struct
import time
from pathlib import Path

import psutil
import pytest

from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import HeaderError, open_header
from tests.helpers.gguf_bytes import GgufBuilder, pack_string
from tests.helpers.shape_gguf import ShapeModel
from tests.helpers.tiny_gguf import TinyModel, tiny_builder, write_tiny_model

HUGE = 1 << 63


def _kind(path: Path) -> str:
    with pytest.raises(HeaderError) as caught:
        read_facts(path)
    text = str(caught.value)
    assert text.endswith(".")
    assert "\n" not in text
    assert len(text) < 400
    return caught.value.kind


def _raw(tmp_path: Path, data: bytes, name: str = "x.gguf") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def _small() -> GgufBuilder:
    return ShapeModel(
        layers=2, embedding=64, heads=4, kv_heads=2, feed_forward=96, vocabulary=32, kind="F16"
    ).builder()


# --- A01: large vocabularies


def test_hyperparameters_behind_a_large_vocabulary(tmp_path: Path) -> None:
    count = 262_144
    out = GgufBuilder().text("general.architecture", "llama")
    out.key("tokenizer.ggml.tokens", "[str]", [f"token {index}" for index in range(count)])
    out.key("tokenizer.ggml.scores", "[f32]", [0.0] * count)
    out.key("tokenizer.ggml.token_type", "[i32]", [1] * count)
    out.key("tokenizer.ggml.merges", "[str]", [f"a{index} b" for index in range(count)])
    out.keys += ShapeModel(layers=4).builder().keys[1:]
    out.tensors = ShapeModel(layers=4).builder().tensors
    path = out.write(tmp_path / "large.gguf")
    started = time.perf_counter()
    facts = read_facts(path)
    elapsed = time.perf_counter() - started
    assert (facts.layers, facts.context_length, facts.heads) == (4, 131072, 32)
    assert facts.vocab_size == count
    assert elapsed < 1.0
    assert facts.header.array_length("tokenizer.ggml.tokens") == count


# --- A02: tiny files that claim to be endless


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<4sIQQ", b"GGUF", 3, 0, 1)
        + pack_string("a")
        + struct.pack("<IIQ", 9, 4, HUGE),
        struct.pack("<4sIQQ", b"GGUF", 3, 0, HUGE),
        struct.pack("<4sIQQ", b"GGUF", 3, HUGE, 0),
        struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + struct.pack("<Q", 1 << 62) + b"abc",
        struct.pack("<4sIQQ", b"GGUF", 3, 0, 1)
        + pack_string("a")
        + struct.pack("<IIQ", 9, 8, HUGE),
        struct.pack("<4sIQQ", b"GGUF", 3, 0, 1)
        + pack_string("a")
        + struct.pack("<IIQ", 9, 9, 1 << 40),
        struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + pack_string("a") + struct.pack("<I", 77),
        struct.pack("<4sIQQ", b"GGUF", 3, 1, 0) + pack_string("t") + struct.pack("<I", 1_000_000),
        struct.pack("<4sIQQ", b"GGUF", 3, 1, 0)
        + pack_string("t")
        + struct.pack("<IQQIQ", 2, HUGE - 1, HUGE - 1, 0, 0),
    ],
)
def test_endless_claims_are_refused_at_once(tmp_path: Path, data: bytes) -> None:
    path = _raw(tmp_path, data)
    before = psutil.Process().memory_info().rss
    started = time.perf_counter()
    assert _kind(path) in {"damaged", "truncated"}
    assert time.perf_counter() - started < 1.0
    assert psutil.Process().memory_info().rss - before < 64 << 20


# --- A03: incomplete downloads


@pytest.mark.parametrize("missing", [1, 5000])
def test_incomplete_file_is_told(tmp_path: Path, missing: int) -> None:
    path = write_tiny_model(tmp_path / "m.gguf")
    whole = read_facts(path)
    assert whole.complete
    assert whole.loadable
    # The last tensor may end before the padding that follows it.
    os.truncate(path, whole.needed_bytes - missing)
    facts = read_facts(path)
    assert not facts.complete
    assert not facts.loadable
    assert any("incomplete" in text and "Finish the download" in text for text in facts.warnings)


def test_download_that_grows_becomes_whole(tmp_path: Path) -> None:
    data = tiny_builder().build()
    path = _raw(tmp_path, data[: len(data) * 2 // 3], "m.gguf.part1of2")
    assert not read_facts(path).complete
    path.write_bytes(data)
    assert read_facts(path).complete


# --- A04: arrays for numbers and the reverse


def _kv_bytes(facts: ModelFacts) -> int:
    assert facts.kv_bytes_per_token is not None
    return facts.kv_bytes_per_token


def test_number_and_equal_array_are_the_same(tmp_path: Path) -> None:
    one = read_facts(ShapeModel(layers=4).builder().write(tmp_path / "a.gguf"))
    many = read_facts(
        ShapeModel(layers=4, heads=[32] * 4, kv_heads=[8] * 4).builder().write(tmp_path / "b.gguf")
    )
    assert _kv_bytes(one) == _kv_bytes(many)
    assert one.kv_heads == many.kv_heads == (8,) * 4


def test_uneven_array_is_summed(tmp_path: Path) -> None:
    facts = read_facts(
        ShapeModel(layers=4, heads=32, kv_heads=[8, 0, 2, 4], head=128)
        .builder()
        .write(tmp_path / "a.gguf")
    )
    assert _kv_bytes(facts) == (8 + 0 + 2 + 4) * 128 * 2 * 2
    assert facts.kv_heads == (8, 0, 2, 4)


def test_array_of_a_wrong_length_is_unknown(tmp_path: Path) -> None:
    model = ShapeModel(layers=4).builder().drop("llama.attention.head_count_kv")
    model.key("llama.attention.head_count_kv", "[i32]", [8, 8, 8])
    facts = read_facts(model.write(tmp_path / "a.gguf"))
    assert facts.kv_bytes_per_token is None
    assert any("head_count_kv" in text for text in facts.warnings)


# --- A05: projectors and adapters


def test_projector_and_adapter_are_known(tmp_path: Path) -> None:
    projector = GgufBuilder().text("general.architecture", "clip").text("general.type", "mmproj")
    projector.tensor("v.patch_embd.weight", (14, 14, 3, 64), "F16")
    adapter = GgufBuilder().text("general.architecture", "llama").text("general.type", "adapter")
    adapter.text("adapter.type", "lora").key("adapter.lora.alpha", "f32", 16.0)
    adapter.tensor("blk.0.attn_q.weight.lora_a", (64, 8), "F32")
    for builder, kind in ((projector, "projector"), (adapter, "adapter")):
        facts = read_facts(builder.write(tmp_path / f"{kind}.gguf"))
        assert facts.kind == kind
        assert not facts.loadable
        assert facts.warnings


# --- A06: other files


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "empty"),
        (b"GGUF", "truncated"),
        (b"tjgg" + bytes(64), "old_format"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "lfs_pointer"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "web_page"),
        (b"PK\x03\x04" + bytes(64), "not_gguf"),
        (struct.pack("<4sIII", b"GGUF", 1, 0, 0) + bytes(8), "too_old"),
        (struct.pack("<4sIQQ", b"GGUF", 4, 0, 0), "too_new"),
        (struct.pack(">4sIQQ", b"GGUF", 3, 0, 0), "byte_order"),
    ],
)
def test_other_files_are_named(tmp_path: Path, data: bytes, kind: str) -> None:
    assert _kind(_raw(tmp_path, data)) == kind


def test_folder_and_absence(tmp_path: Path) -> None:
    folder = tmp_path / "x.gguf"
    folder.mkdir()
    assert _kind(folder) == "directory"
    assert _kind(tmp_path / "none.gguf") == "missing"


@pytest.mark.parametrize("version", [2, 3])
def test_both_versions_load(tmp_path: Path, version: int) -> None:
    builder = _small()
    builder.version = version
    assert read_facts(builder.write(tmp_path / "m.gguf")).layers == 2


# --- A07: split models


def _split(tmp_path: Path) -> list[Path]:
    builder = _small()
    total = len(builder.tensors)
    return builder.write_split(tmp_path, "m", (total - 4, 2, 2))


def test_any_shard_opens_the_model(tmp_path: Path) -> None:
    paths = _split(tmp_path)
    whole = read_facts(_small().write(tmp_path / "whole.gguf"))
    for path in paths:
        facts = read_facts(path)
        assert facts.path == paths[0]
        assert facts.files == tuple(paths)
        assert facts.weights_bytes == whole.weights_bytes
        assert facts.file_bytes == sum(item.stat().st_size for item in paths)


def test_missing_renamed_and_glued_shards(tmp_path: Path) -> None:
    paths = _split(tmp_path)
    glued = _raw(tmp_path, b"".join(path.read_bytes() for path in paths), "glued.gguf")
    assert _kind(glued) == "split_joined"
    paths[1].rename(tmp_path / "other.gguf")
    assert _kind(paths[0]) == "split_missing"
    assert _kind(tmp_path / "other.gguf") == "split_name"
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
    builder = _small()
    (path,) = builder.write_split(tmp_path, "m", (len(builder.tensors),))
    assert read_facts(path).layers == 2


# --- A08: names


@pytest.mark.parametrize(
    "name", ["日本 語 é/モデル 1.gguf", "a\u3000b/x.gguf", "🦙.gguf", "ж" * 60 + "/м.gguf"]
)
def test_any_path(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    facts = read_facts(_small().write(path))
    assert facts.path == path
    assert facts.layers == 2


# --- A09: templates are data here


def test_template_is_read_and_never_run(tmp_path: Path) -> None:
    evil = "{{ ''.__class__.__mro__[1].__subclasses__() }}"
    loop = "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}"
    builder = _small().text("tokenizer.chat_template", loop)
    builder.text("tokenizer.chat_template.tool_use", evil)
    started = time.perf_counter()
    facts = read_facts(builder.write(tmp_path / "m.gguf"))
    assert time.perf_counter() - started < 0.5
    assert facts.chat_template
    assert facts.header.text("tokenizer.chat_template.tool_use") == evil


# --- A10: missing keys


@pytest.mark.parametrize(
    ("key", "kv_known"),
    [
        ("llama.attention.head_count_kv", True),
        ("llama.attention.head_count", False),
        ("llama.context_length", True),
        ("llama.block_count", False),
        ("general.name", True),
        ("general.file_type", True),
    ],
)
def test_missing_keys(tmp_path: Path, key: str, kv_known: bool) -> None:
    facts = read_facts(ShapeModel(layers=2).builder().drop(key).write(tmp_path / "m.gguf"))
    assert (facts.kv_bytes_per_token is not None) == kv_known
    assert facts.name
    if key.endswith("head_count_kv"):
        assert facts.kv_heads == (32, 32)
        assert facts.assumed
    if key == "llama.context_length":
        assert facts.context_length is None


def test_unknown_architecture_is_unknown(tmp_path: Path) -> None:
    facts = read_facts(
        ShapeModel(architecture="foo", layers=2).builder().write(tmp_path / "m.gguf")
    )
    assert facts.architecture == "foo"
    assert not facts.architecture_known
    assert not facts.loadable
    assert any("foo" in text for text in facts.warnings)


def test_one_bad_byte_loses_nothing_else(tmp_path: Path) -> None:
    builder = tiny_builder(TinyModel(template="{{ messages }}"))
    builder.text("general.author", b"M\xfcller").key(b"general.\xff", "u32", 1)
    facts = read_facts(builder.write(tmp_path / "m.gguf"))
    assert facts.chat_template
    assert facts.header.text("tokenizer.chat_template") == "{{ messages }}"
    assert facts.header.text("general.author") == "M\ufffdller"


# --- whatever else is in a file


def _survives(path: Path) -> None:
    started = time.perf_counter()
    try:
        read_facts(path)
    except HeaderError:
        pass
    assert time.perf_counter() - started < 0.25  # 50 ms on a quiet machine


def test_cut_anywhere(tmp_path: Path) -> None:
    data = _small().header()
    for length in range(len(data)):
        _survives(_raw(tmp_path, data[:length]))


def test_flipped_bits(tmp_path: Path) -> None:
    data = _small().header()
    chance = random.Random(3)
    for _ in range(1500):
        changed = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 8))):
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        _survives(_raw(tmp_path, bytes(changed)))


def test_hostile_numbers(tmp_path: Path) -> None:
    data = _small().header()
    chance = random.Random(4)
    for _ in range(500):
        changed = bytearray(data)
        at = chance.randrange(len(changed) - 8)
        value = chance.choice((0, HUGE, HUGE - 1, 1 << 62, (1 << 64) - 1, 1 << 32, 1 << 40))
        changed[at : at + 8] = struct.pack("<Q", value)
        _survives(_raw(tmp_path, bytes(changed)))


def test_same_as_the_package(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    for architecture in ("llama", "gemma3", "mamba", "lfm2"):
        path = write_tiny_model(
            tmp_path / f"{architecture}.gguf", TinyModel(architecture=architecture)
        )
        reader = gguf.GGUFReader(path)
        header = open_header(path)
        assert set(header.tensors) == {tensor.name for tensor in reader.tensors}
        for tensor in reader.tensors:
            own = header.tensors[tensor.name]
            assert own.size_bytes == tensor.n_bytes
            assert tuple(own.shape) == tuple(int(extent) for extent in tensor.shape)
        for name, held in reader.fields.items():
            if name.startswith("GGUF."):
                continue
            value = held.contents()
            if isinstance(value, list):
                assert header.array_length(name) == len(value)
            else:
                assert (
                    header.value(name) == pytest.approx(value)
                    if isinstance(value, float)
                    else (header.value(name) == value)
                )
        del reader


def test_type_table_is_the_package_s() -> None:
    gguf = pytest.importorskip("gguf")
    from gguf_tools.quants import TENSOR_TYPES

    for kind, (block, size) in gguf.GGML_QUANT_SIZES.items():
        own = TENSOR_TYPES[int(kind)]
        if kind.name == "Q8_1":
            assert own.block_bytes == 36  # the package says 40; ggml's block has two half floats
            continue
        assert (own.name.upper(), own.block, own.block_bytes) == (kind.name, block, size)


def test_what_is_not_a_file_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    (tmp_path / "link.gguf").symlink_to(tmp_path / "pipe.gguf")
    (tmp_path / "null.gguf").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s.gguf"))
        for name, words in (
            ("pipe", "pipe"),
            ("link", "pipe"),
            ("null", "device"),
            ("s", "socket"),
        ):
            path = tmp_path / f"{name}.gguf"
            assert _kind(path) == "unreadable"
            with pytest.raises(HeaderError, match=f"is a {words}, not a file"):
                open_header(path)


def test_a_file_short_of_one_byte_is_incomplete(tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "tiny.gguf")
    whole = read_facts(path)
    os.truncate(path, whole.needed_bytes - 1)
    facts = read_facts(path)
    assert (whole.complete, facts.complete, facts.loadable) == (True, False, False)
    assert f"{whole.needed_bytes - 1:,} of {whole.needed_bytes:,} bytes" in facts.warnings[0]

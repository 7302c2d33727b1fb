"""What whole files say: large vocabularies, arrays for numbers, odd names, missing keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import open_header
from tests.helpers.gguf_bytes import GgufBuilder
from tests.helpers.header_files import small_model
from tests.helpers.shape_gguf import ShapeModel
from tests.helpers.tiny_gguf import TinyModel, tiny_builder, write_tiny_model
from tests.helpers.work import within_calls

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
    # Nothing is made of the values that nobody asked for.
    facts = within_calls(count // 8, lambda: read_facts(path))
    assert (facts.layers, facts.context_length, facts.heads) == (4, 131072, 32)
    assert facts.vocab_size == count
    assert facts.header.array_length("tokenizer.ggml.tokens") == count


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


@pytest.mark.parametrize("version", [2, 3])
def test_both_versions_load(tmp_path: Path, version: int) -> None:
    builder = small_model()
    builder.version = version
    assert read_facts(builder.write(tmp_path / "m.gguf")).layers == 2


# --- A08: names


@pytest.mark.parametrize(
    "name", ["日本 語 é/モデル 1.gguf", "a\u3000b/x.gguf", "🦙.gguf", "ж" * 60 + "/м.gguf"]
)
def test_any_path(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    facts = read_facts(small_model().write(path))
    assert facts.path == path
    assert facts.layers == 2


# --- A09: templates are data here


def test_template_is_read_and_never_run(tmp_path: Path) -> None:
    evil = "{{ ''.__class__.__mro__[1].__subclasses__() }}"
    loop = "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}"
    builder = small_model().text("tokenizer.chat_template", loop)
    builder.text("tokenizer.chat_template.tool_use", evil)
    path = builder.write(tmp_path / "m.gguf")
    facts = within_calls(20_000, lambda: read_facts(path))
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


# --- as the package reads them


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

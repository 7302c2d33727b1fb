"""Values of a header: kept in memory or read again, of the right type or none."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gguf_tools.header import Header, HeaderError, open_header
from tests.helpers.gguf_bytes import GgufBuilder

_LARGE = ["é" * 30] * 400  # 400 × (8 + 60) bytes: more than is kept in memory
_NUMBERS = list(range(3000))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    builder = GgufBuilder().text("general.architecture", "llama")
    builder.key("u8", "u8", 200).key("i8", "i8", -3).key("u16", "u16", 60_000)
    builder.key("i16", "i16", -300).key("u32", "u32", 1 << 31).key("i32", "i32", -(1 << 30))
    builder.key("u64", "u64", 1 << 40).key("i64", "i64", -(1 << 40))
    builder.key("f32", "f32", 0.5).key("f64", "f64", math.pi)
    builder.key("yes", "bool", True).key("no", "bool", False)
    builder.text("text", "wörd").key("texts", "[str]", ["a", "", "béc"])
    builder.key("flags", "[bool]", [True, False, True]).key("floats", "[f32]", [0.25, 8.0])
    builder.key("large", "[str]", _LARGE).key("numbers", "[u32]", _NUMBERS)
    return builder.write(tmp_path / "m.gguf")


@pytest.fixture
def header(path: Path) -> Header:
    return open_header(path)


@pytest.mark.parametrize(
    ("key", "kind", "value"),
    [
        ("u8", "u8", 200),
        ("i8", "i8", -3),
        ("u16", "u16", 60_000),
        ("i16", "i16", -300),
        ("u32", "u32", 1 << 31),
        ("i32", "i32", -(1 << 30)),
        ("u64", "u64", 1 << 40),
        ("i64", "i64", -(1 << 40)),
        ("f32", "f32", 0.5),
        ("f64", "f64", math.pi),
        ("yes", "bool", True),
        ("no", "bool", False),
        ("text", "str", "wörd"),
        ("texts", "[str]", ["a", "", "béc"]),
        ("flags", "[bool]", [True, False, True]),
        ("floats", "[f32]", [0.25, 8.0]),
        ("large", "[str]", _LARGE),
        ("numbers", "[u32]", _NUMBERS),
        ("nowhere", None, None),
    ],
)
def test_every_type(header: Header, key: str, kind: str | None, value: object) -> None:
    assert header.value_type(key) == kind
    found = header.value(key)
    assert found == value
    assert type(found) is type(value)
    assert (key in header) == (kind is not None)
    length = len(value) if isinstance(value, list) else None
    assert header.array_length(key) == length
    assert header.is_array(key) == (length is not None)


def test_keys_come_in_the_file_s_order(header: Header) -> None:
    keys = header.keys()
    assert keys[:3] == ("general.architecture", "u8", "i8")
    assert keys[-2:] == ("large", "numbers")
    assert len(keys) == 19


def test_a_value_of_another_type_is_none(header: Header) -> None:
    assert header.text("text") == "wörd"
    assert [header.text(key) for key in ("u32", "texts", "nowhere")] == [None] * 3
    assert header.integer("i32") == -(1 << 30)
    assert [header.integer(key) for key in ("f32", "yes", "numbers", "nowhere")] == [None] * 4
    assert header.number("f32") == 0.5
    assert header.number("u8") == 200.0
    assert type(header.number("u8")) is float
    assert [header.number(key) for key in ("yes", "text", "floats", "nowhere")] == [None] * 4
    assert header.texts("texts") == ["a", "", "béc"]
    assert header.texts("large") == _LARGE
    assert [header.texts(key) for key in ("text", "numbers", "nowhere")] == [[]] * 3


def test_one_text_of_many(header: Header) -> None:
    assert [header.text_at("texts", index) for index in (-1, 0, 1, 2, 3)] == [
        None,
        "a",
        "",
        "béc",
        None,
    ]
    assert header.text_at("large", 399) == "é" * 30
    assert header.text_at("large", 400) is None
    assert [header.text_at(key, 0) for key in ("text", "numbers", "nowhere")] == [None] * 3


def test_a_file_that_changes_after_it_was_opened(header: Header, path: Path) -> None:
    assert header.value("large") == _LARGE
    with path.open("r+b") as file:
        file.truncate(header.header_bytes - 1)
    assert header.text("text") == "wörd"  # small values are in memory
    assert header.value("large") == _LARGE  # stands before the cut
    with pytest.raises(HeaderError, match="shorter") as shorter:
        header.value("numbers")
    assert shorter.value.kind == "truncated"
    path.unlink()
    with pytest.raises(HeaderError, match="can't be read") as gone:
        header.value("numbers")
    assert gone.value.kind == "unreadable"


def test_tensors_past_their_last_dimension(tmp_path: Path) -> None:
    builder = GgufBuilder().text("general.architecture", "llama")
    builder.tensor("a.weight", (64, 3, 5), "Q8_0").tensor("b.bias", (7,))
    header = open_header(builder.write(tmp_path / "t.gguf"))
    matrix, vector = header.tensors["a.weight"], header.tensors["b.bias"]
    assert matrix.elements == 64 * 3 * 5
    assert [matrix.extent(at) for at in range(4)] == [64, 3, 5, 1]
    assert matrix.size_bytes == 3 * 5 * 2 * 34  # blocks of 32: 32 bytes and a half-precision scale
    assert vector.size_bytes == 7 * 4
    assert matrix.offset % 32 == 0
    assert vector.offset == matrix.offset + 1024  # 1020 bytes, padded to 32

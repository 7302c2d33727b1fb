"""Files that broke readers: hostile, cut, flipped, foreign, and what is no file at all."""

from __future__ import annotations

import os
import random
import socket
import struct
from pathlib import Path

import psutil
import pytest

from gguf_tools.facts import read_facts
from gguf_tools.header import HeaderError, open_header
from tests.helpers.gguf_bytes import pack_string
from tests.helpers.header_files import problem_of, raw_file, small_model
from tests.helpers.tiny_gguf import tiny_builder, write_tiny_model
from tests.helpers.work import within_calls

HUGE = 1 << 63


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
    path = raw_file(tmp_path, data)
    before = psutil.Process().memory_info().rss
    assert within_calls(1_000, lambda: problem_of(path)) in {"damaged", "truncated"}
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
    path = raw_file(tmp_path, data[: len(data) * 2 // 3], "m.gguf.part1of2")
    assert not read_facts(path).complete
    path.write_bytes(data)
    assert read_facts(path).complete


# --- A06: other files


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "empty"),
        (b"G", "truncated"),
        (b"GGU", "truncated"),
        (b"GGUF", "truncated"),
        (b"GGUX" + bytes(64), "not_gguf"),
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
    assert problem_of(raw_file(tmp_path, data)) == kind


def test_folder_and_absence(tmp_path: Path) -> None:
    folder = tmp_path / "x.gguf"
    folder.mkdir()
    assert problem_of(folder) == "directory"
    assert problem_of(tmp_path / "none.gguf") == "missing"


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
            assert problem_of(path) == "unreadable"
            with pytest.raises(HeaderError, match=f"is a {words}, not a file"):
                open_header(path)


def test_a_file_short_of_one_byte_is_incomplete(tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "tiny.gguf")
    whole = read_facts(path)
    os.truncate(path, whole.needed_bytes - 1)
    facts = read_facts(path)
    assert (whole.complete, facts.complete, facts.loadable) == (True, False, False)
    assert f"{whole.needed_bytes - 1:,} of {whole.needed_bytes:,} bytes" in facts.warnings[0]


# --- whatever else is in a file


def _survives(path: Path) -> None:
    try:
        within_calls(20_000, lambda: read_facts(path))
    except HeaderError:
        pass


def test_cut_anywhere(tmp_path: Path) -> None:
    data = small_model().header()
    for length in range(len(data)):
        _survives(raw_file(tmp_path, data[:length]))


def test_flipped_bits(tmp_path: Path) -> None:
    data = small_model().header()
    chance = random.Random(3)
    for _ in range(1500):
        changed = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 8))):
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        _survives(raw_file(tmp_path, bytes(changed)))


def test_hostile_numbers(tmp_path: Path) -> None:
    data = small_model().header()
    chance = random.Random(4)
    for _ in range(500):
        changed = bytearray(data)
        at = chance.randrange(len(changed) - 8)
        value = chance.choice((0, HUGE, HUGE - 1, 1 << 62, (1 << 64) - 1, 1 << 32, 1 << 40))
        changed[at : at + 8] = struct.pack("<Q", value)
        _survives(raw_file(tmp_path, bytes(changed)))


# --- what each kind of damage is called


def _keyed(name: bytes, rest: bytes, *, padding: int = 0) -> bytes:
    """Return a file with one key and what follows its name."""
    return struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + pack_string(name) + rest + bytes(padding)


def _tensor(name: bytes, shape: tuple[int, ...], kind: int, offset: int = 0) -> bytes:
    shapes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return pack_string(name) + shapes + struct.pack("<iQ", kind, offset)


def _tensors(*entries: bytes) -> bytes:
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(entries), 0)
    return head + b"".join(entries) + bytes(4096)


_F32, _Q8_0, _NO_MORE, _UNKNOWN = 0, 8, 4, 999


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (struct.pack("<4sIQQ", b"GGUF", 0, 0, 0), "damaged", "version is 0"),
        (_keyed(b"", struct.pack("<II", 4, 1)), "damaged", "a key is empty"),
        (_keyed(b"k" * 65_536, struct.pack("<II", 4, 1)), "damaged", "a key claims 65536 bytes"),
        (
            struct.pack("<4sIQQ", b"GGUF", 3, 0, 2)
            + (pack_string("twice") + struct.pack("<II", 4, 1)) * 2,
            "damaged",
            "the key twice occurs twice",
        ),
        (_keyed(b"k", struct.pack("<I", 77), padding=9), "damaged", "the unknown type 77"),
        (
            _keyed(b"k", struct.pack("<IIQ", 9, 77, 1)),
            "damaged",
            "elements of the unknown type 77",
        ),
        (
            _keyed(b"k", struct.pack("<IIQ", 9, 0, (1 << 30) + 1)),
            "damaged",
            "claims 1073741825 elements",
        ),
        (_keyed(b"k", struct.pack("<IIQ", 9, 4, 4), padding=15), "truncated", "incomplete"),
        (
            _keyed(b"k", struct.pack("<IIQ", 9, 8, 2) + pack_string("ab") + bytes(7), padding=0),
            "truncated",
            "incomplete",
        ),
        (
            _keyed(b"general.alignment", struct.pack("<IQ", 10, 32)),
            "damaged",
            "alignment is no 32-bit number",
        ),
        (
            _keyed(b"general.alignment", struct.pack("<II", 4, 0)),
            "damaged",
            "alignment 0 is no power of two",
        ),
        (
            _keyed(b"general.alignment", struct.pack("<II", 4, 48)),
            "damaged",
            "alignment 48 is no power of two",
        ),
        (
            _tensors(_tensor(b"t", (8,), _F32), _tensor(b"t", (8,), _F32, 32)),
            "damaged",
            "the tensor t occurs twice",
        ),
        (
            _tensors(_tensor(b"t", (8,), _F32), _tensor(b"u", (8,), _F32, 64)),
            "damaged",
            "the tensor u lies at 64, not 32",
        ),
        (_tensors(_tensor(b"t" * 64, (8,), _F32)), "damaged", "name of a tensor claims 64 bytes"),
        (_tensors(_tensor(b"t", (1,) * 5, _F32)), "damaged", "claims 5 dimensions"),
        (_tensors(_tensor(b"t", (1 << 32, 1 << 31), _F32)), "damaged", "elements"),
        (_tensors(_tensor(b"t", (33,), _Q8_0)), "damaged", "hold 33 elements, no whole blocks"),
        (_tensors(_tensor(b"t", (32,), _NO_MORE)), "too_old", "reads no more"),
        (_tensors(_tensor(b"t", (32,), _UNKNOWN)), "too_new", "tensor type 999"),
    ],
)
def test_damage_is_named(tmp_path: Path, data: bytes, kind: str, words: str) -> None:
    path = raw_file(tmp_path, data)
    assert problem_of(path) == kind
    with pytest.raises(HeaderError, match=words):
        open_header(path)


def test_the_largest_that_is_allowed(tmp_path: Path) -> None:
    longest = b"n" * 63
    data = _tensors(
        _tensor(longest, (2, 1, 1, 3), _F32),
        _tensor(b"none", (), _F32, 32),
        _tensor(b"e", (0,), 0, 64),
    )
    tensors = open_header(raw_file(tmp_path, data)).tensors
    assert tensors["n" * 63].elements == 6
    assert (tensors["none"].elements, tensors["none"].size_bytes) == (1, 4)
    assert (tensors["e"].elements, tensors["e"].size_bytes) == (0, 0)


def test_strings_that_run_past_the_end(tmp_path: Path) -> None:
    # Behind a chunk of short strings, which is matched as a whole, and inside one that isn't.
    for lengths in ([3] * 512 + [1 << 40], [3] * 100 + [1 << 62] + [3] * 500, [3, 200]):
        strings = b"".join(struct.pack("<Q", length) + b"abc" for length in lengths)
        data = _keyed(b"k", struct.pack("<IIQ", 9, 8, len(lengths)) + strings)
        assert problem_of(raw_file(tmp_path, data)) == "truncated"


def test_long_strings_among_many_are_stepped_over(tmp_path: Path) -> None:
    texts = ["x" * (index % 90) for index in range(1700)]
    builder = small_model().key("texts", "[str]", texts).u32("behind", 7)
    header = open_header(builder.write(tmp_path / "m.gguf"))
    assert header.integer("behind") == 7
    assert header.texts("texts") == texts


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    assert problem_of(Path("a\0b.gguf")) == "missing"
    assert problem_of(tmp_path / ("n" * 256)) == "unreadable"  # too long for the file system


def test_an_alignment_of_another_power_of_two_is_taken(tmp_path: Path) -> None:
    builder = small_model().u32("general.alignment", 128)
    builder.alignment = 128
    header = open_header(builder.write(tmp_path / "m.gguf"))
    assert header.alignment == 128
    assert {tensor.offset % 128 for tensor in header.tensors.values()} == {0}

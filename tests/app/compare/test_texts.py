from __future__ import annotations

from pathlib import Path

import pytest

from app.compare.texts import TextError, builtin_text, read_quality_text


def test_the_built_in_text_is_long_and_plain() -> None:
    found = builtin_text()
    assert "Slocum" in found.name
    assert 15_000 < len(found.text) < 40_000
    assert found.text.isascii()
    assert "Gutenberg" not in found.text


def test_a_file_of_the_users(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"\xef\xbb\xbfOne two.\n")
    assert read_quality_text(path).text == "One two.\n"
    path.write_bytes("naïve".encode("latin-1"))
    assert read_quality_text(path).text == "naïve"


@pytest.mark.parametrize(
    ("data", "part"), [(b"", "empty"), (b" \n", "empty"), (b"GGUF\0\0\0", "no text file")]
)
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes, part: str) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(data)
    with pytest.raises(TextError, match=part):
        read_quality_text(path)
    with pytest.raises(TextError, match="can't be read"):
        read_quality_text(tmp_path / "none.txt")

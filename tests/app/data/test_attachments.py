from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from app.data import attachments
from app.data.attachments import AttachmentError, read_attachment


def pdf(*pages: str, password: str | None = None) -> bytes:
    """A PDF file with one line of text a page."""
    writer = PdfWriter()
    for text in pages:
        page = writer.add_blank_page(300, 300)
        font = DictionaryObject({
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        })  # fmt: skip
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode("latin-1"))
        page[NameObject("/Contents")] = writer._add_object(stream)
    if password is not None:
        writer.encrypt(password, algorithm="RC4-128")
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "raw", "text"),
    [
        ("a.txt", "Größe 🚢".encode(), "Größe 🚢"),
        ("a.py", b"\xef\xbb\xbfprint()\r\n", "print()\n"),
        ("a.csv", "ä;ö".encode("utf-16"), "ä;ö"),
        ("a.md", b"\xfe\xff" + "日本".encode("utf-16-be"), "日本"),
        ("a", b"\xff\xfe\x00\x00" + "x".encode("utf-32-le"), "x"),
        ("log", b"\x1b[31mred\x1b[0m\ttab\x0c", "\x1b[31mred\x1b[0m\ttab\x0c"),
        ("old.txt", b"line\rline\r\nline", "line\nline\nline"),
    ],
)
def test_text(tmp_path: Path, name: str, raw: bytes, text: str) -> None:
    (tmp_path / name).write_bytes(raw)
    attachment = read_attachment(tmp_path / name)
    assert (attachment.name, attachment.text, attachment.note) == (name, text, None)


def test_text_of_another_encoding_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"Gr\xf6\xdfe \x93x\x94")
    attachment = read_attachment(tmp_path / "a.txt")
    assert attachment.text == "Größe “x”"
    assert attachment.note is not None
    assert "Windows-1252" in attachment.note
    (tmp_path / "b.txt").write_bytes(b"\xff\xfea\x00b")
    cut = read_attachment(tmp_path / "b.txt")
    assert cut.text == "a\ufffd"
    assert cut.note is not None


def test_a_zero_in_a_text_with_a_mark_is_damage(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("one\0two".encode("utf-16"))
    attachment = read_attachment(tmp_path / "a.txt")
    assert attachment.text == "one\ufffdtwo"
    assert attachment.note is not None
    assert "damaged" in attachment.note


def test_the_log_says_nothing_of_a_damaged_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    (tmp_path / "a private name.pdf").write_bytes(pdf("a private line")[:200])
    with pytest.raises(AttachmentError):
        read_attachment(tmp_path / "a private name.pdf")
    assert "could not be read" in caplog.text
    assert "private" not in caplog.text


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "holds no text"),
        (bytes(range(1, 32)) * 9, "holds no text"),
        ("ab".encode("utf-16-le"), "holds no text"),
        (b"%PDF-1.7\nnothing", "damaged PDF"),
        (b"%PDF-1.7\n" + b"<<" * 50_000, "damaged PDF"),
    ],
)
def test_what_holds_no_text_is_refused(tmp_path: Path, raw: bytes, words: str) -> None:
    (tmp_path / "x.bin").write_bytes(raw)
    with pytest.raises(AttachmentError, match=words) as caught:
        read_attachment(tmp_path / "x.bin")
    assert str(caught.value).startswith("x.bin")
    assert "\n" not in str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, words in (
        ("missing", "can't be read"),
        ("pipe", "is not a file"),
        ("a\0b", "not the name"),
    ):
        with pytest.raises(AttachmentError, match=words):
            read_attachment(tmp_path / name)
    with pytest.raises(AttachmentError, match="is a folder"):
        read_attachment(tmp_path)


def test_too_large_gets_the_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "big.txt"
    path.write_bytes(b"x" * (5 * 1024 * 1024))
    with pytest.raises(AttachmentError, match=r"5.00 MiB, and 4.00 MiB of text \(64.0 MiB of PDF"):
        read_attachment(path)
    with path.open("r+b") as file:
        file.truncate(1 << 40)  # a sparse terabyte is refused unread
    with pytest.raises(AttachmentError, match=r"1.00 TiB"):
        read_attachment(path)


def test_pdf(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf("First page", "Second page"))
    attachment = read_attachment(path)
    assert attachment.text == "First page\n\nSecond page"
    assert attachment.note is None


def test_pdf_that_is_protected(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf("Secret", password="x"))
    with pytest.raises(AttachmentError, match="protected by a password"):
        read_attachment(path)
    path.write_bytes(pdf("Open", password=""))
    assert read_attachment(path).text == "Open"


def test_pdf_of_pictures(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf("", ""))
    with pytest.raises(AttachmentError, match="pictures of text"):
        read_attachment(path)


def test_pdf_of_many_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf("one", "two", "three", "four"))
    monkeypatch.setattr(attachments, "MAX_PDF_PAGES", 3)
    attachment = read_attachment(path)
    assert attachment.text == "one\n\ntwo\n\nthree"
    assert attachment.note == "Only 3 of 4 pages of a.pdf were read."
    asked: list[Any] = []

    def cancelled() -> bool:
        asked.append(None)
        return len(asked) == 2

    assert read_attachment(path, cancelled).note == "Only 1 of 4 pages of a.pdf were read."


def test_a_pdf_cut_anywhere_is_no_exception(tmp_path: Path) -> None:
    whole = pdf("one", "two")
    path = tmp_path / "a.pdf"
    outcomes = set()
    for end in range(5, len(whole), 37):
        path.write_bytes(whole[:end])
        try:
            outcomes.add(read_attachment(path).text)
        except AttachmentError as error:
            outcomes.add(str(error))
    assert outcomes
    assert all(text.startswith(("a.pdf", "one")) for text in outcomes)


def test_one_zero_byte_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"words of a text\n" * 1000 + b"\0" + b"more\n")
    with pytest.raises(AttachmentError, match="holds no text"):
        read_attachment(path)

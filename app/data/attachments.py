"""The text of a file that is attached to a message, or one sentence on why there is none.

Text has to fit into a context window anyway, so the limits are low and named with numbers. What a
file is, is decided by its bytes and not by its name: code comes under hundreds of endings.
"""

from __future__ import annotations

import codecs
import logging
import stat
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from app.data.records import Attachment
from gguf_tools.units import format_bytes

__all__ = ["MAX_PDF_BYTES", "MAX_PDF_PAGES", "MAX_TEXT_BYTES", "AttachmentError", "read_attachment"]

log = logging.getLogger(__name__)

MAX_TEXT_BYTES = 4 * 1024 * 1024  # about a million tokens, more than any window here holds
MAX_PDF_BYTES = 64 * 1024 * 1024
MAX_PDF_PAGES = 1_000

# The longer mark first: that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Control characters that text files hold: tab, line ends, form feed, escape (terminal colours).
_TEXT_CONTROLS = frozenset(b"\t\n\v\f\r\x1b\x08")
_CONTROLS = bytes(set(range(32)) - _TEXT_CONTROLS | {127})


class AttachmentError(Exception):
    """A file that can't be attached; the text is one clear sentence."""


def _never() -> bool:
    return False


def read_attachment(path: Path, cancelled: Callable[[], bool] = _never) -> Attachment:
    """Return the text of a text file or a PDF file; ``note`` says how it was read.

    May take seconds for a PDF file: to be called outside the window's thread. ``cancelled`` is
    asked between pages; what was read until then is returned with a note.

    Raises:
        AttachmentError: no text can be had of it.
    """
    raw = _bytes_of(path)
    if raw.startswith(b"%PDF-"):
        return _pdf(path.name, raw, cancelled)
    if len(raw) > MAX_TEXT_BYTES:
        raise AttachmentError(_too_large(path.name, len(raw), MAX_TEXT_BYTES))
    text, note = _decoded(path.name, raw)
    return Attachment(path.name, text.replace("\r\n", "\n").replace("\r", "\n"), note=note)


def _bytes_of(path: Path) -> bytes:
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise AttachmentError(f"{path.name} is a folder: attach the files inside it.")
        if not stat.S_ISREG(status.st_mode):
            raise AttachmentError(f"{path.name} is not a file that can be attached.")
        if status.st_size > MAX_PDF_BYTES:
            raise AttachmentError(_too_large(path.name, status.st_size, MAX_TEXT_BYTES))
        with path.open("rb") as file:
            raw = file.read(MAX_PDF_BYTES + 1)
    except OSError as error:
        raise AttachmentError(f"{path.name} can't be read: {error.strerror}.") from error
    except ValueError as error:
        raise AttachmentError("This is not the name of a file.") from error
    if not raw:
        raise AttachmentError(f"{path.name} is empty.")
    return raw


def _too_large(name: str, size_bytes: int, limit_bytes: int) -> str:
    return (
        f"{name} is too large to attach: {format_bytes(size_bytes)}, and"
        f" {format_bytes(limit_bytes)} of text ({format_bytes(MAX_PDF_BYTES)} of PDF) is the limit."
    )


def _decoded(name: str, raw: bytes) -> tuple[str, str | None]:
    """Return (text, note). Bounded: three looks at the bytes, whatever they are."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            text = raw[len(mark) :].decode(encoding, "replace").replace("\0", "\ufffd")
            if "\ufffd" not in text:
                return text, None
            return text, f"Some characters of {name} were damaged and are marked."
    # One in a hundred is more than any text has; one zero byte is more, too.
    if b"\0" in raw or len(raw) - len(raw.translate(None, _CONTROLS)) > len(raw) // 100:
        raise AttachmentError(f"{name} holds no text: only text and PDF files can be attached.")
    try:
        return raw.decode("utf-8"), None
    except UnicodeDecodeError:
        note = f"{name} is not UTF-8; it was read as Windows-1252, so check its accented letters."
        return raw.decode("cp1252", "replace"), note


def _pdf(name: str, raw: bytes, cancelled: Callable[[], bool]) -> Attachment:
    # Here and not above: it takes as long to import as the rest of the program's data layer.
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError

    if len(raw) > MAX_PDF_BYTES:
        raise AttachmentError(_too_large(name, len(raw), MAX_PDF_BYTES))
    try:
        reader = PdfReader(BytesIO(raw))
        if reader.is_encrypted and not reader.decrypt(""):
            raise AttachmentError(f"{name} is protected by a password.")
        text, note = _pages(name, reader, cancelled)
    except AttachmentError:
        raise
    except (DependencyError, FileNotDecryptedError) as error:
        raise AttachmentError(f"{name} is encrypted in a way that can't be read here.") from error
    except Exception as error:  # the library raises any kind for a damaged file
        # Neither its name nor what the library quotes of it: the log holds nothing of a chat.
        log.info("a PDF file could not be read: %s", type(error).__name__)
        raise AttachmentError(f"{name} is a damaged PDF file: no text can be read.") from error
    if not text.strip():
        raise AttachmentError(f"{name} holds no text; its pages may be pictures of text.")
    return Attachment(name, text, note=note)


def _pages(name: str, reader: object, cancelled: Callable[[], bool]) -> tuple[str, str | None]:
    from pypdf import PdfReader

    assert isinstance(reader, PdfReader)
    total = len(reader.pages)
    texts: list[str] = []
    size = 0
    for number, page in enumerate(reader.pages):
        if number >= MAX_PDF_PAGES or size > MAX_TEXT_BYTES or cancelled():
            return "\n\n".join(texts), f"Only {number} of {total} pages of {name} were read."
        text = page.extract_text().encode("utf-8", "replace").decode("utf-8").strip()
        size += len(text)
        texts.append(text)
    return "\n\n".join(texts), None

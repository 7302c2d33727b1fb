"""Messages as lines, and lines out of a stream of bytes."""

from __future__ import annotations

import msgspec

from app.engine.protocol.answers import EngineMessage
from app.engine.protocol.requests import Request
from app.engine.protocol.values import MAX_LINE_BYTES

__all__ = [
    "LineSplitter",
    "ProtocolError",
    "decode_message",
    "decode_request",
    "encode_line",
    "request_id",
]


class ProtocolError(Exception):
    """A line that is no message of this protocol, or is too long."""


_encoder = msgspec.json.Encoder()
_request_decoder = msgspec.json.Decoder(Request)
_message_decoder = msgspec.json.Decoder(EngineMessage)


def encode_line(message: Request | EngineMessage) -> bytes:
    """Return a message as one line.

    Raises:
        ProtocolError: the line is longer than `MAX_LINE_BYTES`.
    """
    try:
        line = _encoder.encode(message) + b"\n"
    except UnicodeEncodeError as error:
        # On Linux a file's name may be any bytes, of which Python makes such texts.
        wrong = ascii(error.object[max(0, error.start - 20) : error.end + 10])
        raise ProtocolError(
            f"{wrong} has a character that is no text; if it is a file's name, rename the file"
        ) from error
    if len(line) > MAX_LINE_BYTES:
        raise ProtocolError(
            f"it is longer ({len(line) >> 20:,} MiB) than a message can be "
            f"({MAX_LINE_BYTES >> 20} MiB)"
        )
    return line


def decode_request(line: bytes) -> Request:
    """Return the request on a line.

    Raises:
        ProtocolError: it is none.
    """
    try:
        return _request_decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"not a request: {error}") from error


class _Asked(msgspec.Struct):
    id: int


_id_decoder = msgspec.json.Decoder(_Asked)


def request_id(line: bytes) -> int:
    """Return the id on a line that is no request, so that who sent it hears; 0 if it has none."""
    try:
        return _id_decoder.decode(line).id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0


def decode_message(line: bytes) -> EngineMessage:
    """Return the worker's message on a line.

    Raises:
        ProtocolError: it is none.
    """
    try:
        return _message_decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"not a message: {error}") from error


class LineSplitter:
    """Cuts a byte stream into lines; a character or a line may span reads."""

    def __init__(self, limit_bytes: int = MAX_LINE_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._parts: list[bytes] = []
        self._held_bytes = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines completed by ``data``, without their newlines.

        Raises:
            ProtocolError: a line passes the limit; the stream can't be trusted after that.
        """
        if b"\n" not in data:
            self._hold(data)
            return []
        head, *middle, tail = data.split(b"\n")
        self._hold(head)
        lines = [b"".join(self._parts), *middle]
        self._parts = []
        self._held_bytes = 0
        self._hold(tail)
        return [line for line in lines if line]

    def _hold(self, data: bytes) -> None:
        self._held_bytes += len(data)
        if self._held_bytes > self._limit_bytes:
            raise ProtocolError(f"a line is longer than {self._limit_bytes} bytes")
        if data:
            self._parts.append(data)

"""Frames between the renderer and its child: four bytes of length, then that many bytes."""

from __future__ import annotations

from typing import IO, Final

__all__ = ["MAX_FRAME_BYTES", "read_frame", "write_frame"]

MAX_FRAME_BYTES: Final = 256 * 1024 * 1024
_LENGTH_BYTES: Final = 4


def read_frame(stream: IO[bytes]) -> bytes | None:
    """Return the next frame, None at the end of the stream (also in the middle of a frame)."""
    head = stream.read(_LENGTH_BYTES)
    if len(head) < _LENGTH_BYTES:
        return None
    length = int.from_bytes(head, "big")
    if length > MAX_FRAME_BYTES:
        return None
    body = stream.read(length)
    return body if len(body) == length else None


def write_frame(stream: IO[bytes], body: bytes) -> None:
    """Write one frame and flush it.

    Raises:
        OSError: the other side is gone.
        ValueError: the frame is longer than `MAX_FRAME_BYTES`, or the stream is closed.
    """
    if len(body) > MAX_FRAME_BYTES:
        raise ValueError(f"a frame of {len(body)} bytes is over {MAX_FRAME_BYTES}")
    stream.write(len(body).to_bytes(_LENGTH_BYTES, "big"))
    stream.write(body)
    stream.flush()

"""llama.cpp's RPC servers, looked at over a socket of our own before the engine meets them.

llama.cpp ends its process where a server refuses the connection, speaks another version, says
something unexpected or hangs up, and it waits for ever where one is silent: a server takes one
client at a time, and a second one is accepted by the kernel and never answered. So each server is
asked first, here, with a time limit on every step. What the engine is given has just answered the
very messages that it will send.

On the way the network is measured: the time of a round trip, and bytes per second in both
directions; and how fast the device itself reads memory, by products of a matrix and a vector.

The messages are those of ``ggml/src/ggml-rpc/ggml-rpc.cpp`` in version 7.0.0 of the protocol:
a command byte, the length of the request (64 bit, little endian) and the request; answers are a
length and the answer. ``_TENSOR`` is its ``rpc_tensor``.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.endpoints import split_endpoint

__all__ = ["PROTOCOL", "Remote", "RemoteDevice", "look_at", "look_at_all"]

log = logging.getLogger(__name__)

PROTOCOL: Final = (7, 0, 0)
"""Version that the pinned engine speaks; a test holds it against the engine's own server."""

_CONNECT_S: Final = 2.0
_ANSWER_S: Final = 5.0  # longer than a worker that held the server takes to end
_LOOK_S: Final = _CONNECT_S + 2 * _ANSWER_S
_MEASURE_S: Final = 0.15  # for each direction and for the device's memory
_TRIPS: Final = 25
_SIZES: Final = (64 << 10, 512 << 10, 4 << 20, 16 << 20)
_MATRIX_BYTES: Final = 256 << 20  # more than the cache of any processor but a few servers'
_ROW: Final = 4096  # values in a row of the matrix
_MOST_PRODUCTS: Final = 4096
_MOST_DEVICES: Final = 16

_ALLOC, _BASE, _FREE, _CLEAR, _SET, _GET, _COMPUTE, _MEMORY, _HELLO, _COUNT, _AGAIN = (
    0, 3, 4, 5, 6, 8, 10, 11, 14, 15, 16,
)  # fmt: skip
_CAPS: Final = bytes(24)  # none: plain TCP
_TENSOR: Final = struct.Struct("<QIQ4I4II16ii10QQQQ64si")
_F32, _F16 = 0, 1
_OP_NONE, _OP_MUL_MAT = 0, 29
_TO_COMPUTE: Final = 16  # GGML_TENSOR_FLAG_COMPUTE
_FILL: Final = 0x3C  # makes numbers of everyday size, as 16 and as 32 bits


@dataclass(frozen=True, slots=True)
class RemoteDevice:
    """A device of a server. ``bandwidth_bytes_per_s`` is what it read a matrix at."""

    total_bytes: int | None
    free_bytes: int | None
    bandwidth_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Remote:
    """A server as it answered just now; with a ``problem`` (one sentence) it can't be used."""

    endpoint: str
    problem: str = ""
    devices: tuple[RemoteDevice, ...] = ()
    round_trip_s: float | None = None
    link_bytes_per_s: float | None = None


class _Refused(Exception):  # noqa: N818 - says what the server did
    """The server can't be used; the text says why, to follow its address."""


def look_at_all(endpoints: Sequence[str], *, measure: bool = True) -> tuple[Remote, ...]:
    """Return what each server says, all asked at the same time, in their order.

    Measured one after another, so that they don't share the network.
    """
    found: dict[str, Remote] = {}

    def ask(endpoint: str) -> None:
        found[endpoint] = look_at(endpoint, measure=False)

    # The system looks names up without a limit of time; such a thread is left behind.
    threads = [threading.Thread(target=ask, args=(item,), daemon=True) for item in endpoints]
    ends_s = time.monotonic() + _LOOK_S
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, ends_s - time.monotonic()))
    late = f"can't be found: its name was looked up for {_LOOK_S:.0f} s without an answer."
    heard = tuple(found.get(item) or Remote(item, f"{item} {late}") for item in endpoints)
    if not measure:
        return heard
    return tuple(item if item.problem else look_at(item.endpoint) for item in heard)


def look_at(endpoint: str, *, measure: bool = True) -> Remote:
    """Return what a server says, within some seconds at most, whatever is at the other end."""
    try:
        address = split_endpoint(endpoint)
    except ValueError as error:
        return Remote(endpoint, str(error))
    try:
        with _connect(address) as stream:
            return _ask(_Line(stream), endpoint, measure=measure)
    except _Refused as error:
        return Remote(endpoint, f"{endpoint} {error}")
    except TimeoutError:
        return Remote(
            endpoint,
            f"{endpoint} accepts the connection but doesn't answer: another program uses it (a "
            "server has one client at a time), or it is no llama.cpp RPC server.",
        )
    except OSError as error:
        return Remote(endpoint, f"{endpoint} hung up: {error.strerror or error}.")


def _connect(address: tuple[str, int]) -> socket.socket:
    host, port = address
    try:
        found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise _Refused(f"can't be found: no computer of the name {host!r} is known.") from error
    try:
        number = str(found[0][4][0])
        stream = socket.create_connection((number, port), timeout=_CONNECT_S)
    except TimeoutError as error:
        raise _Refused(f"doesn't answer within {_CONNECT_S:.0f} s.") from error
    except ConnectionRefusedError as error:
        raise _Refused("refuses the connection: no server runs there.") from error
    except OSError as error:
        raise _Refused(f"can't be reached: {error.strerror or error}.") from error
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream.settimeout(_ANSWER_S)
    return stream


class _Line:
    """Requests and answers over one connection."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream

    def send(self, command: int, *parts: bytes | memoryview) -> None:
        size = sum(len(part) for part in parts)
        self._stream.sendall(struct.pack("<BQ", command, size))
        for part in parts:
            self._stream.sendall(part)

    def call(self, command: int, request: bytes, answer_bytes: int) -> bytes:
        self.send(command, request)
        return self.receive(answer_bytes)

    def receive(self, answer_bytes: int) -> bytes:
        (size,) = struct.unpack("<Q", self._exactly(8))
        if size != answer_bytes:
            raise _Refused("is no llama.cpp RPC server, or of another version.")
        return self._exactly(size)

    def _exactly(self, count: int) -> bytes:
        data = bytearray(count)
        view = memoryview(data)
        while view:
            got = self._stream.recv_into(view)
            if got == 0:
                raise _Refused(
                    "hung up at the first message: it is no llama.cpp RPC server, or of another "
                    "version."
                )
            view = view[got:]
        return bytes(data)


def _ask(line: _Line, endpoint: str, *, measure: bool) -> Remote:
    hello = line.call(_HELLO, _CAPS, 28)
    version = tuple(hello[:3])
    # The engine takes the same major version and any minor one up to its own.
    if version[0] != PROTOCOL[0] or version[1] > PROTOCOL[1]:
        raise _Refused(
            f"speaks RPC version {_dotted(version)}, this engine {_dotted(PROTOCOL)}: use the same "
            "version of llama.cpp on both computers."
        )
    (count,) = struct.unpack("<I", line.call(_COUNT, b"", 4))
    if not 1 <= count <= _MOST_DEVICES:
        raise _Refused(f"offers {count} devices.")
    devices = []
    for index in range(count):
        free, total = struct.unpack("<QQ", line.call(_MEMORY, struct.pack("<I", index), 16))
        devices.append(RemoteDevice(total or None, free or None))
    remote = Remote(endpoint, "", tuple(devices))
    # Tensors are laid out as in one version; a server of another is left in peace.
    return _measured(line, remote) if measure and version == PROTOCOL else remote


def _dotted(version: Sequence[int]) -> str:
    return ".".join(map(str, version))


# --- measuring


def _measured(line: _Line, remote: Remote) -> Remote:
    """Return the server with what could be measured; what fails stays unknown."""
    try:
        trip = _round_trip(line)
        remote = replace(remote, round_trip_s=trip)
        with _buffer(line, 0, max(_SIZES)) as place:
            if place is not None:
                remote = replace(remote, link_bytes_per_s=_link(line, place, trip))
        devices = []
        for index, device in enumerate(remote.devices):
            rate = _device_bandwidth(line, index, device, trip)
            devices.append(replace(device, bandwidth_bytes_per_s=rate))
        return replace(remote, devices=tuple(devices))
    except (_Refused, OSError) as error:
        log.warning("%s could not be measured: %s", remote.endpoint, error)
        return remote


def _round_trip(line: _Line) -> float:
    """Return the least time of the smallest question and its answer, in seconds.

    Whatever else the computers do makes a trip longer; the network makes none shorter than it is.
    """
    times: list[float] = []
    ends_s = time.perf_counter() + _MEASURE_S
    while len(times) < _TRIPS and (len(times) < 3 or time.perf_counter() < ends_s):
        started_s = time.perf_counter()
        line.call(_COUNT, b"", 4)
        times.append(time.perf_counter() - started_s)
    return min(times)


@dataclass(frozen=True, slots=True)
class _Place:
    """Memory on a device: the server's handle, and its address there."""

    handle: int
    address: int
    size_bytes: int


class _buffer(contextlib.AbstractContextManager["_Place | None"]):  # noqa: N801 - used as a verb
    """Memory on a device while it is measured; None where there is none to spare."""

    def __init__(self, line: _Line, device: int, size_bytes: int) -> None:
        self._line = line
        answer = line.call(_ALLOC, struct.pack("<IQ", device, size_bytes), 16)
        handle, size = struct.unpack("<QQ", answer)
        self._place: _Place | None = None
        if handle:
            (address,) = struct.unpack("<Q", line.call(_BASE, struct.pack("<Q", handle), 8))
            self._place = _Place(handle, address, size)

    def __enter__(self) -> _Place | None:
        return self._place

    def __exit__(self, *_error: object) -> None:
        if self._place is not None:
            with contextlib.suppress(OSError):
                self._line.send(_FREE, struct.pack("<Q", self._place.handle))


def _tensor(
    place: _Place,
    offset: int,
    kind: int,
    rows: tuple[int, int],
    *,
    identity: int = 1,
    op: int = _OP_NONE,
    sources: tuple[int, ...] = (),
) -> bytes:
    width, count = rows
    value_bytes = 2 if kind == _F16 else 4
    row_bytes = width * value_bytes
    whole = row_bytes * count
    return _TENSOR.pack(
        identity, kind, place.handle,
        width, count, 1, 1,
        value_bytes, row_bytes, whole, whole,
        op, *(0,) * 16, _TO_COMPUTE if op else 0,
        *sources, *(0,) * (10 - len(sources)),
        0, 0, place.address + offset, b"probe", 0,
    )  # fmt: skip


def _link(line: _Line, place: _Place, trip_s: float) -> float | None:
    """Return bytes per second, the lesser of both directions.

    Larger and larger pieces, until one takes long; the best of them, since whatever disturbs a
    transfer makes it slower.
    """
    rates = []
    for there in (True, False):
        best = None
        for size in _SIZES:
            tensor = _tensor(place, 0, _F32, (size // 4, 1))
            data = memoryview(bytes(size)) if there else memoryview(b"")
            started_s = time.perf_counter()
            if there:
                line.send(_SET, tensor, struct.pack("<BQ", 0, 0), data)
                line.call(_COUNT, b"", 4)  # answered when all of it was taken
            else:
                line.call(_GET, tensor + struct.pack("<QQ", 0, size), size)
            spent_s = time.perf_counter() - started_s
            if spent_s > 2 * trip_s:
                best = max(best or 0.0, size / (spent_s - trip_s))
            if spent_s > _MEASURE_S / 3:
                break
        rates.append(best)
    known = [rate for rate in rates if rate is not None]
    return min(known) if len(known) == 2 else None


def _device_bandwidth(line: _Line, index: int, device: RemoteDevice, trip_s: float) -> float | None:
    """Return how fast a device reads a large matrix, in bytes per second.

    With the server's own threads and kernels, so this is what a layer there can hope for.
    """
    if device.free_bytes is not None and device.free_bytes < 4 * _MATRIX_BYTES:
        return None
    rows = _MATRIX_BYTES // (2 * _ROW)
    vector_at = _MATRIX_BYTES
    result_at = vector_at + 4 * _ROW
    with _buffer(line, index, result_at + 4 * rows) as place:
        if place is None:
            return None
        # Pages that nobody wrote to all are one page of zeros, which a cache holds.
        line.send(_CLEAR, struct.pack("<QB", place.handle, _FILL))
        matrix = _tensor(place, 0, _F16, (_ROW, rows), identity=1)
        vector = _tensor(place, vector_at, _F32, (_ROW, 1), identity=2)
        result = _tensor(
            place, result_at, _F32, (rows, 1), identity=3, op=_OP_MUL_MAT, sources=(1, 2)
        )
        line.send(_COMPUTE, struct.pack("<IIQI", index, 1, 3, 3), matrix, vector, result)
        line.call(_COUNT, b"", 4)
        count = 1
        while True:
            # Asked for several times at once, until the network's time is lost in the product's.
            started_s = time.perf_counter()
            for _ in range(count):
                line.send(_AGAIN, struct.pack("<I", index))
            line.call(_COUNT, b"", 4)
            spent_s = time.perf_counter() - started_s - trip_s
            if spent_s > max(_MEASURE_S, 10 * trip_s):
                return count * _MATRIX_BYTES / spent_s
            if count >= _MOST_PRODUCTS:
                return None
            count *= 4

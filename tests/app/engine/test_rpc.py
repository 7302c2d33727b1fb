"""Servers as they are and as they should not be, looked at before the engine meets them."""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from app.engine import rpc
from app.engine.rpc import PROTOCOL, look_at, look_at_all
from tests.helpers.network import Network
from tests.helpers.patience import PATIENCE_S
from tests.helpers.rpc_server import free_port, rpc_server

MIB = 1 << 20


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with rpc_server() as running:
        yield running.endpoint


@contextlib.contextmanager
def _listening(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Run something else than an RPC server, on loopback; yield its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            try:
                stream, _ = listener.accept()
            except OSError:
                return
            with stream, contextlib.suppress(OSError):
                answer(stream)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def _take(stream: socket.socket, count: int) -> None:
    while count > 0 and (data := stream.recv(count)):
        count -= len(data)


def _web_page(stream: socket.socket) -> None:
    _take(stream, 33)
    stream.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    _take(stream, 1)


def _hello(version: tuple[int, int, int], devices: int = 1) -> Callable[[socket.socket], None]:
    """Answer as a server of some version does, up to the number of devices."""

    def answer(stream: socket.socket) -> None:
        _take(stream, 1 + 8 + 24)
        stream.sendall(struct.pack("<QBBBB24x", 28, *version, 0))
        _take(stream, 9)
        stream.sendall(struct.pack("<QI", 4, devices))
        _take(stream, 9)

    return answer


def test_the_engines_own_server_speaks_the_version_that_is_asked_for(server: str) -> None:
    host, port = server.split(":")
    with socket.create_connection((host, int(port)), timeout=5) as stream:
        line = rpc._Line(stream)
        assert tuple(line.call(14, bytes(24), 28)[:3]) == PROTOCOL


def test_a_server_tells_its_devices_and_is_measured(server: str) -> None:
    found = look_at(server)
    assert found.problem == ""
    (device,) = found.devices
    assert device.total_bytes is not None
    assert device.total_bytes > 100 * MIB
    assert found.round_trip_s is not None
    assert 0 < found.round_trip_s < 0.1
    assert found.link_bytes_per_s is not None
    assert found.link_bytes_per_s > 1e6
    assert device.bandwidth_bytes_per_s is not None
    # Between a slow disk and the fastest card: the product was computed, and took its time.
    assert 1e8 < device.bandwidth_bytes_per_s < 1e13
    plain = look_at(server, measure=False)
    assert plain.devices[0].total_bytes == device.total_bytes
    assert plain.round_trip_s is None


def test_measuring_takes_nothing_and_leaves_nothing() -> None:
    with rpc_server(memory_bytes=2048 * MIB) as running:
        before = look_at(running.endpoint)
        after = look_at(running.endpoint, measure=False)
        assert before.devices[0].free_bytes == after.devices[0].free_bytes == 2048 * MIB
        assert running.process.poll() is None


def test_a_small_device_is_not_filled_to_measure_it() -> None:
    with rpc_server(memory_bytes=4 * MIB) as running:
        found = look_at(running.endpoint)
    assert found.problem == ""
    assert found.devices[0].free_bytes == 4 * MIB
    assert found.devices[0].bandwidth_bytes_per_s is None
    assert found.link_bytes_per_s is None
    assert found.round_trip_s is not None


def test_a_slow_network_is_measured_as_such(server: str) -> None:
    with Network(server, delay_s=0.01, bytes_per_s=20e6) as network:
        found = look_at(network.endpoint)
    assert found.round_trip_s == pytest.approx(0.02, rel=0.6)
    assert found.round_trip_s is not None
    assert found.round_trip_s >= 0.02
    assert found.link_bytes_per_s is not None
    assert 5e6 < found.link_bytes_per_s < 21e6


def test_the_networks_time_is_not_the_devices(server: str) -> None:
    # What else runs makes a device slower for a while: the best of some looks is its own.
    with Network(server, delay_s=0.01, bytes_per_s=20e6) as network:
        far = max(_device_rate(network.endpoint) for _ in range(3))
    near = max(_device_rate(server) for _ in range(3))
    assert 0.2 < far / near < 5


def _device_rate(endpoint: str) -> float:
    rate = look_at(endpoint).devices[0].bandwidth_bytes_per_s
    assert rate is not None
    return rate


def test_what_else_runs_makes_no_network_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, took_s = 0.0, iter([0.9, 0.5, 0.04, 0.7, *[0.6] * 21])

    class Line:
        def call(self, *_request: object) -> None:
            nonlocal now_s
            now_s += next(took_s)

    monkeypatch.setattr(rpc, "_MEASURE_S", 60.0)
    monkeypatch.setattr("app.engine.rpc.time.perf_counter", lambda: now_s)
    assert rpc._round_trip(Line()) == pytest.approx(0.04)  # type: ignore[arg-type]


def test_nobody_there() -> None:
    found = look_at(f"127.0.0.1:{free_port()}")
    assert "refuses the connection: no server runs there" in found.problem


def test_a_name_that_nobody_has() -> None:
    assert "no computer of the name" in look_at("nowhere.invalid:50052").problem


def test_no_address() -> None:
    assert "HOST:PORT" in look_at("nowhere").problem


def test_a_server_that_another_program_uses(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpc, "_ANSWER_S", 0.5)
    host, port = server.split(":")
    with socket.create_connection((host, int(port)), timeout=5) as first:
        rpc._Line(first).call(14, bytes(24), 28)
        found = look_at(server)
    assert "another program uses it" in found.problem
    monkeypatch.setattr(rpc, "_ANSWER_S", PATIENCE_S)
    assert look_at(server, measure=False).problem == ""  # free again


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (_web_page, "is no llama.cpp RPC server"),
        (lambda stream: None, "hung up|reset"),
        (lambda stream: _take(stream, 33), "hung up at the first message"),
        (_hello((6, 0, 0)), r"speaks RPC version 6\.0\.0, this engine 7\.0\.0"),
        (_hello((7, 9, 0)), r"speaks RPC version 7\.9\.0"),
        (_hello((7, 0, 0), devices=0), "offers 0 devices"),
        (_hello((7, 0, 0), devices=1 << 31), "offers 2147483648 devices"),
        (_hello((7, 0, 0)), "hung up|reset"),
    ],
)
def test_what_is_no_usable_server_says_why(
    answer: Callable[[socket.socket], None], words: str
) -> None:
    with _listening(answer) as endpoint:
        found = look_at(endpoint)
    assert found.problem.startswith(endpoint)
    assert re.search(words, found.problem), found.problem
    assert found.devices == ()


def test_all_are_asked_at_once_and_answered_in_order(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("_ANSWER_S", "_LOOK_S"):
        monkeypatch.setattr(rpc, limit, PATIENCE_S)
    all_asked = threading.Barrier(3)

    def hang_up_when_all_are_asked(stream: socket.socket) -> None:
        _take(stream, 33)
        all_asked.wait(PATIENCE_S)

    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(_listening(hang_up_when_all_are_asked)) for _ in range(3)]
        found = look_at_all([others[0], server, *others[1:]], measure=False)
    assert not all_asked.broken
    assert [item.endpoint for item in found] == [others[0], server, *others[1:]]
    assert [bool(item.problem) for item in found] == [True, False, True, True]
    assert look_at_all(()) == ()


def test_a_name_server_that_is_silent_holds_nobody_up(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = threading.Event()
    real = socket.getaddrinfo

    def look_up(host: str, *rest: object) -> object:
        if host == "slow.invalid":
            slow.wait(PATIENCE_S)
        return real(host, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(rpc, "_LOOK_S", 6.0)
    found = look_at_all(["slow.invalid:1", server], measure=False)
    slow.set()
    assert "looked up for 6 s without an answer" in found[0].problem
    assert found[1].problem == ""

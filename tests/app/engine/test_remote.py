"""Connections to servers are watched, so that a computer that is switched off is noticed."""

from __future__ import annotations

import socket
import sys

import pytest

from app.engine.backend.remote import keep_alive
from tests.helpers.rpc_server import free_port


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are numbers of files elsewhere")
def test_connections_of_this_process_to_a_server_are_watched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with (
            socket.create_connection(("127.0.0.1", port)) as wanted,
            socket.socket() as idle,
            socket.create_server(("127.0.0.1", 0)) as elsewhere,
            socket.create_connection(elsewhere.getsockname()) as other,
        ):
            assert keep_alive([f"localhost:{port}", "nowhere.invalid:1"]) == 1
            watched = wanted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert watched
            if sys.platform.startswith("linux"):
                found = [
                    wanted.getsockopt(socket.IPPROTO_TCP, option)
                    for option in (
                        socket.TCP_KEEPIDLE,
                        socket.TCP_KEEPINTVL,
                        socket.TCP_KEEPCNT,
                        socket.TCP_USER_TIMEOUT,  # a server may compute for long
                    )
                ]
                assert found == [5, 2, 3, 0]
            for stream in (idle, other):
                assert not stream.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            # The connection still works.
            wanted.sendall(b"x")
            near, _ = listener.accept()
            with near:
                assert near.recv(1) == b"x"


def test_without_a_connection_nothing_is_watched() -> None:
    assert keep_alive([]) == 0
    assert keep_alive([f"127.0.0.1:{free_port()}"]) == 0

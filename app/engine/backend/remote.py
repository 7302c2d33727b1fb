"""Devices on other computers: llama.cpp's RPC servers, registered as backends.

Each server is looked at first (`app.engine.rpc`): what llama.cpp is shown has just answered. A
server may go away later. llama.cpp connects anew whenever it asks about a device that holds
nothing, and ends the process if it can't; so as long as no model lies on a device, its memory is
what was heard last, and before a load the servers are asked again.
"""

from __future__ import annotations

import ctypes
import os
import socket
import stat
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Final

import msgspec

from app.endpoints import split_endpoint
from app.engine.backend.library import device_name, ggml
from app.engine.protocol import DeviceInfo, RemoteInfo
from app.engine.rpc import Remote, look_at_all

__all__ = ["Remotes", "keep_alive"]

_NO_RPC: Final = (
    "this engine was built without RPC; build llama-cpp-python with CMAKE_ARGS=-DGGML_RPC=ON."
)
_IDLE_S, _EVERY_S, _TIMES = 5, 2, 3
_MOST_DESCRIPTORS: Final = 1024


class Remotes:
    """The servers that the worker was told to use."""

    def __init__(self, endpoints: Sequence[str]) -> None:
        self._devices: dict[str, DeviceInfo] = {}
        self._server: dict[str, tuple[str, int]] = {}
        endpoints = tuple(dict.fromkeys(endpoints))
        add = _adder() if endpoints else None
        if add is None:
            problems = (
                (endpoint, f"{endpoint} can't be used: {_NO_RPC}") for endpoint in endpoints
            )
            self.infos = tuple(RemoteInfo(endpoint=e, problem=text) for e, text in problems)
        else:
            self.infos = tuple(self._register(add, found) for found in look_at_all(endpoints))

    def _register(self, add: Callable[[bytes], int | None], found: Remote) -> RemoteInfo:
        if found.problem:
            return RemoteInfo(endpoint=found.endpoint, problem=found.problem)
        registry = add(found.endpoint.encode())
        if not registry:
            return RemoteInfo(
                endpoint=found.endpoint, problem=f"{found.endpoint} offers no device."
            )
        main, base = ggml()
        main.ggml_backend_register(registry)
        names = []
        for index, device in enumerate(found.devices):
            name = device_name(base.ggml_backend_reg_dev_get(registry, index))
            names.append(name)
            self._server[name] = (found.endpoint, index)
            self._devices[name] = DeviceInfo(
                name=name,
                description=found.endpoint,
                kind="gpu",
                backend="RPC",
                total_bytes=device.total_bytes,
                free_bytes=device.free_bytes,
                round_trip_s=found.round_trip_s,
                link_bytes_per_s=found.link_bytes_per_s,
                bandwidth_bytes_per_s=device.bandwidth_bytes_per_s,
            )
        return RemoteInfo(endpoint=found.endpoint, devices=tuple(names))

    @property
    def devices(self) -> dict[str, DeviceInfo]:
        """Devices by name, as heard last."""
        return dict(self._devices)

    @property
    def buffer_names(self) -> dict[str, str]:
        """Names of devices by what llama.cpp calls their buffers."""
        return {f"RPC{index}[{where}]": name for name, (where, index) in self._server.items()}

    def missing(self, in_use: Container[str] = ()) -> dict[str, str]:
        """Ask the servers again; return what is wrong, by the names of devices that are gone.

        Those ``in_use`` have this process as their one client, and are there.
        """
        busy = {where for name, (where, _) in self._server.items() if name in in_use}
        known = dict.fromkeys(where for where, _ in self._server.values())
        endpoints = tuple(where for where in known if where not in busy)
        answers = {found.endpoint: found for found in look_at_all(endpoints, measure=False)}
        gone = {}
        for name, (endpoint, index) in self._server.items():
            found = answers.get(endpoint)
            if found is None:
                continue
            if found.problem:
                gone[name] = found.problem
            elif index >= len(found.devices):
                gone[name] = f"{endpoint} offers fewer devices than before."
            else:
                self._heard(name, found.devices[index].free_bytes)
        return gone

    def heard(self, devices: Iterable[DeviceInfo]) -> tuple[DeviceInfo, ...]:
        """Return devices as llama.cpp reports them, with what was measured of the remote ones."""
        whole = []
        for device in devices:
            known = self._devices.get(device.name)
            if known is not None:
                self._heard(device.name, device.free_bytes)
            whole.append(self._devices.get(device.name, device))
        return tuple(whole)

    def _heard(self, name: str, free_bytes: int | None) -> None:
        self._devices[name] = msgspec.structs.replace(self._devices[name], free_bytes=free_bytes)


def _adder() -> Callable[[bytes], int | None] | None:
    """Return ``ggml_backend_rpc_add_server``, None if the engine was built without RPC.

    The backend hands it out itself, whether it is linked or was loaded as a plugin.
    """
    main, base = ggml()
    registry = main.ggml_backend_reg_by_name(b"RPC")
    if not registry:
        return None
    address = base.ggml_backend_reg_get_proc_address(registry, b"ggml_backend_rpc_add_server")
    if not address:
        return None
    return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(address)


def keep_alive(endpoints: Iterable[str]) -> int:
    """Have the system watch the engine's connections to servers; return how many there are.

    llama.cpp waits for an answer without limit, and a computer that was switched off or a cable
    that was pulled sends none. With keep-alives the connection breaks after some ten seconds, and
    the engine ends with that cause instead of standing still. A limit on what was sent
    (``TCP_USER_TIMEOUT``) is left alone: it also ends connections to a server that is there, but
    computes too long to take more in.
    """
    if sys.platform == "win32":
        return 0
    wanted = set()
    for endpoint in endpoints:
        host, port = split_endpoint(endpoint)
        try:
            found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)
        except OSError:
            continue
        wanted |= {item[4] for item in found}
    count = 0
    for descriptor in range(3, _MOST_DESCRIPTORS if wanted else 0):
        try:
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                continue
            stream = socket.socket(fileno=os.dup(descriptor))
        except OSError:
            continue
        with stream:
            try:
                if stream.getpeername() not in wanted:
                    continue
            except OSError:
                continue
            _watch(stream)
            count += 1
    return count


def _watch(stream: socket.socket) -> None:
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _IDLE_S),
        ("TCP_KEEPALIVE", _IDLE_S),  # macOS calls it so
        ("TCP_KEEPINTVL", _EVERY_S),
        ("TCP_KEEPCNT", _TIMES),
    ):
        option = getattr(socket, name, None)
        if option is not None:
            stream.setsockopt(socket.IPPROTO_TCP, option, value)

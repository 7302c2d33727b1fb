"""Addresses of other computers, as a person writes them: ``HOST:PORT``."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["checked_endpoint", "split_endpoint"]

_HOST: Final = re.compile(r"(?!-)[A-Za-z0-9._-]{1,253}")
_MOST_PORT: Final = 65_535


def split_endpoint(text: str) -> tuple[str, int]:
    """Return the host and the port of an address.

    A name or an IPv4 address: llama.cpp's RPC backend knows no IPv6 (its parser ends the host at
    the first colon).

    Raises:
        ValueError: it is none; the text is one sentence that says what is missing.
    """
    host, colon, port = text.strip().rpartition(":")
    if not colon or not host:
        raise ValueError(f"{text!r} is no address of the form HOST:PORT, such as 10.0.0.5:50052.")
    if ":" in host:
        raise ValueError(
            f"{text!r} can't be used: llama.cpp's RPC knows no IPv6; give a name or an IPv4 "
            "address."
        )
    if not _HOST.fullmatch(host):
        raise ValueError(f"{host!r} is no name of a computer.")
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= _MOST_PORT):
        raise ValueError(f"{port!r} is no port: a port is a number from 1 to {_MOST_PORT}.")
    return host, int(port)


def checked_endpoint(text: str) -> str:
    """Return an address in the one form in which it is kept and compared.

    Raises:
        ValueError: as `split_endpoint`.
    """
    host, port = split_endpoint(text)
    return f"{host.lower()}:{port}"

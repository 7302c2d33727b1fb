"""Addresses of other computers, as a person writes them: ``HOST:PORT``."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["checked_endpoint", "split_endpoint"]

_LABEL: Final = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_LONGEST_HOST: Final = 253
_MOST_PORT: Final = 65_535


def split_endpoint(text: str) -> tuple[str, int]:
    """Return the host and the port of an address.

    A name or an IPv4 address: llama.cpp's RPC backend knows no IPv6 (its parser ends the host at
    the first colon).

    Raises:
        ValueError: it is none; the text is one sentence that says what is missing.
    """
    if "://" in text or "/" in text:
        raise ValueError(f"{text!r} is the address of a page: give HOST:PORT alone.")
    host, colon, port = text.strip().rpartition(":")
    if not colon or not host:
        raise ValueError(f"{text!r} is no address of the form HOST:PORT, such as 10.0.0.5:50052.")
    if ":" in host:
        raise ValueError(
            f"{text!r} can't be used: llama.cpp's RPC knows no IPv6; give a name or an IPv4 "
            "address."
        )
    labels = host.removesuffix(".").split(".")
    if len(host) > _LONGEST_HOST or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(f"{host!r} is no name of a computer.")
    if labels[-1].isdigit() and not _is_ipv4(labels):
        raise ValueError(f"{host!r} is no IPv4 address: that is four numbers from 0 to 255.")
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= _MOST_PORT):
        raise ValueError(f"{port!r} is no port: a port is a number from 1 to {_MOST_PORT}.")
    return host, int(port)


def _is_ipv4(labels: list[str]) -> bool:
    """Tell whether labels are those of an IPv4 address; no name ends with a number."""
    return len(labels) == 4 and all(
        label.isdigit() and label == str(int(label)) and int(label) <= 255 for label in labels
    )


def checked_endpoint(text: str) -> str:
    """Return an address in the one form in which it is kept and compared.

    Raises:
        ValueError: as `split_endpoint`.
    """
    host, port = split_endpoint(text)
    return f"{host.lower()}:{port}"

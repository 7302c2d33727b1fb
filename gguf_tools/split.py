"""Which devices layers go to and in which parts, as a person writes it."""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["device_names", "is_named", "leave_out", "parse_split"]


def device_names(text: str | None) -> frozenset[str] | None:
    """Return what a text such as "CUDA0,10.0.0.5:50052" names, None for all devices.

    "none" names no device; with a minus in front a device is left out: "-10.0.0.5:50052".
    """
    if text is None:
        return None
    names = (part.strip().casefold() for part in text.split(","))
    return frozenset(name for name in names if name) - {"none"}


def is_named(names: frozenset[str] | None, name: str, description: str) -> bool:
    """Tell whether a device is among those named: by its name, or its description or address."""
    if names is None:
        return True
    own = {name.casefold(), description.casefold()}
    left_out = {item[1:] for item in names if item.startswith("-")}
    if not own.isdisjoint(left_out):
        return False
    wanted = {item for item in names if not item.startswith("-")}
    return not own.isdisjoint(wanted) if wanted else bool(left_out)


def leave_out(text: str | None, descriptions: Iterable[str]) -> str:
    """Return the text that also leaves these devices out."""
    kept = [part.strip() for part in (text or "").split(",") if part.strip()]
    return ",".join(dict.fromkeys([*kept, *(f"-{item}" for item in descriptions)]))


def parse_split(text: str | None) -> tuple[float, ...]:
    """Return the parts that a text such as "3,1" means, none for None or an empty one.

    Raises:
        ValueError: it means none; the text is one sentence.
    """
    if text is None or not text.strip():
        return ()
    try:
        parts = tuple(float(part) for part in text.replace("/", ",").split(","))
    except ValueError:
        parts = ()
    if not parts or not all(math.isfinite(part) and part >= 0 for part in parts) or not sum(parts):
        raise ValueError(f"{text!r} is no split; give the devices' parts, such as 3,1.")
    return parts

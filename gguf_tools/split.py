"""Which devices layers go to and in which parts, as a person writes it."""

from __future__ import annotations

import math

__all__ = ["device_names", "is_named", "parse_split"]


def device_names(text: str | None) -> frozenset[str] | None:
    """Return what a text such as "CUDA0,10.0.0.5:50052" names, None for all devices.

    "none" names no device.
    """
    if text is None:
        return None
    names = (part.strip().casefold() for part in text.split(","))
    return frozenset(name for name in names if name) - {"none"}


def is_named(names: frozenset[str] | None, name: str, description: str) -> bool:
    """Tell whether a device is among those named: by its name, or its description or address."""
    return names is None or not names.isdisjoint({name.casefold(), description.casefold()})


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

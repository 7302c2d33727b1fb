"""Parts of the layers that several devices get, as a person writes them."""

from __future__ import annotations

import math

__all__ = ["parse_split"]


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

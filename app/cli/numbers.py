"""Numbers on the command line, with limits that a refusal names in whole words."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Final

__all__ = ["MOST_TOKENS", "decimal", "whole"]

MOST_TOKENS: Final = 16_777_216  # beyond any context


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return a parser of whole numbers between two limits, both allowed."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number.") from None
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{value:,} is not between {low:,} and {high:,}.")
        return value

    return parse


def decimal(low: float, high: float) -> Callable[[str], float]:
    """Return a parser of numbers between two limits, both allowed."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number.") from None
        if math.isnan(value) or not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text} is not between {low:,.10g} and {high:,.10g}.")
        return value

    return parse

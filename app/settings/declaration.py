"""What a setting is: its names, what it takes, and the check of a value."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["Effect", "Kind", "Scope", "Setting", "SettingError"]

Scope: TypeAlias = Literal["app", "load", "sampling"]
Kind: TypeAlias = Literal["bool", "int", "float", "choice", "text", "lines", "folders"]
Effect: TypeAlias = Literal["now", "next reply", "next load", "restart"]


class SettingError(ValueError):
    """A value that a setting does not take; the text says what it takes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: what it is called, what it takes, what it does and when.

    ``none_label`` makes None a value of its own and names it ("chosen by Plimsoll"). ``short`` are
    flags of the same setting that are quicker to type.
    """

    key: str
    scope: Scope
    group: str
    label: str
    help: str
    kind: Kind
    default: Any
    effect: Effect
    choices: tuple[tuple[str, str], ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    unit: str = ""
    none_label: str | None = None
    advanced: bool = False
    accept: Callable[[str], str] | None = None  # one line or text in its own form, or ValueError
    short: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        """Return the command-line flag."""
        return "--" + self.key.replace("_", "-")

    def check(self, value: object) -> Any:
        """Return the value in the setting's own type.

        Raises:
            SettingError: the value is none that this setting takes.
        """
        if value is None:
            if self.none_label is not None:
                return None
            raise SettingError(f"{self.label} needs a value.")
        return _CHECKS[self.kind](self, value)


_MOST_CHECKED = 400  # characters of an address, a list of devices: a sentence repeats them
_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = 80


def _brief(value: object) -> str:
    """Return a value as a sentence can hold it: a file may say a number of 4,000 digits."""
    return _BRIEF.repr(value)


def _check_bool(setting: Setting, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise SettingError(f"{setting.label} is either on or off, not {_brief(value)}.")


def _check_number(setting: Setting, value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SettingError(f"{setting.label} is a number, not {_brief(value)}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingError(f"{setting.label} is a number, not {_brief(value)}.")
    if setting.kind == "int" and value != int(value):
        raise SettingError(f"{setting.label} is a whole number, not {_brief(value)}.")
    low, high = setting.minimum, setting.maximum
    if (low is not None and value < low) or (high is not None and value > high):
        raise SettingError(
            f"{setting.label} lies between {low:,.10g} and {high:,.10g}, not {_brief(value)}."
        )
    return int(value) if setting.kind == "int" else float(value)


def _check_choice(setting: Setting, value: object) -> str:
    names = [name for name, _ in setting.choices]
    if isinstance(value, str) and value in names:
        return value
    raise SettingError(f"{setting.label} is one of {', '.join(names)}, not {_brief(value)}.")


def _check_text(setting: Setting, value: object) -> str:
    if isinstance(value, str):
        return _accepted(setting, value)
    raise SettingError(f"{setting.label} is a text, not {_brief(value)}.")


def _check_lines(setting: Setting, value: object) -> tuple[str, ...]:
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        accepted = tuple(_accepted(setting, item) for item in value)
        return accepted if setting.accept is None else tuple(dict.fromkeys(accepted))
    raise SettingError(f"{setting.label} is a list of texts, not {_brief(value)}.")


def _accepted(setting: Setting, text: str) -> str:
    if setting.accept is None:
        return text
    if len(text) > _MOST_CHECKED:
        raise SettingError(
            f"{setting.label} has at most {_MOST_CHECKED:,} characters, not {len(text):,}."
        )
    try:
        return setting.accept(text)
    except ValueError as error:
        raise SettingError(str(error)) from error


_CHECKS = {
    "bool": _check_bool,
    "int": _check_number,
    "float": _check_number,
    "choice": _check_choice,
    "text": _check_text,
    "lines": _check_lines,
    "folders": _check_lines,
}

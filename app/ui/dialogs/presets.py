"""The presets that come with the program: named sets of sampling values.

A preset is a mapping like those of `app.settings.Settings.presets`: sampling keys, of which only
those that differ from the defaults are named, and perhaps ``system_prompt``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from app.settings import by_scope

__all__ = ["BUILT_IN", "DEFAULT_PRESET", "all_presets", "preset_values"]

DEFAULT_PRESET: Final = "Default"

BUILT_IN: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        DEFAULT_PRESET: {},
        # Nearly the likeliest token each time: extraction, summaries, facts.
        "Precise": {"temperature": 0.2, "top_k": 20, "top_p": 0.9, "min_p": 0.1},
        # A wide draw, with the tail cut by min-p rather than by rank.
        "Creative": {"temperature": 1.1, "top_k": 0, "top_p": 1.0, "min_p": 0.05},
        # Low temperature, and no penalty that would punish code for repeating its own names.
        "Code": {"temperature": 0.1, "top_k": 40, "top_p": 0.95, "repeat_penalty": 1.0},
    }
)


def all_presets(own: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the built-in presets and the user's, whose names win, in this order."""
    return {**BUILT_IN, **{name: own[name] for name in sorted(own, key=str.casefold)}}


def preset_values(preset: Mapping[str, Any]) -> dict[str, Any]:
    """Return all sampling values under a preset."""
    return {
        setting.key: preset.get(setting.key, setting.default) for setting in by_scope("sampling")
    }

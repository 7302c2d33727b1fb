"""What helps after a load that failed or an engine that was lost, and what each choice sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from PySide6.QtCore import QCoreApplication

from app.engine.protocol import DeviceInfo
from app.ui.shell.views import Choice
from gguf_tools.split import leave_out

__all__ = ["changes_of", "way_back", "ways_out"]

_LEAST_CONTEXT: Final = 2048
_USUAL_CONTEXT: Final = 8192  # where the context is left to the program
_FEWER_LAYERS: Final = 4


def _tr(text: str) -> str:
    return QCoreApplication.translate("LoadChoices", text)


def ways_out(
    values: Mapping[str, Any],
    lost: Sequence[DeviceInfo],
    *,
    has_gpu: bool,
    from_outside: bool = False,
) -> tuple[Choice, ...]:
    """Return what can be tried with a model's load settings ``values``.

    Args:
        values: the settings that it was loaded with.
        lost: computers on the network that are gone.
        has_gpu: layers of the model were on a GPU.
        from_outside: somebody ended the engine, so that no other setting would help.
    """
    if lost:
        names = ", ".join(device.name for device in lost)
        return (
            Choice("without_remotes", _tr("Load without {0}").format(names), "primary"),
            Choice("reload", _tr("Load again")),
        )
    choices = [Choice("reload", _tr("Load again"), "primary")]
    if from_outside:
        return tuple(choices)
    smaller = _smaller_context(values)
    if smaller is not None:
        choices.append(Choice("smaller_context", _tr("Context to {0}").format(f"{smaller:,}")))
    if values["type_k"] == "f16":
        choices.append(Choice("q8_0", _tr("KV cache to q8_0")))
    if has_gpu:
        choices.append(Choice("fewer_layers", _tr("Fewer GPU layers")))
    if not values["compatibility"]:
        choices.append(Choice("compatibility", _tr("Compatibility mode")))
    return tuple(choices)


def way_back(name: str | None) -> tuple[Choice, ...]:
    """Return the way back to the model that gave way, named; none where there was none."""
    return () if name is None else (Choice("back", _tr("Back to {0}").format(name)),)


def changes_of(
    choice: str, values: Mapping[str, Any], lost: Sequence[DeviceInfo]
) -> dict[str, Any]:
    """Return the load settings that a choice changes."""
    if choice == "smaller_context":
        return {"n_ctx": _smaller_context(values) or _LEAST_CONTEXT}
    if choice == "q8_0":
        return {"type_k": "q8_0", "type_v": "q8_0"}
    if choice == "fewer_layers":
        return {"gpu_layers": max(0, values["gpu_layers"] - _FEWER_LAYERS)}
    if choice == "without_remotes":
        addresses = [device.description for device in lost]
        return {"devices": leave_out(values["devices"], addresses)}
    if choice == "compatibility":
        return {"compatibility": True}
    return {}


def _smaller_context(values: Mapping[str, Any]) -> int | None:
    n_ctx = int(values["n_ctx"] or _USUAL_CONTEXT)
    return max(_LEAST_CONTEXT, n_ctx // 2) if n_ctx > _LEAST_CONTEXT else None

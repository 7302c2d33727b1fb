"""What the Models page's predictions rest on, in words."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QCoreApplication

from gguf_tools.machine import Basis, Machine, bandwidth_how
from gguf_tools.units import format_bandwidth
from inspector.widgets.text import basis_word

__all__ = ["basis_line", "basis_words"]

_FASTER: Final = 1.02  # of main memory: less is no other figure
_CACHED: Final = 1.25  # of main memory: less may be what measurements differ by


def _tr(text: str, *values: str) -> str:
    text = QCoreApplication.translate("Models", text)
    for place, value in enumerate(values, start=1):
        text = text.replace(f"%{place}", value)
    return text


def basis_line(
    machine: Machine | None,
    fastest_bytes_per_s: float | None = None,
    *,
    is_lower: bool = False,
    is_rough: bool = False,
) -> str:
    """Return what predictions rest on: device and bandwidth with its basis.

    Args:
        machine: that was planned with.
        fastest_bytes_per_s: the most that a row rests on: a processor's cache may hold a part of a
            small model, which is read faster than main memory.
        is_lower: of a small model's size nothing was measured.
        is_rough: something that a row rests on was measured while busy.
    """
    if machine is None:
        return _tr("No predictions yet: the engine has not started")
    device = machine.accelerators[0] if machine.accelerators else machine.cpu
    rate = device.bandwidth_bytes_per_s
    if rate is None:
        return _tr("Predicted for %1, whose bandwidth is unknown", _short(device.description))
    text = "Predicted for %1 · %2 %3"
    if not machine.accelerators:  # what a processor's cache holds is read faster
        text = "Predicted for %1 · main memory %2 %3"
    line = _tr(
        text,
        _short(device.description or device.name),
        format_bandwidth(rate),
        basis_words(device.bandwidth_basis, device.bandwidth_note),
    )
    fastest = format_bandwidth(fastest_bytes_per_s or 0.0)
    if not machine.accelerators and (fastest_bytes_per_s or 0.0) > rate * _FASTER:
        is_cached = (fastest_bytes_per_s or 0.0) > rate * _CACHED
        text = " · small models up to %1, partly from cache" if is_cached else " · small ones %1"
        line += _tr(text, fastest)
    elif not machine.accelerators and is_lower:
        line += _tr(" · small models may be faster, not measured yet")
    if not machine.accelerators and is_rough and not machine.cpu.measured_busy:
        line += _tr(", measured while busy")
    return line


def basis_words(basis: Basis, note: str) -> str:
    """Say how a bandwidth was got, with what is special about it."""
    return bandwidth_how(basis_word(basis), note)


def _short(name: str) -> str:
    words = name.replace("(R)", "").replace("(TM)", "").split()
    return " ".join(word for word in words if word not in {"CPU", "Processor"}) or "CPU"

"""Which devices a model is offloaded to, as options say it and as llama.cpp takes it."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.engine.backend.library import device_handles, lib
from app.engine.interface import EngineFailure
from app.engine.protocol import DeviceInfo, LoadOptions
from gguf_tools.machine import MOST_DEVICES
from gguf_tools.split import device_names, is_named, parse_split
from gguf_tools.units import counted

__all__ = ["Placing", "place"]


@dataclass(frozen=True, slots=True)
class Placing:
    """Devices in the order in which the engine fills them, and what had to be left out.

    ``split`` are their parts, empty for by free memory. ``explicit`` False leaves the choice to
    llama.cpp, which comes to the same.
    """

    devices: tuple[DeviceInfo, ...]
    split: tuple[float, ...] = ()
    explicit: bool = True
    notices: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the devices' names."""
        return tuple(device.name for device in self.devices)

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Return the addresses of devices on other computers."""
        remote = (item.description for item in self.devices if item.backend == "RPC")
        return tuple(dict.fromkeys(remote))

    def apply(self, parameters: Any) -> None:
        """Set ``devices`` and ``tensor_split`` of ``llama_model_params``.

        The arrays are kept with the structure: llama.cpp reads them while it loads.
        """
        if self.explicit:
            handles = device_handles()
            chosen = [handles[name] for name in self.names]
            array = (ctypes.c_void_p * (len(chosen) + 1))(*chosen, None)
            parameters.kept_devices = array
            parameters.devices = ctypes.cast(array, ctypes.c_void_p)
        if self.split:
            shares = (ctypes.c_float * max(lib.llama_max_devices(), 1))()
            for index, share in enumerate(self.split):
                shares[index] = share
            parameters.kept_split = shares
            parameters.tensor_split = shares


def place(
    options: LoadOptions, devices: Sequence[DeviceInfo], missing: Mapping[str, str]
) -> Placing:
    """Return where layers may go.

    Args:
        options: how the model is to be loaded.
        devices: what the engine reports.
        missing: names of remote devices that do not answer any more, and why.

    Raises:
        EngineFailure: ``tensor_split`` is no list of parts, or has more than there are devices.
    """
    known = _in_order(devices)
    notices = [
        f"{problem.rstrip('.')}. The model was loaded without {name}."
        for name, problem in missing.items()
    ]
    names = device_names(options.devices)
    wanted = [item for item in known if is_named(names, item.name, item.description)]
    absent = sorted(
        name
        for name in names or ()
        if not name.startswith("-")
        and not any(is_named(frozenset({name}), item.name, item.description) for item in known)
    )
    if absent:
        used = ", ".join(item.name for item in wanted) or "the processor alone"
        notices.append(f"There is no device {', '.join(absent)}; the model lies on {used}.")
    usable = tuple(item for item in wanted if item.name not in missing)
    if len(usable) > MOST_DEVICES:
        notices.append(
            f"{MOST_DEVICES} of {len(usable)} devices are used: llama.cpp takes no more."
        )
        usable = usable[:MOST_DEVICES]
    remote = any(item.backend == "RPC" for item in known)
    split = _split(options.tensor_split)
    if len(split) > len(usable) and usable:
        raise EngineFailure(
            "bad_request",
            f"The split {options.tensor_split!r} has {counted(len(split), 'part')} for "
            f"{counted(len(usable), 'device')}: {', '.join(item.name for item in usable)}.",
        )
    return Placing(
        devices=usable,
        split=split if usable else (),
        explicit=remote or options.devices is not None,
        notices=tuple(notices),
    )


def _in_order(devices: Sequence[DeviceInfo]) -> list[DeviceInfo]:
    """Follow ``llama_prepare_model_devices`` in src/llama.cpp: RPC first, then GPUs, and those
    that share main memory, of one backend, only where there is no GPU of this computer.
    """
    remote = [item for item in devices if item.backend == "RPC"]
    local = [item for item in devices if item.kind == "gpu" and item.backend != "RPC"]
    shared = [item for item in devices if item.kind == "igpu"]
    if not local:
        local = [item for item in shared if item.backend == shared[0].backend]
    return [*remote, *local]


def _split(text: str | None) -> tuple[float, ...]:
    try:
        return parse_split(text)
    except ValueError as error:
        raise EngineFailure("bad_request", str(error)) from error

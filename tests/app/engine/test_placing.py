"""Which devices a load uses, without an engine."""

from __future__ import annotations

import pytest

from app.engine.backend.placing import place
from app.engine.interface import EngineFailure
from app.engine.protocol import DeviceInfo, LoadOptions


def _device(name: str, kind: str, backend: str, description: str = "") -> DeviceInfo:
    return DeviceInfo(
        name=name,
        description=description or name,
        kind=kind,  # type: ignore[arg-type]
        backend=backend,
        total_bytes=1 << 30,
        free_bytes=1 << 30,
    )


CPU = _device("CPU", "cpu", "CPU")
CARD = _device("CUDA0", "gpu", "CUDA", "NVIDIA GeForce RTX 4090")
FAR = _device("RPC0", "gpu", "RPC", "10.0.0.5:50052")
SHARED = (_device("Vulkan0", "igpu", "Vulkan"), _device("Vulkan1", "igpu", "Vulkan"))
OTHER = _device("SYCL0", "igpu", "SYCL")


def _names(*devices: DeviceInfo, **options: str | None) -> tuple[str, ...]:
    return place(LoadOptions(**options), devices, {}).names  # type: ignore[arg-type]


def test_the_order_is_the_engines() -> None:
    assert _names(CPU, CARD, FAR, *SHARED) == ("RPC0", "CUDA0")
    # A device elsewhere does not keep those that share main memory from being used.
    assert _names(CPU, FAR, *SHARED, OTHER) == ("RPC0", "Vulkan0", "Vulkan1")
    assert _names(CPU) == ()


def test_the_engine_chooses_by_itself_where_nothing_was_said() -> None:
    assert not place(LoadOptions(), (CPU, CARD), {}).explicit
    assert place(LoadOptions(devices="cuda0"), (CPU, CARD), {}).explicit
    assert place(LoadOptions(), (CPU, CARD, FAR), {}).explicit


def test_a_device_that_does_not_answer_is_left_out_and_named() -> None:
    placing = place(LoadOptions(), (CPU, FAR, CARD), {"RPC0": "10.0.0.5:50052 hung up."})
    assert placing.names == ("CUDA0",)
    assert placing.notices == ("10.0.0.5:50052 hung up. The model was loaded without RPC0.",)
    assert placing.endpoints == ()
    assert place(LoadOptions(), (CPU, FAR), {}).endpoints == ("10.0.0.5:50052",)


def test_more_devices_than_the_engine_takes() -> None:
    many = [_device(f"RPC{i}", "gpu", "RPC", f"10.0.0.{i}:1") for i in range(20)]
    placing = place(LoadOptions(), (CPU, *many), {})
    assert len(placing.names) == 14
    assert placing.notices == ("14 of 20 devices are used: llama.cpp takes no more.",)


def test_split() -> None:
    assert place(LoadOptions(tensor_split="3,1"), (CPU, FAR, CARD), {}).split == (3.0, 1.0)
    assert place(LoadOptions(tensor_split="3,1"), (CPU,), {}).split == ()
    with pytest.raises(EngineFailure, match="has 3 parts for 2 devices: RPC0, CUDA0"):
        place(LoadOptions(tensor_split="1,1,1"), (CPU, FAR, CARD), {})
    with pytest.raises(EngineFailure, match="is no split"):
        place(LoadOptions(tensor_split="x"), (CPU, FAR), {})

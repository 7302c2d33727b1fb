"""Which rows tell how good a plan was, and which device a buffer lies on."""

from __future__ import annotations

import pytest

from inspector.plan_errors import PlanError, device_of_buffer, tensors_of_range, worst_error
from tests.inspector.conftest import MIB


def _row(planned_bytes: int, engine_bytes: int) -> PlanError:
    return PlanError(
        device="CPU", what="compute", planned_bytes=planned_bytes, engine_bytes=engine_bytes
    )


def test_small_rows_tell_nothing_and_the_furthest_off_is_named() -> None:
    assert worst_error([]) is None
    assert worst_error([_row(1, MIB - 1)]) is None
    at_least = _row(1, MIB)
    assert worst_error([_row(1, MIB - 1), at_least]) is at_least
    assert worst_error([_row(MIB, 1000)]) is not None
    near, far = _row(10 * MIB, 11 * MIB), _row(10 * MIB, 20 * MIB)
    assert worst_error([near, far]) is far
    assert worst_error([far, near]) is far


@pytest.mark.parametrize(
    ("buffer", "device"),
    [
        ("CPU", "CPU"),
        ("CPU_Mapped", "CPU"),
        ("CPU_REPACK", "CPU"),
        ("AMX", "CPU"),
        ("CUDA_Host", "CPU"),
        ("CUDA0", "CUDA0"),
        ("CUDA1_Split", "CUDA1"),
        ("something new", "CPU"),
    ],
)
def test_a_buffer_lies_on_the_device_that_it_is_named_after(buffer: str, device: str) -> None:
    assert device_of_buffer(buffer, ["CPU", "CUDA0", "CUDA1"]) == device


@pytest.mark.parametrize(
    ("buffer", "device"),
    [
        ("CUDA10_Compute", "CUDA10"),  # begins with CUDA1, too
        ("CUDA1_Compute", "CUDA1"),
        ("Vulkan", "Vulkan0"),
        ("SYCL", "CPU"),
    ],
)
def test_a_buffer_of_a_name_unknown_lies_on_the_device_nearest_to_it(
    buffer: str, device: str
) -> None:
    assert device_of_buffer(buffer, ["CPU", "CUDA1", "CUDA10", "Vulkan0"]) == device


@pytest.mark.parametrize(
    ("mapped", "planned", "own", "found"),
    [(100, 0, 0, 100), (100, 80, 0, 80), (100, 80, 30, 50), (40, 80, 30, 40), (100, 20, 30, 0)],
)
def test_tensors_of_a_mapped_range(mapped: int, planned: int, own: int, found: int) -> None:
    assert tensors_of_range(mapped, planned, own) == found

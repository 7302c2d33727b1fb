"""What a finished turn was held against, kept with it: what is measured later changes nothing.

A plan is too much to keep with every turn. This is what a rate is judged by: what was predicted at
the depths of the reply, the bandwidths it followed from, and the measurements it rested on.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from inspector.plan_record import FitRecord, PlanRecord, RatePoint

__all__ = ["Judged", "JudgedDevice", "as_judged", "judged_by"]


class JudgedDevice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The bandwidth that was taken of a device, in bytes per second, and where it came from."""

    name: str
    bandwidth_bytes_per_s: float | None = None
    bandwidth_basis: str = "assumed"
    bandwidth_note: str = ""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What was predicted of one reply when it ended: ``curve`` at its begin, middle and end.

    ``causes`` are sentences on why it was slower than that, the most telling first; None where
    nobody noted them, as earlier versions did not.
    """

    curve: tuple[RatePoint, ...]
    devices: tuple[JudgedDevice, ...]
    fit: FitRecord | None = None
    causes: tuple[str, ...] | None = None


def judged_by(plan: PlanRecord | None, depths: Iterable[int]) -> Judged | None:
    """Return what a plan says at some depths, in tokens; None if it knows of no bandwidth."""
    if plan is None or not plan.curve or plan.curve[0].ceiling is None:
        return None
    points = [plan.rate_at(depth) for depth in sorted(set(depths))]
    return Judged(
        # Beyond its ends a curve gives the last point, which has a depth of its own.
        curve=tuple(dict.fromkeys(point for point in points if point is not None)),
        devices=tuple(
            JudgedDevice(
                name=item.name,
                bandwidth_bytes_per_s=item.bandwidth_bytes_per_s,
                bandwidth_basis=item.bandwidth_basis,
                bandwidth_note=item.bandwidth_note,
            )
            for item in plan.devices
        ),
        fit=plan.fit,
    )


def as_judged(plan: PlanRecord, judged: Judged) -> PlanRecord:
    """Return a plan with the predictions and bandwidths that a turn was judged with."""
    known = {item.name: item for item in judged.devices}
    devices = tuple(
        msgspec.structs.replace(
            item,
            bandwidth_bytes_per_s=known[item.name].bandwidth_bytes_per_s,
            bandwidth_basis=known[item.name].bandwidth_basis,
            bandwidth_note=known[item.name].bandwidth_note,
        )
        if item.name in known
        else item
        for item in plan.devices
    )
    return msgspec.structs.replace(plan, curve=judged.curve, devices=devices, fit=judged.fit)

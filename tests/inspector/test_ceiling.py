"""The arithmetic below the ceilings comes out when it is done by hand."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
import pytest

from gguf_tools.plan import Plan
from inspector.ceiling import decode_equation, decode_limit, prefill_equation
from inspector.plan_record import FitRecord, PlanRecord
from inspector.session import Session
from inspector.speed import speed_view
from tests.inspector.conftest import card, machine

PlanOf = Callable[..., Plan]

_UNITS = {
    "FLOP": 1.0,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "MFLOP": 1e6,
    "GFLOP": 1e9,
    "TFLOP": 1e12,
}


def recorded(plan: Plan) -> PlanRecord:
    """Return a plan as the session keeps it."""
    session = Session()
    session.planned(plan)
    assert session.plan is not None
    return session.plan


def by_hand(equation: str) -> float:
    """Return what a reader with a calculator gets."""
    numbers = re.findall(r"([\d.,]+) ([A-Za-z]+)", equation)
    (over, first), (under, second) = numbers
    return (
        float(over.replace(",", ""))
        * _UNITS[first]
        / (float(under.replace(",", "")) * _UNITS[second])
    )


def test_decode_is_bandwidth_over_bytes(plan_of: PlanOf) -> None:
    plan = recorded(plan_of())
    for point in (plan.rate_at(0), plan.rate_at(plan.settings.n_ctx - 1)):
        assert point is not None
        assert point.ceiling is not None
        equation = decode_equation(plan, point)
        assert equation.startswith("40.0 GB/s ÷ ")
        assert by_hand(equation) == pytest.approx(point.ceiling, rel=0.02)
        assert decode_limit(plan, point) in {"bandwidth-bound", "held by arithmetic"}


def test_devices_that_share_a_model_are_told_together(plan_of: PlanOf) -> None:
    plan = recorded(plan_of(machine(card()), gpu_layers=1))
    point = plan.rate_at(0)
    assert point is not None
    assert point.ceiling is not None
    equation = decode_equation(plan, point)
    assert "together" in equation
    assert by_hand(equation) == pytest.approx(point.ceiling, rel=0.02)


def test_nothing_is_said_of_what_is_not_known(plan_of: PlanOf) -> None:
    plan = recorded(plan_of())
    point = plan.rate_at(0)
    assert point is not None
    unknown = msgspec.structs.replace(point, ceiling=None)
    assert decode_equation(plan, unknown) == ""
    assert decode_limit(plan, unknown) == "bandwidth not known"
    assert prefill_equation(None, 1e9) == prefill_equation(1e12, None) == ""


def test_prefill_is_operations_a_second_over_operations_a_token(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card(flops_per_s=8e13)), gpu_layers=-1))
    view = speed_view(session)
    assert view is not None
    assert view.prefill.ceiling is not None
    assert by_hand(view.prefill.equation) == pytest.approx(view.prefill.ceiling, rel=0.02)


def test_a_card_is_held_by_its_bandwidth_or_by_launches(
    plan_of: PlanOf,
) -> None:
    on_card, on_host = recorded(plan_of(machine(card()))), recorded(plan_of())
    point = on_host.rate_at(0)
    assert point is not None
    assert point.ceiling is not None
    half = msgspec.structs.replace(point, high=point.ceiling / 2)
    assert decode_limit(on_card, half) == "held by kernel launches (assumed)"
    usual = msgspec.structs.replace(point, high=point.ceiling * 0.75)
    assert decode_limit(on_card, usual) == "bandwidth-bound"
    fit = FitRecord(own=True, count=3, deepest=100, spread=0.1)
    measured = msgspec.structs.replace(on_card, fit=fit)  # what was measured tells no cause
    assert decode_limit(measured, half) == "bandwidth-bound"
    assert decode_limit(on_host, half) == "held by arithmetic"
    full = msgspec.structs.replace(point, high=point.ceiling)
    assert decode_limit(on_host, full) == "bandwidth-bound"
    unknown = msgspec.structs.replace(point, ceiling=None)
    assert decode_limit(on_host, unknown) == "bandwidth not known"
    assert decode_limit(msgspec.structs.replace(on_host, devices=()), half) == "bandwidth-bound"

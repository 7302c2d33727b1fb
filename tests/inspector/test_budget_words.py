"""Which arithmetic stands below each part of a memory, and the plan beside it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from gguf_tools.plan import Plan
from gguf_tools.units import format_bytes
from inspector.budget import budgets
from inspector.session import Session
from inspector.views import SegmentView
from tests.inspector.conftest import GIB, MIB, buffer, card, loaded, machine, sample, turn

PlanOf = Callable[..., Plan]


def parts(session: Session) -> dict[str, SegmentView]:
    """Return the parts of the first memory by kind."""
    return {item.kind: item for item in budgets(session)[0].segments}


@pytest.mark.parametrize("mmap", [True, False])
def test_pages_of_the_file_are_told_where_they_are_some(plan_of: PlanOf, *, mmap: bool) -> None:
    session = Session()
    session.planned(plan_of(mmap=mmap))
    assert session.plan is not None
    size = format_bytes(session.plan.devices[0].weights_bytes)
    text = f"tensors of 3 of 3 layers (the output is one) and the token table = {size}"
    pages = f"; {size} of it are pages of the file, which the system can take back and read again"
    assert parts(session)["weights"].formula == text + (pages if mmap else "")


def test_compute_is_all_buffers_and_what_is_taken_besides(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    assert session.plan is not None
    host = session.plan.devices[0]
    buffers = host.compute_bytes + host.output_bytes
    assert host.output_bytes
    found = parts(session)["compute"]
    assert found.size_bytes == buffers + host.overhead_bytes
    assert found.planned_bytes is None
    text = f"{format_bytes(buffers)} of compute and output buffers"
    assert found.formula.startswith(f"{text} (planned)")
    loaded(session, after=None)
    found = parts(session)["compute"]
    assert found.size_bytes == found.planned_bytes == buffers + host.overhead_bytes
    assert found.formula == f"{text} (engine)"


def test_a_rough_figure_says_by_how_much_until_the_engine_knows(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    plan = session.plan
    assert plan is not None
    session.plan = msgspec.structs.replace(plan, compute_margin=0.0)
    assert "may differ" not in parts(session)["compute"].formula
    session.plan = msgspec.structs.replace(plan, compute_margin=0.25)
    assert parts(session)["compute"].formula.endswith("; may differ by 25\u00a0%")
    loaded(session, plan=session.plan)
    assert "may differ" not in parts(session)["compute"].formula


def test_a_state_is_in_use_from_the_start_beside_the_plan_of_both(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(model={"architecture": "lfm2"}, n_ctx=2048))
    plan = session.plan
    assert plan is not None
    (host,) = plan.devices
    assert host.state_bytes
    assert host.kv_bytes
    loaded(
        session,
        buffers=(
            buffer("CPU", "weights", host.weights_bytes),
            buffer("CPU", "kv", host.kv_bytes),
            buffer("CPU", "state", host.state_bytes),
        ),
    )
    found = parts(session)
    state = f"recurrent state {format_bytes(host.state_bytes)}, whatever the length"
    assert found["kv_used"].size_bytes == host.state_bytes
    assert found["kv_used"].formula.endswith(state)
    assert found["kv_reserved"].size_bytes == found["kv_reserved"].planned_bytes == host.kv_bytes
    session.conversation([turn(prompt_tokens=1000, reply_tokens=24)])
    found = parts(session)
    assert found["kv_used"].size_bytes == host.kv_bytes // 2 + host.state_bytes
    assert found["kv_reserved"].size_bytes == host.kv_bytes - host.kv_bytes // 2
    assert found["kv_reserved"].planned_bytes == host.kv_bytes - host.kv_bytes // 2


def test_the_driver_and_not_the_process_takes_more_of_a_card(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card())))
    assert session.plan is not None
    gpu = session.plan.devices[1]
    assert gpu.overhead_bytes == 400 * MIB
    assert f"{format_bytes(400 * MIB)} that the driver takes besides (planned)" in (
        parts(session)["compute"].formula
    )
    loaded(
        session,
        buffers=(buffer("CUDA0", "weights", 1 * GIB), buffer("CUDA0", "compute", 1 * GIB)),
        before=sample(CPU=(16, 12), CUDA0=(24, 23)),
        after=sample(CPU=(16, 12), CUDA0=(24, 20)),
        layers_offloaded=3,
    )
    found = parts(session)["compute"]
    assert "that the driver takes besides (measured)" in found.formula
    assert found.also == "measured"

"""Where layers lie: on a GPU that is not used, over a network, with experts in main memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gguf_tools.plan import Plan, make_plan
from gguf_tools.settings import LoadSettings
from gguf_tools.typed import typed_facts
from inspector.placement_findings import placement_findings
from inspector.plan_record import FindingRecord
from inspector.planner_examples import model_named
from inspector.session import Session
from tests.inspector.conftest import card, cpu, loaded, machine

PlanOf = Callable[..., Plan]
WIDE = {"head_length": 32, "embedding": 128}


def findings(session: Session, **load: Any) -> dict[str, FindingRecord]:
    record = loaded(session, **load)
    return {item.id: item for item in placement_findings(session, record)}


def test_a_gpu_that_is_listed_and_not_used(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card()), WIDE, gpu_layers=3))
    found = findings(session, gpu_layers_asked=3, layers_offloaded=0, notices=("It is too old.",))
    cause = found["gpu_unused"].cause
    assert cause == "CUDA0 is listed, but the engine put all on the processor. It is too old."


def test_a_gpu_that_the_engine_does_not_see(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(model=WIDE))
    session.gpus = ("RTX 4090",)
    found = findings(session)
    assert found["gpu_unused"].text.startswith("RTX 4090 is in this computer")
    assert found["gpu_unused"].fixes[0].action == "engine_build"
    session.gpus = ()
    assert findings(session) == {}


def test_everything_on_the_gpu_is_worth_no_word(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card()), WIDE))
    assert findings(session, layers_offloaded=3) == {}


def test_a_network_that_takes_much_of_a_token(plan_of: PlanOf) -> None:
    def over(round_trip_s: float, link_bytes_per_s: float) -> dict[str, FindingRecord]:
        far = card(
            name="RPC0",
            kind="rpc",
            description="10.0.0.5:50052",
            backend="RPC",
            link_bytes_per_s=link_bytes_per_s,
            round_trip_s=round_trip_s,
        )
        session = Session()
        session.planned(plan_of(machine(far), WIDE))
        return findings(session, layers_offloaded=3)

    slow = over(0.01, 1e8)["network/RPC0"]
    assert slow.text.startswith("The network to 10.0.0.5:50052 takes ")
    assert slow.fixes[0].changes == {"devices": "none"}
    assert "network/RPC0" not in over(1e-9, 1e13)


def test_experts_that_stay_in_main_memory() -> None:
    plan = make_plan(
        typed_facts(model_named("Qwen3 30B-A3B")),
        LoadSettings(context=4096, experts_on_cpu=True, gpu_layers=40),
        machine(card(), host=cpu(total_bytes=1 << 36, free_bytes=1 << 36)),
    )
    session = Session()
    session.planned(plan)
    found = findings(session, layers_offloaded=40, layers_total=49)
    experts = found["experts_on_cpu"]
    assert experts.text == "The experts of 39 layers stay in main memory."
    assert "of which a token reads 8 of 128 parts" in experts.cause


def test_gains_that_nobody_knows(plan_of: PlanOf) -> None:
    blind = machine(card(bandwidth_bytes_per_s=None), host=cpu(bandwidth_bytes_per_s=None))
    session = Session()
    session.planned(plan_of(blind, WIDE, gpu_layers=1))
    offload = findings(session, layers_offloaded=1, gpu_layers_asked=1)["offload"]
    assert offload.cost == ""
    assert offload.severity == "warning"
    assert offload.fixes[0].changes == {"gpu_layers": -1}
    session.planner = None
    unplanned = findings(session, layers_offloaded=1, gpu_layers_asked=1)["offload"]
    assert all(fix.changes != {"gpu_layers": -1} for fix in unplanned.fixes)


def test_all_layers_would_fit_with_a_shorter_context(plan_of: PlanOf) -> None:
    whole = plan_of(machine(card()), WIDE, n_ctx=2048)
    needed = whole.memory.devices[1].total_bytes
    small = card(total_bytes=needed, free_bytes=needed - (1 << 18))
    session = Session()
    session.planned(plan_of(machine(small), WIDE, n_ctx=2048, gpu_layers=1))
    offload = findings(session, layers_offloaded=1, gpu_layers_asked=1)["offload"]
    assert "All layers fit up to a context of " in offload.cause
    assert replace(small, free_bytes=0).free_bytes == 0


def test_all_layers_that_were_asked_for_are_not_offered_again(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card()), WIDE, gpu_layers=3))
    every = findings(session, layers_offloaded=2, gpu_layers_asked=3)["offload"]
    assert all(fix.changes != {"gpu_layers": -1} for fix in every.fixes)
    host = cpu(flops_per_s=2e9)  # a fast one would be quicker than launching a card's kernels
    session.planned(plan_of(machine(card(), host=host), WIDE, gpu_layers=1))
    one = findings(session, layers_offloaded=1, gpu_layers_asked=1)["offload"]
    assert one.fixes[0].changes == {"gpu_layers": -1}

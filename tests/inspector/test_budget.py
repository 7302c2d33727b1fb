from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from gguf_tools.facts import read_facts
from gguf_tools.plan import Plan, make_plan
from gguf_tools.settings import LoadSettings
from inspector.budget import budgets
from inspector.panel import panel_view
from inspector.plan_errors import device_of_buffer, plan_errors, worst_error
from inspector.session import Session
from inspector.views import BudgetView
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.inspector.conftest import GIB, MIB, buffer, card, cpu, loaded, machine, sample, turn

PlanOf = Callable[..., Plan]


def size(budget: BudgetView, kind: str) -> int:
    return sum(item.size_bytes for item in budget.segments if item.kind == kind)


def test_before_loading_all_is_planned(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    (budget,) = budgets(session)
    assert {item.basis for item in budget.segments} == {"planned", "read"}
    assert size(budget, "other_programs") == 4 * GIB
    assert size(budget, "kv_used") == 0
    assert budget.used_bytes + size(budget, "free") == 16 * GIB
    assert budget.planned_bytes is None


def test_the_cache_fills_inside_what_is_reserved(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(n_ctx=2048))
    loaded(session)
    (empty,) = budgets(session)
    session.conversation([turn(prompt_tokens=1000, reply_tokens=24)])
    (half,) = budgets(session)
    assert size(half, "kv_used") == 1024 * 256
    assert size(half, "kv_used") + size(half, "kv_reserved") == size(empty, "kv_reserved")
    assert half.used_bytes == empty.used_bytes
    formula = next(item.formula for item in half.segments if item.kind == "kv_used")
    assert "1,024 tokens" in formula
    assert "2 layers × 2 KV heads" in formula


@pytest.mark.parametrize("off_bytes", [-5200, 5200])
def test_a_cache_has_one_size_in_the_budget_and_in_its_chart(
    plan_of: PlanOf, off_bytes: int
) -> None:
    """The engine's log rounds to 0.01 MiB, the formula does not."""
    session = Session()
    session.planned(plan_of(n_ctx=2048))
    record = loaded(session)
    rounded = tuple(
        msgspec.structs.replace(item, size_bytes=item.size_bytes + off_bytes)
        if item.what == "kv"
        else item
        for item in record.buffers
    )
    session.loaded(msgspec.structs.replace(record, buffers=rounded))
    for tokens in (1, 700, 1024, 2047, 2048):
        session.conversation([turn(prompt_tokens=tokens - 1, reply_tokens=1)])
        view = panel_view(session)
        assert view.growth is not None
        assert view.growth.now is not None
        (budget,) = view.budgets
        assert size(budget, "kv_used") == view.growth.now.size_bytes == tokens * 256
    off = tuple(
        msgspec.structs.replace(item, size_bytes=2 * item.size_bytes) if item.what == "kv" else item
        for item in record.buffers
    )
    session.loaded(msgspec.structs.replace(record, buffers=off))
    (budget,) = budgets(session)
    assert size(budget, "kv_used") == 2 * 2048 * 256  # what the engine takes, where they differ


def test_the_plan_stands_beside_the_engine(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    record = loaded(session)
    (budget,) = budgets(session)
    assert budget.planned_bytes == budget.engine_bytes
    weights = next(item for item in budget.segments if item.kind == "weights")
    assert weights.basis == "engine"
    assert weights.plan_error == 0
    rows = plan_errors(record)
    assert [row.what for row in rows] == ["weights", "kv", "compute", "output"]
    assert all(row.error == 0 for row in rows)
    rounded = msgspec.structs.replace(
        record, buffers=(buffer("CPU", "output", rows[-1].engine_bytes + 5000),)
    )
    assert plan_errors(rounded)[-1].error == 0
    off = msgspec.structs.replace(record, buffers=(buffer("CPU", "compute", 100 * MIB),))
    worst = worst_error(plan_errors(off))
    assert worst is not None
    assert worst.what == "compute"
    assert worst.error is not None
    assert worst.error < 0


@pytest.mark.parametrize("range_bytes", [1, 10, 1000])
def test_a18_mapped_weights_are_tensors_not_ranges(plan_of: PlanOf, range_bytes: int) -> None:
    """Split over a card, the mapped range spans the file while few tensors lie there."""
    session = Session()
    session.planned(plan_of(machine(card()), gpu_layers=1))
    plan = session.plan
    assert plan is not None
    host, gpu = plan.devices
    loaded(
        session,
        buffers=(
            buffer("CPU_Mapped", "weights", host.weights_bytes * range_bytes),
            buffer("CUDA0", "weights", gpu.weights_bytes),
            buffer("CPU", "kv", host.kv_bytes),
        ),
        after=sample(CPU=(16, 12), CUDA0=(24, 22)),
    )
    first, last = budgets(session)
    assert first.name == "RTX 4090"
    assert size(last, "weights") <= host.weights_bytes
    assert last.mapped_bytes == size(last, "weights")
    assert first.mapped_bytes is None
    assert size(first, "weights") == gpu.weights_bytes


def test_a18_private_memory_is_shown_apart_from_file_pages(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    record = loaded(session, after=sample(private_mib=300, mapped_mib=5000, CPU=(16, 12)))
    (budget,) = budgets(session)
    assert budget.peak_bytes is None  # there was no turn yet
    session.conversation([turn(record)])
    (budget,) = budgets(session)
    assert session.plan is not None
    assert budget.mapped_bytes == session.plan.devices[0].weights_bytes
    # pages of the file count as free memory to the system, so they are nobody else's
    assert size(budget, "other_programs") == 4 * GIB - 300 * MIB
    assert budget.peak_bytes == 300 * MIB


def test_a20_memory_of_others_is_not_free(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card(free_bytes=3 * GIB))))
    first, _ = budgets(session)
    assert size(first, "other_programs") == 21 * GIB
    session.memory(sample(CPU=(16, 12), CUDA0=(24, 20)))
    first, _ = budgets(session)
    assert size(first, "other_programs") == 4 * GIB


def test_a20_a_failed_probe_is_unknown_not_zero(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(host=cpu(total_bytes=None, free_bytes=None))))
    (budget,) = budgets(session)
    assert budget.total_bytes is None
    assert {item.kind for item in budget.segments} == {"weights", "kv_reserved", "compute"}
    assert not budget.over_load_line
    session.memory(sample(CPU=(16, None)))
    (budget,) = budgets(session)
    assert size(budget, "free") == 0
    assert all(item.kind != "other_programs" for item in budget.segments)


def test_a_card_keeps_what_its_driver_took(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card())))
    session.loading(sample(CPU=(16, 12), CUDA0=(24, 23)))
    loaded(
        session,
        buffers=(buffer("CUDA0", "weights", GIB), buffer("CUDA0", "kv", GIB)),
        before=session.before,
        after=sample(CPU=(16, 12), CUDA0=(24, 20.5)),
        layers_offloaded=3,
    )
    first, _ = budgets(session)
    assert size(first, "compute") == GIB // 2
    assert size(first, "other_programs") == GIB
    assert size(first, "free") == round(20.5 * GIB)


def test_devices_of_one_memory_share_a_bar(plan_of: PlanOf) -> None:
    shared = card(kind="igpu", pool="main memory", total_bytes=16 * GIB, free_bytes=12 * GIB)
    session = Session()
    session.planned(plan_of(machine(shared)))
    (budget,) = budgets(session)
    assert budget.total_bytes == 16 * GIB
    assert budget.name == "RTX 4090"


def test_an_idle_card_has_no_bar_once_the_model_is_loaded(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card()), gpu_layers=0))
    assert len(budgets(session)) == 2
    loaded(session)
    (budget,) = budgets(session)
    assert budget.name == "CPU"


def test_what_a_lost_engine_held_is_free_again(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    loaded(session)
    session.engine_lost("The engine was killed.")
    session.memory(sample(CPU=(16, 13)))
    (budget,) = budgets(session)
    assert budget.used_bytes == size(budget, "other_programs") == 3 * GIB
    assert budget.peak_bytes is None


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("CPU", "CPU"), ("CPU_Mapped", "CPU"), ("CPU_REPACK", "CPU"), ("AMX", "CPU"),
        ("CUDA_Host", "CPU"), ("CUDA0", "CUDA0"), ("CUDA0_Split", "CUDA0"), ("CUDA1", "CUDA1"),
        ("RPC0[127.0.0.1:50052]", "RPC0"), ("MTL0_Mapped", "MTL0"), ("something", "CPU"),
    ],
)  # fmt: skip
def test_buffers_belong_to_devices(name: str, device: str) -> None:
    assert device_of_buffer(name, ["CPU", "CUDA0", "CUDA1", "RPC0", "MTL0"]) == device


def test_without_a_plan_the_engine_still_has_a_budget(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    record = msgspec.structs.replace(loaded(session), plan=None)
    session.planned(None)
    session.loaded(record)
    (budget,) = budgets(session)
    assert size(budget, "weights") > 0
    assert budget.planned_bytes is None
    assert plan_errors(record) == ()


def test_overhead_that_was_measured_is_not_called_the_engines(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(n_ctx=1024))
    (before,) = [item for item in budgets(session)[0].segments if item.kind == "compute"]
    assert (before.basis, before.also) == ("planned", None)
    loaded(session)
    (after,) = [item for item in budgets(session)[0].segments if item.kind == "compute"]
    assert (after.basis, after.also) == ("engine", "measured")
    assert "that the engine's process takes besides (measured)" in after.formula
    loaded(session, after=None)
    (blind,) = [item for item in budgets(session)[0].segments if item.kind == "compute"]
    assert (blind.basis, blind.also) == ("engine", None)


def test_a_mapped_range_over_offloaded_layers_is_no_error_of_the_plan(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card()), gpu_layers=1))
    assert session.plan is not None
    host, gpu = session.plan.devices
    whole = host.weights_bytes + gpu.weights_bytes
    record = loaded(
        session,
        buffers=(
            buffer("CPU_Mapped", "weights", whole),
            buffer("CUDA0", "weights", gpu.weights_bytes),
        ),
        layers_offloaded=1,
    )
    rows = {(row.device, row.what): row for row in plan_errors(record)}
    assert rows["CPU", "weights"].error == 0
    assert rows["CUDA0", "weights"].error == 0


def test_what_other_programs_took_since_loading_is_said(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(n_ctx=1024))
    loaded(session, after=sample(private_mib=300, CPU=(16, 12)))
    session.memory(sample(private_mib=300, CPU=(16, 11.8)))
    assert budgets(session)[0].note == ""
    session.memory(sample(private_mib=300, CPU=(16, 10)))
    assert budgets(session)[0].note == "Other programs took about 2.00 GiB since loading."
    assert budgets(session)[0].others_took_bytes == 2 << 30
    session.memory(sample(private_mib=300, CPU=(16, 9.98)))
    assert "about 2.00 GiB" in budgets(session)[0].note  # a little more does not stir the text
    session.memory(sample(private_mib=2348, CPU=(16, 10)))
    assert budgets(session)[0].note == ""  # it was the engine itself
    assert budgets(session)[0].others_took_bytes is None


def test_cache_of_a_chat_that_this_engine_has_not_read_is_planned(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    earlier = loaded(session, at_ms=1)
    loaded(session, at_ms=2)
    session.conversation([turn(earlier)])
    (budget,) = budgets(session)
    used = next(item for item in budget.segments if item.kind == "kv_used")
    assert used.basis == "planned"
    assert "of this chat will take" in used.formula
    assert budget.peak_bytes is None
    session.turn_started(prompt_tokens=100, reused_tokens=0, new_tokens=100)
    session.read(50)
    (budget,) = budgets(session)
    used = next(item for item in budget.segments if item.kind == "kv_used")
    assert used.basis == "measured"


def test_figures_of_a_device_that_nobody_saw(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card()), n_ctx=2048))
    record = loaded(
        session,
        buffers=(buffer("CUDA0", "weights", 100 * MIB),),
        before=sample(CPU=(16, 12)),
        after=sample(CPU=(16, 11)),
        layers_offloaded=3,
    )
    # Neither before nor after the load was the card seen: what a driver usually takes.
    gpu = next(item for item in budgets(session) if item.name == "RTX 4090")
    compute = next(item for item in gpu.segments if item.kind == "compute")
    assert compute.size_bytes == 400 * MIB
    assert record.before is not None


def test_memory_that_a_driver_moved(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card()), n_ctx=2048))
    seen = sample(CPU=(16, 12), CUDA0=(24, 20))
    devices = tuple(
        msgspec.structs.replace(item, spilled_bytes=3 * GIB) if item.name == "CUDA0" else item
        for item in seen.devices
    )
    session.memory(msgspec.structs.replace(seen, devices=devices))
    gpu = next(item for item in budgets(session) if item.name == "RTX 4090")
    assert gpu.note == "The driver keeps 3.00 GiB of this device's memory in system memory."


def test_a_draft_has_its_own_part(tmp_path: Path) -> None:
    facts, draft = (
        read_facts(write_tiny_model(tmp_path / f"{layers}.gguf", TinyModel(layers=layers)))
        for layers in (4, 2)
    )
    plan = make_plan(facts, LoadSettings(context=2048, draft=draft), machine())
    assert plan.memory.draft is not None
    session = Session()
    session.planned(plan)
    (budget,) = budgets(session)
    (part,) = [item for item in budget.segments if item.kind == "draft"]
    assert part.size_bytes == plan.memory.draft.total_bytes > 0
    assert part.basis == "planned"
    assert session.plan is not None
    assert part.formula == session.plan.draft != ""
    assert budget.used_bytes + size(budget, "free") == 16 * GIB

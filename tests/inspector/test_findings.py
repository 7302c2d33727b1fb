from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from gguf_tools.machine import MEASURED_BUSY
from gguf_tools.plan import Plan
from inspector.effects import planned_again
from inspector.findings import findings_of
from inspector.panel import panel_view
from inspector.plan_record import FindingRecord
from inspector.records import DeviceSample, MemorySample
from inspector.session import Session
from tests.inspector.conftest import GIB, card, cpu, loaded, machine, sample, turn

PlanOf = Callable[..., Plan]
WIDE = {"head_length": 32, "embedding": 128}


def found(session: Session, name: str) -> FindingRecord:
    """Return a finding; ids of devices are found by their beginning."""
    matches = [item for item in findings_of(session) if item.id.split("/")[0] == name]
    assert len(matches) == 1, [item.id for item in findings_of(session)]
    return matches[0]


def ids(session: Session) -> set[str]:
    return {item.id.split("/")[0] for item in findings_of(session)}


def changed(session: Session, **settings: Any) -> None:
    load = session.load
    assert load is not None
    session.load = msgspec.structs.replace(
        load, settings=msgspec.structs.replace(load.settings, **settings)
    )


@pytest.fixture
def session(plan_of: PlanOf) -> Session:
    made = Session()
    made.planned(plan_of(model=WIDE, n_ctx=2048))
    loaded(made)
    made.cores = 2
    return made


def test_a_plain_load_has_nothing_to_say(session: Session) -> None:
    assert findings_of(session) == ()


def test_offload_says_cause_cost_and_fixes_with_effects(plan_of: PlanOf) -> None:
    session = Session()
    host = cpu(flops_per_s=2e9)  # a fast one would be quicker than launching a card's kernels
    session.planned(plan_of(machine(card(), host=host), WIDE, n_ctx=2048, gpu_layers=1))
    loaded(session, layers_offloaded=1, gpu_layers_asked=1)
    finding = found(session, "offload")
    assert finding.text == "2 of 3 layers run on the processor."
    assert "from main memory at 40 GB/s" in finding.cause
    assert "instead of" in finding.cost
    assert finding.fixes[0].changes == {"gpu_layers": -1}
    assert "tok/s" in finding.fixes[0].effect


def test_33_asked_20_fit(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card()), gpu_layers=3))
    loaded(session, layers_offloaded=2, gpu_layers_asked=3)
    assert "3 layers were asked for and 2 fit." in found(session, "offload").cause


def test_a38_asked_for_a_gpu_and_got_the_processor(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(gpu_layers=99))
    loaded(session, gpu_layers_asked=99)
    finding = found(session, "gpu_unused")
    assert finding.severity == "warning"
    assert "this build of llama.cpp has no backend" in finding.cause
    assert finding.fixes[0].key == "engine_build"

    session.planned(plan_of(machine(card()), gpu_layers=99))
    loaded(session, gpu_layers_asked=99)
    assert "CUDA0 is listed" in found(session, "gpu_unused").cause
    assert "offload" not in ids(session)


def test_a38_a_gpu_that_the_engine_does_not_know(session: Session) -> None:
    session.gpus = ("GeForce RTX 4090",)
    assert "RTX 4090 is in this computer" in found(session, "gpu_unused").text


def test_over_the_load_line_names_numbers_and_others(session: Session) -> None:
    session.memory(sample(CPU=(16, 1)))
    finding = found(session, "over_load_line")
    assert finding.severity == "warning"
    assert "94\u00a0% full, above the load line of 90\u00a0%" in finding.text
    assert "16.0 GiB" in finding.cause
    assert [fix.key for fix in finding.fixes][-1] == "unload"


@pytest.mark.parametrize(("used", "severity"), [(1700, None), (1741, "warning"), (1990, "warning")])
def test_the_end_of_the_window_is_told_in_time(
    session: Session, used: int, severity: str | None
) -> None:
    load = session.load
    assert load is not None
    session.load = msgspec.structs.replace(load, n_ctx_train=3000)
    session.conversation([turn(prompt_tokens=used - 100, reply_tokens=100)])
    if severity is None:
        assert "window" not in ids(session)
        return
    finding = found(session, "window")
    assert finding.severity == severity
    assert finding.fixes[0].changes == {"n_ctx": 3000}
    assert finding.fixes[0].effect.startswith("takes ") or finding.fixes[0].effect == ""
    assert finding.fixes[1].action == "new_chat"
    assert "Reading a full context takes" in finding.cost


def test_a16_quantised_v_without_flash_attention(session: Session) -> None:
    changed(session, type_v="q8_0", flash_attention=False)
    finding = found(session, "v_without_flash")
    assert finding.severity == "error"
    assert [fix.changes for fix in finding.fixes] == [{"flash_attention": "on"}, {"type_v": "f16"}]


def test_a11_full_sliding_window_cache(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(
        plan_of(model={"architecture": "gemma3", "layers": 6}, n_ctx=8192, swa_full=True)
    )
    assert found(session, "swa_full").fixes[0].changes == {"swa_full": False}
    loaded(session, swa_window=128)
    finding = found(session, "swa_full")
    assert "128 tokens" in finding.cause
    assert "frees" in finding.fixes[0].effect


def test_beyond_the_trained_length(session: Session) -> None:
    changed(session, n_ctx=4096)
    finding = found(session, "beyond_trained")
    assert finding.fixes[0].changes == {"n_ctx": 2048}
    changed(session, n_ctx=2048)
    assert "beyond_trained" not in ids(session)


@pytest.mark.parametrize(
    ("threads", "cores", "severity", "best"),
    [
        (8, 4, "warning", 3), (4, 4, None, 0), (3, 4, None, 0), (2, 8, "note", 8),
        (16, 8, "warning", 8),
    ],
)  # fmt: skip
def test_a39_threads(
    session: Session, threads: int, cores: int, severity: str | None, best: int
) -> None:
    changed(session, threads=threads)
    session.cores = cores
    if severity is None:
        assert "threads" not in ids(session)
        return
    finding = found(session, "threads")
    assert finding.severity == severity
    assert finding.fixes[0].changes == {"threads": best, "threads_batch": best}
    session.tuned = True  # measured to be the fastest: no advice against it
    assert "threads" not in ids(session)


def test_what_the_plan_advises_stays_once_it_is_loaded(session: Session) -> None:
    assert session.plan is not None
    advice = {
        name: FindingRecord(id=name, severity="note", text=f"About {name}.")
        for name in ("flash_off", "swa_full", "does_not_fit")
    }
    session.plan = msgspec.structs.replace(session.plan, findings=tuple(advice.values()))
    assert set(ids(session)) & set(advice) == {"flash_off", "swa_full"}  # it did fit
    session.tuned = True  # measured: without flash attention it is faster here
    assert set(ids(session)) & set(advice) == {"swa_full"}


def test_compatibility_mode_is_told(session: Session) -> None:
    changed(session, compatibility=True)
    assert "slower" in found(session, "compatibility").cause


def test_memory_that_the_driver_moved_out(session: Session) -> None:
    spilled = DeviceSample(name="CUDA0", kind="gpu", spilled_bytes=2 * GIB, limited_by="heat")
    session.memory(MemorySample(at_ms=2, devices=(spilled,)))
    assert "2.00 GiB of CUDA0 lie in main memory" in found(session, "spill").text
    assert "heat" in found(session, "limited").text


def test_speed_findings_carry_the_evidence(session: Session) -> None:
    session.conversation([turn(decode_s=100.0)])
    assert "The reason is unknown." in found(session, "slow").cause
    assert found(session, "slow").severity == "warning"
    session.conversation([turn(reply_tokens=20, decode_s=20.0)])
    assert found(session, "slow").severity == "note"  # too short a reply to warn of
    session.conversation([turn(decode_s=1e-4)])
    finding = found(session, "above_ceiling")
    assert "the byte count or the bandwidth is wrong" in finding.cause
    assert finding.fixes[0].key == "probe"


def test_before_loading_the_planner_speaks(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(host=cpu(free_bytes=1 << 19)), WIDE, n_ctx=65536))
    finding = found(session, "does_not_fit")
    assert finding.severity == "error"
    assert "Rule: weights" in finding.cause
    assert "must fit into what is free, and 512 KiB are" in finding.cause
    assert "smaller quantisation is needed" in finding.cause
    assert finding.fixes == ()
    session.memory(sample(CPU=(16, 12)))
    loaded(session)
    assert "does_not_fit" not in ids(session)


def test_a_refused_load_says_rule_and_smallest_change(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(model=WIDE, type_v="q8_0", flash_attention="off"))
    finding = found(session, "refused")
    assert "needs flash attention" in finding.text
    assert finding.fixes[0].changes == {"flash_attention": "on"}


def test_a_lost_engine_is_the_first_thing_said(session: Session) -> None:
    session.engine_lost("The engine was killed.", "last words")
    first = findings_of(session)[0]
    assert (first.id, first.severity, first.text) == (
        "engine_lost",
        "error",
        "The engine was killed.",
    )
    assert {"type_k": "q8_0", "type_v": "q8_0"} in [fix.changes for fix in first.fixes]


def test_why_the_engine_ended_is_said_in_one_place(session: Session) -> None:
    session.loss_is_told = True
    session.engine_lost("The engine was killed.", "last words")
    told = found(session, "engine_lost")
    assert told.text == "It may run with less memory."
    assert told.fixes
    assert "the chat says why" in panel_view(session).notice
    session.loss_is_told = False  # the notice was closed
    assert "the chat" not in panel_view(session).notice
    whole = findings_of(session)[0]
    assert (whole.id, whole.text) == ("engine_lost", "The engine was killed.")
    assert whole.fixes == told.fixes
    session.loss_is_told = True
    session.loss_can_mend = False
    assert "engine_lost" not in ids(session)  # nothing is left to say


def test_the_worst_comes_first_and_each_once(session: Session) -> None:
    changed(session, compatibility=True, type_v="q8_0", flash_attention=False, threads=9)
    order = [item.severity for item in findings_of(session)]
    assert order == sorted(order, key=["error", "warning", "note"].index)
    assert len({item.id for item in findings_of(session)}) == len(order)


def test_what_does_not_fit_offers_the_smallest_change_that_does(plan_of: PlanOf) -> None:
    session = Session()
    wide = {**WIDE, "context": 1 << 17}
    whole = plan_of(machine(host=cpu(free_bytes=12 * GIB)), wide, n_ctx=65536)
    taken = whole.memory.devices[0].total_bytes
    session.planned(plan_of(machine(host=cpu(free_bytes=taken - (8 << 20))), wide, n_ctx=65536))
    finding = found(session, "does_not_fit")
    first, *others = finding.fixes
    assert f"Smallest change that passes: {first.text.lower()}." in finding.cause
    assert "then it fits" in first.effect
    assert first.changes["n_ctx"] is not None
    assert 59000 < int(first.changes["n_ctx"]) < 65536
    assert {"type_k": "q8_0", "type_v": "q8_0"} in [fix.changes for fix in others]
    for fix in finding.fixes:
        assert session.planner is not None
        again = planned_again(session.planner, fix.changes)
        assert again is not None
        assert again.fits


def test_fewer_layers_are_offered_where_the_accelerator_is_too_small(plan_of: PlanOf) -> None:
    session = Session()
    wide = {**WIDE, "layers": 6}
    full = plan_of(machine(card()), wide, n_ctx=4096)
    taken = full.memory.devices[1].total_bytes
    small = card(total_bytes=taken, free_bytes=taken - (1 << 20))
    session.planned(plan_of(machine(small), wide, n_ctx=4096))
    finding = found(session, "does_not_fit")
    layers = [fix.changes["gpu_layers"] for fix in finding.fixes if "gpu_layers" in fix.changes]
    assert len(layers) == 1
    assert session.planner is not None
    again = planned_again(session.planner, {"gpu_layers": layers[0]})
    assert again is not None
    assert again.fits
    more = planned_again(session.planner, {"gpu_layers": int(layers[0] or 0) + 1})
    assert more is not None
    assert more.fits is False


def test_a_network_device_that_is_slower_is_not_offered_for_all_layers(plan_of: PlanOf) -> None:
    session = Session()
    slow = card(kind="rpc", name="RPC0", bandwidth_bytes_per_s=1e9, round_trip_s=0.01)
    session.planned(plan_of(machine(slow), WIDE, n_ctx=2048, gpu_layers=1))
    loaded(session, layers_offloaded=1, gpu_layers_asked=1)
    finding = found(session, "offload")
    assert finding.severity == "note"
    assert "with all layers on RPC0 it would be" in finding.cost
    assert {"gpu_layers": -1} not in [fix.changes for fix in finding.fixes]


def test_the_context_at_which_layers_begin_to_spill_is_told(plan_of: PlanOf) -> None:
    session = Session()
    wide = {**WIDE, "layers": 6, "context": 1 << 17}
    full = plan_of(machine(card()), wide, n_ctx=65536)
    taken = full.memory.devices[1].total_bytes
    small = card(total_bytes=taken, free_bytes=taken - (64 << 20))
    session.planned(plan_of(machine(small), wide, n_ctx=65536, gpu_layers=4))
    loaded(session, layers_offloaded=4, gpu_layers_asked=-1)
    cause = found(session, "offload").cause
    assert "All layers fit up to a context of" in cause
    tokens = int(cause.split("up to a context of ")[1].split(" ")[0].replace(",", ""))
    assert session.planner is not None
    again = planned_again(session.planner, {"gpu_layers": -1, "n_ctx": tokens})
    assert again is not None
    assert again.fits


# --- devices on other computers


def _far(**values: Any) -> Any:
    return card(
        name="RPC0",
        kind="rpc",
        backend="RPC",
        description="10.0.0.5:50052",
        bandwidth_bytes_per_s=50e9,
        **values,
    )


def test_a_network_that_takes_much_of_a_token_is_named(plan_of: PlanOf) -> None:
    session = Session()
    slow = _far(round_trip_s=0.004, link_bytes_per_s=100e6)
    session.planned(plan_of(machine(slow), WIDE, n_ctx=2048))
    loaded(session, layers_offloaded=3)
    finding = found(session, "network")
    assert finding.id == "network/RPC0"
    assert finding.text.startswith("The network to 10.0.0.5:50052 takes ")
    assert finding.cause.startswith(
        "The network to 10.0.0.5:50052: 4.00 ms a round trip, 0.10 GB/s, "
    )
    (fix,) = finding.fixes
    assert fix.text == "Load without RPC0"
    assert fix.changes == {"devices": "none"}
    assert "tok/s" in fix.effect


def test_a_fast_network_is_not_worth_a_word(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(_far()), WIDE, n_ctx=2048))
    loaded(session, layers_offloaded=3)
    assert "network" not in ids(session)


def test_a_lost_device_is_done_without(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card(), _far()), WIDE, n_ctx=2048))
    loaded(session, layers_offloaded=3)
    session.engine_lost("The connection to RPC0 (10.0.0.5:50052) broke while writing the reply.")
    (fix,) = found(session, "engine_lost").fixes
    assert fix.changes == {"devices": card().name}


def test_what_a_click_mends_comes_before_what_it_does_not(session: Session) -> None:
    assert session.settings is not None
    used = int(0.9 * session.settings.n_ctx)
    session.conversation([turn(prompt_tokens=used - 100, reply_tokens=100, decode_s=100.0)])
    told = [item.id for item in findings_of(session) if item.severity == "warning"]
    assert told.index("window") < told.index("slow")


def test_a_bandwidth_that_was_measured_while_busy_is_said(plan_of: PlanOf) -> None:
    session = Session()
    busy = cpu(bandwidth_note=MEASURED_BUSY)
    session.planned(plan_of(machine(host=busy), WIDE, n_ctx=2048))
    loaded(session)
    finding = found(session, "bandwidth_busy")
    assert finding.severity == "note"
    assert finding.text == "CPU was measured while busy."


def test_a_full_context_costs_nothing_that_is_unknown(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(host=cpu(flops_per_s=None)), WIDE, n_ctx=2048))
    loaded(session)
    session.conversation([turn(prompt_tokens=1900, evaluated_tokens=0, prefill_s=0.0)])
    finding = found(session, "window")
    assert finding.cost == "" or "a full context takes about" in finding.cost

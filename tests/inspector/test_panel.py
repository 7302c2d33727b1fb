from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.machine import cpu_only
from gguf_tools.plan import Plan, make_plan
from gguf_tools.settings import LoadSettings
from gguf_tools.typed import typed_facts
from gguf_tools.units import format_bytes, format_count
from inspector.panel import metadata_rows, panel_view, verify_line
from inspector.planner_examples import model_named
from inspector.records import LoadRecord, TurnRecord, decode_record, encode_record
from inspector.session import Session, replayed
from tests.helpers.families import FAMILIES
from tests.inspector.conftest import MIB, at_rate, buffer, card, loaded, machine, sample, turn

PlanOf = Callable[..., Plan]


def test_an_empty_session_has_an_empty_panel() -> None:
    view = panel_view(Session())
    assert view.state == "none"
    assert view.budgets == ()
    assert view.speed is None


def test_states_follow_what_happens(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    assert panel_view(session).state == "planned"
    session.loading(sample())
    assert panel_view(session).state == "planned"
    loaded(session)
    assert panel_view(session).state == "loaded"
    session.turn_started(prompt_tokens=10, reused_tokens=0, new_tokens=10)
    states = [session.state]
    session.tokens(1)
    states.append(session.state)
    session.turn_ended()
    states.append(session.state)
    assert states == ["reading", "writing", "ready"]
    session.engine_lost("Gone.")
    view = panel_view(session)
    assert view.state == "lost"
    assert "has ended" in view.notice
    assert view.findings[0].headline == "Gone."
    session.unloaded()
    assert panel_view(session).state == "planned"
    session.planned(None)
    assert panel_view(session).state == "none"


def test_what_did_not_change_is_the_same_object(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(n_ctx=2048))
    loaded(session)
    session.turn_started(prompt_tokens=100, reused_tokens=0, new_tokens=100)
    before = panel_view(session)
    assert panel_view(session, before) is before
    session.tokens(10, 50.0)
    after = panel_view(session, before)
    assert after is not before
    assert after.model is before.model
    assert after.layers is before.layers
    assert after.speed is not before.speed
    assert after.growth is not before.growth


def test_verify_in_one_line(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    assert verify_line(session) == ""
    record = loaded(session)
    assert "error +0.0%" in verify_line(session)
    assert session.plan is not None
    bigger = buffer("CPU", "compute", session.plan.devices[0].compute_bytes + 10 * MIB)
    session.loaded(
        msgspec.structs.replace(
            record, buffers=(*(b for b in record.buffers if b.what != "compute"), bigger)
        )
    )
    assert "furthest off: compute on CPU, -" in verify_line(session)


def test_layers_stand_where_the_engine_put_them(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card())))
    view = panel_view(session).layers
    assert view is not None
    assert [layer.device for layer in view.layers] == [1, 1, 1]
    assert view.basis == "planned"
    assert not any(device.slow for device in view.devices)
    loaded(session, layers_offloaded=1)
    view = panel_view(session).layers
    assert view is not None
    assert [layer.device for layer in view.layers] == [0, 0, 1]
    assert view.devices[0].slow
    assert view.basis == "engine"
    session.planned(plan_of(machine(card()), gpu_layers=0))
    loaded(session, layers_offloaded=2)
    view = panel_view(session).layers
    assert view is not None
    assert [layer.device for layer in view.layers] == [0, 1, 1]


def test_growth_says_what_still_fits(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(n_ctx=1024))
    loaded(session)
    session.conversation([turn(prompt_tokens=100, reply_tokens=28)])
    growth = panel_view(session).growth
    assert growth is not None
    assert growth.now is not None
    assert (growth.now.tokens, growth.now.size_bytes) == (128, 128 * 256)
    assert growth.fitting_tokens == 1024 - 128
    assert growth.trained_tokens == 2048
    assert growth.line[-1].tokens == 2048
    assert growth.bytes_per_token == 256
    assert growth.budget_bytes is not None
    assert growth.budget_bytes > growth.line[-1].size_bytes
    assert growth.budget_tokens is None
    assert growth.used == (growth.now,)


def test_growth_ends_where_the_budget_does(plan_of: PlanOf) -> None:
    model = {"head_length": 256, "embedding": 512, "kv_heads": 2, "context": 1 << 16}
    session = Session()
    session.planned(plan_of(model=model, n_ctx=2048))
    session.memory(sample(CPU=(16, 1.7)))
    growth = panel_view(session).growth
    assert growth is not None
    assert growth.budget_tokens is not None
    (other,) = [item for item in growth.alternatives if item.cache_type == "q8_0"]
    assert other.budget_tokens is None or other.budget_tokens > growth.budget_tokens


def test_a_model_without_a_growing_cache_has_no_plot(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(model={"architecture": "mamba"}))
    view = panel_view(session)
    assert view.growth is None or view.growth.bytes_per_token == 0


def test_model_card_tells_where_each_figure_comes_from(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    card_view = panel_view(session).model
    assert card_view is not None
    assert card_view.title == "llama · GGUF v3"
    rows = {row.label: row for row in card_view.rows}
    assert rows["Layers · heads · KV heads"].value == "2 · 4 · 2 (GQA 2:1)"
    assert rows["KV cache per token"].basis == "planned"
    assert rows["Trained for"].basis == "file"
    metadata = {row.key: row for row in card_view.metadata}
    assert metadata["general.architecture"].value == "llama"
    assert metadata["tokenizer.ggml.tokens"].value.endswith(" values")
    assert all(len(row.value) <= 201 for row in card_view.metadata)


def test_a_record_is_replayed_without_model_or_machine(plan_of: PlanOf) -> None:
    live = Session()
    live.planned(plan_of(machine(card()), n_ctx=2048))
    assert live.plan is not None
    gpu = live.plan.devices[1]
    record = loaded(
        live,
        buffers=(
            buffer("CUDA0", "weights", gpu.weights_bytes),
            buffer("CUDA0", "kv", gpu.kv_bytes),
        ),
        after=sample(CPU=(16, 12), CUDA0=(24, 20)),
        layers_offloaded=3,
    )
    turns = [turn(record), turn(record, prompt_tokens=300)]
    live.conversation(turns)
    kept = decode_record(encode_record(record), LoadRecord)
    assert kept.id == record.id
    again = replayed(kept, [decode_record(encode_record(item), TurnRecord) for item in turns])
    shown, seen = panel_view(again), panel_view(live)
    assert shown.state == "replayed"
    assert "test machine" in shown.notice
    assert shown.budgets == tuple(replace(item, peak_bytes=None) for item in seen.budgets)
    assert shown.growth == seen.growth
    assert shown.speed == seen.speed
    assert shown.layers == seen.layers


def test_no_record_is_said_to_be_none() -> None:
    with pytest.raises(ValueError, match="no record"):
        decode_record(b'{"at_ms": "x"}', LoadRecord)


def test_a_budget_without_room_counts_no_tokens_that_fit(plan_of: PlanOf) -> None:
    model = {"head_length": 256, "embedding": 512, "kv_heads": 2, "context": 1 << 16}
    session = Session()
    session.planned(plan_of(model=model, n_ctx=2048))
    session.memory(sample(CPU=(16, 1.0)))
    growth = panel_view(session).growth
    assert growth is not None
    assert growth.budget_bytes == 0
    assert growth.budget_tokens == 0
    assert growth.fitting_tokens is None
    assert {item.budget_tokens for item in growth.alternatives} == {0}


def test_a_model_card_of_states_windows_and_experts(plan_of: PlanOf) -> None:
    def rows(plan: Plan) -> dict[str, str]:
        session = Session()
        session.planned(plan)
        card_view = panel_view(session).model
        assert card_view is not None
        return {row.label: row.value for row in card_view.rows}

    hybrid = rows(plan_of(model={"architecture": "lfm2"}))
    assert "Recurrent state" in hybrid
    sliding = rows(plan_of(model={"architecture": "gemma3", "layers": 6}))
    assert sliding["Sliding window"] == "128 tokens in 5 layers"
    load = LoadSettings(context=4096)
    mixture = rows(make_plan(typed_facts(model_named("Qwen3 30B-A3B")), load, machine()))
    assert mixture["Experts"] == "8 of 128 a token"
    assert mixture["Parameters"].endswith(" active")


def test_a_long_value_of_the_file_is_cut(facts_of: Callable[..., ModelFacts]) -> None:
    facts = facts_of(template="x" * 500)
    rows = {row.key: row.value for row in metadata_rows(facts.header)}
    assert rows["tokenizer.chat_template"] == "x" * 200 + "…"


def test_what_is_unknown_of_room_is_not_shown() -> None:
    session = Session()
    session.planned(
        make_plan(typed_facts(model_named("8B, plain Q4")), LoadSettings(context=4096), cpu_only())
    )
    growth = panel_view(session).growth
    assert growth is not None
    assert (growth.budget_bytes, growth.fitting_conversations) == (None, None)


def test_an_encoder_keeps_nothing_that_grows(tmp_path: Path) -> None:
    facts = read_facts(FAMILIES["encoder"].builder().write(tmp_path / "encoder.gguf"))
    session = Session()
    session.planned(make_plan(facts, LoadSettings(context=512), machine()))
    assert session.plan is not None
    assert session.plan.state_bytes == sum(item.kv_bytes for item in session.plan.devices) == 0
    assert panel_view(session).growth is None


def test_layers_stay_on_the_card_that_they_were_planned_for(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card(), card(name="CUDA1"))))
    before = panel_view(session).layers
    assert before is not None
    assert {layer.device for layer in before.layers} == {1, 2}
    loaded(session, layers_offloaded=3)
    after = panel_view(session).layers
    assert after is not None
    assert [layer.device for layer in after.layers] == [layer.device for layer in before.layers]


def test_a_load_without_a_turn_is_replayed_with_its_own_time(plan_of: PlanOf) -> None:
    live = Session()
    live.planned(plan_of())
    noon = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
    record = loaded(live, at_ms=int(noon.timestamp() * 1000))
    told = noon.astimezone()
    assert panel_view(replayed(record, [])).recorded == (
        f"Recorded turn of 9 March 2026, {told:%H:%M}"
    )
    hour_later = msgspec.structs.replace(turn(record), at_ms=record.at_ms + 3_600_000)
    told += timedelta(hours=1)
    assert panel_view(replayed(record, [hour_later])).recorded.endswith(f"{told:%H:%M}")


def test_a_model_without_experts_has_no_active_part(plan_of: PlanOf) -> None:
    plan = plan_of()
    session = Session()
    session.planned(plan)
    card_view = panel_view(session).model
    assert card_view is not None
    rows = {row.label: row.value for row in card_view.rows}
    assert rows["Parameters"] == format_count(plan.facts.parameters)
    assert rows["KV cache per token"] == format_bytes(plan.memory.kv_bytes_per_token)


def test_what_still_fits_ends_with_the_context_or_the_budget(plan_of: PlanOf) -> None:
    model = {"head_length": 256, "embedding": 512, "kv_heads": 2, "context": 1 << 16}
    session = Session()
    session.planned(plan_of(model=model, n_ctx=1 << 16))
    session.memory(sample(CPU=(16, 1.7)))
    session.conversation([turn(prompt_tokens=100, reply_tokens=28)])
    tight = panel_view(session).growth
    assert tight is not None
    assert tight.budget_tokens is not None
    assert tight.budget_tokens < 1 << 16
    assert tight.fitting_tokens == tight.budget_tokens - 128
    session.memory(sample(CPU=(16, 12)))
    wide = panel_view(session).growth
    assert wide is not None
    assert wide.fitting_tokens == (1 << 16) - 128


def test_the_budget_is_of_the_memory_that_holds_most_of_the_cache(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of(machine(card()), gpu_layers=2, n_ctx=1024))
    plan = session.plan
    assert plan is not None
    host, gpu = plan.devices
    session.plan = msgspec.structs.replace(
        plan,
        devices=(
            msgspec.structs.replace(host, kv_bytes=3 * plan.growth[0].at(1024) // 4),
            msgspec.structs.replace(gpu, kv_bytes=plan.growth[0].at(1024) // 4),
        ),
    )
    session.memory(sample(CPU=(16, 8), CUDA0=(24, 23)))
    growth = panel_view(session).growth
    assert growth is not None
    assert growth.budget_bytes is not None
    (bar,) = [item for item in panel_view(session).budgets if item.name == host.title]
    assert bar.headroom_bytes is not None
    # Three quarters of each token lie there.
    assert growth.budget_bytes == int(
        plan.growth[0].at(1024) + plan.growth[0].at(0) + bar.headroom_bytes / 0.75
    )


def test_what_a_finding_says_of_the_speed_is_not_said_twice(session: Session) -> None:
    assert at_rate(session, 60) == "inside"
    quick = panel_view(session).speed
    assert quick is not None
    assert quick.explanation == ""
    assert at_rate(session, 5) == "below"
    view = panel_view(session)
    assert "slow" in {item.id for item in view.findings}
    assert view.speed is not None
    assert view.speed.explanation == ""
    assert view.speed.decode.measured == pytest.approx(5)
    assert view.speed.alarming


def test_a_plan_that_was_far_off_is_said(plan_of: PlanOf) -> None:
    session = Session()
    session.planned(plan_of())
    record = loaded(session)
    assert panel_view(session).notice == ""
    off = msgspec.structs.replace(record, buffers=(buffer("CPU", "compute", 100 * MIB),))
    session.loaded(off)
    assert panel_view(session).notice == verify_line(session)
    assert "furthest off: compute on CPU, -" in panel_view(session).notice

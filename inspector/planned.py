"""From a plan to what is kept and drawn of it: curves over the depth, growth, effects of changes.

Everything is computed once a plan, in about a millisecond each, so that the panel only draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from gguf_tools import roles
from gguf_tools.expected import expected_share
from gguf_tools.facts import ModelFacts
from gguf_tools.findings import Finding
from gguf_tools.memory import DeviceMemory, output_buffer_bytes, score_matrix_bytes
from gguf_tools.network import network_seconds
from gguf_tools.placement import CPU
from gguf_tools.plan import Plan, held_bytes, kernel_features, step_reads
from gguf_tools.prefill import least_prefill_seconds, prefill_seconds
from gguf_tools.rates import decode_ceiling, token_bytes
from gguf_tools.settings import LoadSettings
from gguf_tools.split import parse_split
from gguf_tools.units import format_bytes, round_up
from inspector.effects import PLANNED_KEYS, effect_of
from inspector.growth import growth_lines, kv_formula
from inspector.plan_record import (
    Changes,
    FindingRecord,
    FitRecord,
    FixRecord,
    LayerRecord,
    ModelRecord,
    PlannedDevice,
    PlanRecord,
    RatePoint,
    SettingsRecord,
)
from inspector.room import lacking

__all__ = [
    "load_settings",
    "model_record",
    "plan_record",
    "prefill_point",
    "step_point",
]

_DEFAULT_CONTEXT: Final = 8192
_CELLS: Final = 256
_CURVE_POINTS: Final = 48


def load_settings(
    values: Mapping[str, Any], facts: ModelFacts, draft: ModelFacts | None = None
) -> LoadSettings:
    """Return planner settings for this program's load settings by key.

    ``draft`` are the facts of the draft model that ``values`` name, None where there is none.

    The rules are those of the engine's side: without a context the trained length up to 8,192,
    one row of logits a sequence, one cache for all sequences; in compatibility mode no AMX, and
    repacked kernels only where the engine does not die of them.
    """
    chosen = {
        name: values[key]
        for key, name in PLANNED_KEYS.items()
        if key in values and values[key] is not None
    }
    context = values.get("n_ctx")
    if context is None:
        context = min(facts.context_length or _DEFAULT_CONTEXT, _DEFAULT_CONTEXT)
    sequences = int(values.get("sequences") or 1)
    return LoadSettings(
        context=round_up(int(context), _CELLS),
        sequences=sequences,
        unified=sequences > 1,
        outputs=_output_rows(values, sequences),
        extra_buffers=not values.get("compatibility", False),
        repack=bool(values.get("repack", False)),
        draft=draft if values.get("draft") else None,
        split=parse_split(values.get("tensor_split")),
        **chosen,
    )


def _output_rows(values: Mapping[str, Any], sequences: int) -> int:
    """Return the rows of logits that a step can give: one a sequence, or a draft's and one more."""
    if not values.get("draft"):
        return sequences
    return max(sequences, int(values.get("draft_tokens") or 0) + 1)


def plan_record(plan: Plan, asked: SettingsRecord | None = None) -> PlanRecord:
    """Return what is kept and drawn of a plan; ``asked`` adds threads and the like."""
    memory, machine = plan.memory, plan.machine
    settings = memory.settings
    base = asked or SettingsRecord(n_ctx=settings.context)
    fit = machine.fit
    return PlanRecord(
        model=model_record(plan.facts, settings.kv.context),
        settings=SettingsRecord(
            n_ctx=settings.context,
            n_batch=settings.batch,
            n_ubatch=settings.ubatch,
            type_k=settings.kv.type_k.name.lower(),
            type_v=settings.kv.type_v.name.lower(),
            flash_attention=settings.flash_attention,
            swa_full=plan.load.swa_full,
            gpu_layers=plan.load.gpu_layers,
            sequences=settings.sequences,
            threads=base.threads,
            threads_batch=base.threads_batch,
            mmap=plan.load.mmap,
            compatibility=not plan.load.extra_buffers,
            experts_on_cpu=plan.load.experts_on_cpu,
        ),
        machine=machine.name,
        devices=tuple(_device(plan, item, index) for index, item in enumerate(memory.devices)),
        layers=_layers(plan),
        kv_bytes_per_token=memory.kv_bytes_per_token,
        state_bytes=memory.state_bytes,
        draft=_draft_words(plan),
        kv_formula=kv_formula(plan),
        compute_margin=memory.compute_margin,
        curve=_curve(plan),
        growth=growth_lines(plan),
        prefill_per_s=plan.prefill.expected,
        prefill_flops_per_token=plan.prefill.flops_per_token,
        prefill_ceiling=plan.prefill.ceiling,
        max_context=plan.max_context,
        max_sequences=plan.max_sequences,
        fits=plan.fits,
        # What does not fit is said with its rule, its numbers and what would pass.
        findings=(
            *lacking(plan),
            *(_finding(plan, item) for item in plan.findings if item.id != "does_not_fit"),
        ),
        fit=None
        if fit is None
        else FitRecord(
            own=fit.own,
            other_settings=fit.other_settings,
            count=fit.count,
            deepest=fit.deepest,
            spread=fit.spread,
            runs=fit.runs,
            busy=fit.busy,
        ),
    )


def _draft_words(plan: Plan) -> str:
    """Return what a draft model takes and of what, empty without one that is loaded."""
    draft = plan.memory.draft
    if draft is None or draft.problem:
        return ""
    return (
        f"{draft.name}: weights {format_bytes(draft.weights_bytes)} + cache "
        f"{format_bytes(draft.cache_bytes)} + compute {format_bytes(draft.compute_bytes)} and "
        f"output rows = {format_bytes(draft.total_bytes)}"
    )


def model_record(facts: ModelFacts, context: int = 0) -> ModelRecord:
    """Return what the model card shows, with the score matrix of a prompt of ``context``."""
    return ModelRecord(
        name=facts.shown_name,
        architecture=facts.architecture or "unknown",
        quantization=facts.quantization,
        file_bytes=facts.file_bytes,
        weights_bytes=facts.weights_bytes,
        bits_per_weight=facts.bits_per_weight,
        parameters=facts.parameters,
        parameters_active=facts.parameters_active,
        layers=facts.layers,
        embedding_length=facts.embedding_length,
        heads=facts.heads,
        kv_heads=facts.kv_heads or (),
        key_length=facts.key_length,
        value_length=facts.value_length,
        context_length=facts.context_length,
        vocab_size=facts.vocab_size,
        sliding_window=facts.sliding_window,
        sliding_layers=facts.sliding_layers,
        experts=facts.experts,
        experts_used=facts.experts_used,
        bytes_read_per_token=facts.bytes_read_per_token,
        score_matrix_bytes=(
            score_matrix_bytes(context, facts.heads) if context and facts.heads else None
        ),
        types=tuple(
            (name, share.tensors, share.bytes) for name, share in facts.tensor_types.items()
        ),
        gguf_version=facts.header.version,
        assumed=facts.assumed,
    )


def step_point(plan: Plan, depth: int, sequences: int = 1) -> RatePoint:
    """Return the prediction of decoding several sequences side by side at one depth.

    They share one reading of the weights; ``bytes_per_token`` is that of a whole step, the rates
    are those of all sequences together.
    """
    shape, memory, machine = plan.facts.shape, plan.memory, plan.machine
    assert shape is not None
    reads = token_bytes(
        plan.facts.header,
        shape,
        memory.settings,
        memory.placement,
        memory.caches,
        memory.states,
        devices=len(machine.devices),
        depth=depth,
        sequences=sequences,
        experts_on_cpu=plan.load.experts_on_cpu,
        features=kernel_features(plan.load, plan.machine),
    )
    expected = expected_share(reads, machine, memory.settings, memory.placement)
    likely = None
    if machine.fit is not None:
        bare = replace(machine, fit=None)
        likely = expected_share(reads, bare, memory.settings, memory.placement)
    ceiling = decode_ceiling(reads, machine)
    return RatePoint(
        depth=depth,
        bytes_per_token=round(sum(item.total for item in reads)),
        ceiling=None if ceiling is None else ceiling * sequences,
        low=expected[0] * sequences if expected else None,
        high=expected[1] * sequences if expected else None,
        likely_low=likely[0] * sequences if likely else None,
    )


def prefill_point(plan: Plan, depth: int, tokens: int) -> tuple[float | None, float | None]:
    """Return (expected rate, ceiling) of a prompt of ``tokens`` behind ``depth`` cached ones."""
    shape = plan.facts.shape
    assert shape is not None
    header, memory, machine = plan.facts.header, plan.memory, plan.machine
    features = kernel_features(plan.load, machine)
    held = held_bytes(step_reads(plan.facts, plan.load, machine, memory, depth))
    on_cpu = plan.load.experts_on_cpu
    place, ubatch = memory.placement, memory.settings.ubatch
    likely = prefill_seconds(
        header,
        shape,
        place,
        machine,
        tokens,
        ubatch,
        features,
        depth=depth,
        held=held,
        experts_on_cpu=on_cpu,
    )
    least = least_prefill_seconds(
        header, shape, place, machine, tokens, ubatch, depth=depth, held=held, experts_on_cpu=on_cpu
    )
    return (tokens / likely if likely else None, tokens / least if least else None)


# --- parts


def _device(plan: Plan, item: DeviceMemory, index: int) -> PlannedDevice:
    device, reads = item.device, plan.decode.reads[index]
    output = 0
    if index == 0:
        output = output_buffer_bytes(plan.facts.header, plan.memory.settings.sequences)
        output = min(output, item.other_bytes)
    pools = {pool.name: pool for pool in plan.pools}
    pool = pools.get(device.memory_pool)
    return PlannedDevice(
        name=device.name,
        kind=device.kind,
        pool=device.memory_pool,
        description=device.description,
        backend=device.backend,
        total_bytes=device.total_bytes if pool is None else pool.total_bytes,
        free_bytes=device.free_bytes if pool is None else pool.free_bytes,
        weights_bytes=item.weights_bytes,
        kv_bytes=item.kv_bytes,
        state_bytes=item.state_bytes,
        compute_bytes=item.compute_bytes,
        output_bytes=output,
        overhead_bytes=item.other_bytes - output,
        draft_bytes=item.draft_bytes,
        bandwidth_bytes_per_s=device.bandwidth_bytes_per_s,
        bandwidth_basis=device.bandwidth_basis,
        bandwidth_note=device.bandwidth_note,
        flops_per_s=device.prompt_flops_per_s,
        flops_basis=device.flops_basis,
        link_bytes_per_s=device.link_bytes_per_s,
        round_trip_s=device.round_trip_s,
        network_s=network_seconds(reads.moved, reads.trips, device),
    )


def _layers(plan: Plan) -> tuple[LayerRecord, ...]:
    """Return where each layer's weights and cache lie, the output last."""
    shape, memory = plan.facts.shape, plan.memory
    assert shape is not None
    places = memory.placement.layers
    names = [device.name for device in plan.machine.devices]
    dense, experts = _layer_bytes(plan.facts)
    caches = [0] * len(places)
    for cache in memory.caches:
        for item in cache.layers:
            caches[item.layer] += cache.layer_bytes(item)
    for state in memory.states:
        caches[state.layer] += state.size_bytes()
    found = []
    for index, place in enumerate(places):
        last = index == len(places) - 1
        split = plan.load.experts_on_cpu and place != CPU and experts[index] > 0
        found.append(
            LayerRecord(
                name="output" if last else f"blk.{index}",
                device=names[place],
                size_bytes=dense[index] + experts[index] + caches[index],
                split_device=names[CPU] if split else None,
                split_bytes=experts[index] if split else 0,
            )
        )
    return tuple(found)


def _layer_bytes(facts: ModelFacts) -> tuple[list[int], list[int]]:
    """Return bytes of each layer's tensors, without and of its experts; the output comes last."""
    shape = facts.shape
    assert shape is not None
    count = shape.layers_all
    dense, experts = [0] * (count + 1), [0] * (count + 1)
    for tensor in facts.header.tensors.values():
        block = roles.block_of(tensor.name)
        if block is None:
            if tensor.name not in roles.INPUT_TABLES:
                dense[count] += tensor.size_bytes
        elif block < count:
            (experts if roles.is_expert(tensor.name) else dense)[block] += tensor.size_bytes
    if facts.tied_output:
        dense[count] += facts.header.tensors["token_embd.weight"].size_bytes
    return dense, experts


def _curve(plan: Plan) -> tuple[RatePoint, ...]:
    """Return the prediction over the depth, as the cache is read in steps of 256 cells."""
    end = plan.memory.settings.context_sequence
    step = round_up(max(end // _CURVE_POINTS, 1), _CELLS)
    return tuple(step_point(plan, depth) for depth in [*range(0, end, step), end - 1])


def _finding(plan: Plan, finding: Finding) -> FindingRecord:
    fixes = []
    for fix in finding.fixes:
        changes = _changes(plan, fix.setting, fix.value)
        fixes.append(FixRecord(text=fix.text, changes=changes, effect=effect_of(plan, changes)))
    return FindingRecord(
        id=finding.id,
        severity=finding.severity,
        text=finding.text,
        cost=finding.cost,
        fixes=tuple(fixes),
    )


def _changes(plan: Plan, setting: str, value: str | int | bool) -> Changes:
    """Return a planner's fix as changes of this program's load settings."""
    if setting == "context":
        return {"n_ctx": value}
    if setting == "cache_type" or (setting == "type_k" and value == "f16"):
        return {"type_k": value, "type_v": value}
    if setting == "type_v" and value == "same":
        return {"type_v": plan.load.type_k}
    if setting == "draft":
        return {"draft": None}
    return {setting: value}

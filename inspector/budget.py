"""The memory budget of each device: what the model takes, what others hold, what is free.

Before loading all of it is the plan; after loading it is the engine's own log, with the plan's
error beside it. A mapped file's pages are told apart from private memory: decoding reads them, but
the system takes them back whenever another program needs room. A mapped *range* may span the whole
file while few of its tensors lie there, so tensors are counted, not ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from gguf_tools.units import counted, format_bytes, format_percent
from inspector.plan_errors import device_of_buffer, is_mapped, is_rounding, tensors_of_range
from inspector.plan_record import PlannedDevice
from inspector.records import LoadRecord, MemorySample
from inspector.session import Session
from inspector.views import Basis, BudgetView, SegmentView

__all__ = ["budgets"]

_MUCH: Final = 0.03  # of a memory, from which what others took is worth a word


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """What lies on one device, in bytes; ``mapped`` are weights in pages of the file."""

    weights: int = 0
    mapped: int = 0
    kv: int = 0
    state: int = 0
    compute: int = 0
    overhead: int = 0
    draft: int = 0

    @property
    def buffers(self) -> int:
        """Return the engine's buffers in private memory."""
        return self.weights + self.kv + self.state + self.compute

    def __add__(self, other: _Held) -> _Held:
        return _Held(
            weights=self.weights + other.weights,
            mapped=self.mapped + other.mapped,
            kv=self.kv + other.kv,
            state=self.state + other.state,
            compute=self.compute + other.compute,
            overhead=self.overhead + other.overhead,
            draft=self.draft + other.draft,
        )


def budgets(session: Session) -> tuple[BudgetView, ...]:
    """Return the budget of every memory that the model uses or could use, the CPU's last.

    Devices that share a memory share a budget. Accelerators on which nothing lies are left out
    once a model is loaded.
    """
    devices = _devices(session)
    held = _held(session, devices)
    pools: dict[str, list[PlannedDevice]] = {}
    for device in devices:
        pools.setdefault(device.pool, []).append(device)
    ordered = sorted(pools.values(), key=lambda members: _has_cpu(members) and len(pools) > 1)
    found = []
    for members in ordered:
        taken = sum((held.get(item.name, _Held()) for item in members), _Held())
        idle = taken.buffers + taken.mapped == 0
        if session.load is not None and idle and not _has_cpu(members):
            continue
        found.append(_budget(session, members, taken))
    return tuple(found)


# --- where things lie


def _has_cpu(members: Iterable[PlannedDevice]) -> bool:
    return any(item.kind == "cpu" for item in members)


def _devices(session: Session) -> tuple[PlannedDevice, ...]:
    """Return the devices of the plan with what the last sample says of their memory."""
    plan, sample = session.plan, session.sample
    seen = () if sample is None else sample.devices
    if plan is None:
        return tuple(
            PlannedDevice(
                name=item.name,
                kind=item.kind,
                pool=item.name,
                total_bytes=item.total_bytes,
                free_bytes=item.free_bytes,
            )
            for item in seen
        )
    now = {item.name: item for item in seen}
    return tuple(
        msgspec.structs.replace(
            device,
            total_bytes=now[device.name].total_bytes or device.total_bytes,
            free_bytes=now[device.name].free_bytes,
        )
        if device.name in now
        else device
        for device in plan.devices
    )


def _held(session: Session, devices: tuple[PlannedDevice, ...]) -> dict[str, _Held]:
    if session.state == "lost":
        return {}
    if session.load is not None and session.load.buffers:
        return _engine(session.load, devices)
    mmap = session.plan is not None and session.plan.settings.mmap
    held = {}
    for device in devices:
        in_file = mmap and device.kind == "cpu"
        held[device.name] = _Held(
            weights=0 if in_file else device.weights_bytes,
            mapped=device.weights_bytes if in_file else 0,
            kv=device.kv_bytes,
            state=device.state_bytes,
            compute=device.compute_bytes + device.output_bytes,
            overhead=device.overhead_bytes,
            draft=device.draft_bytes,
        )
    return held


def _engine(load: LoadRecord, devices: tuple[PlannedDevice, ...]) -> dict[str, _Held]:
    """Return what the engine's log says, by device.

    The log's figures are rounded. Where the plan's cache is the same but for that, it is the
    plan's: the chart of its growth follows the plan, and one cache must not have two sizes.
    """
    names = [device.name for device in devices]
    sizes: dict[tuple[str, str], int] = {}
    counts: dict[tuple[str, str], int] = {}
    for item in load.buffers:
        what = "mapped" if is_mapped(item) else item.what
        key = (device_of_buffer(item.device, names), what)
        sizes[key] = sizes.get(key, 0) + item.size_bytes
        counts[key] = counts.get(key, 0) + 1

    def exact(name: str, what: str, planned_bytes: int) -> int:
        size_bytes = sizes.get((name, what), 0)
        same = is_rounding(size_bytes - planned_bytes, counts.get((name, what), 0))
        return planned_bytes if same else size_bytes

    held = {}
    for device in devices:
        name = device.name
        weights = sizes.get((name, "weights"), 0)
        mapped = tensors_of_range(sizes.get((name, "mapped"), 0), device.weights_bytes, weights)
        buffers = _Held(
            weights=weights,
            mapped=mapped,
            kv=exact(name, "kv", device.kv_bytes),
            state=exact(name, "state", device.state_bytes),
            compute=sizes.get((name, "compute"), 0) + sizes.get((name, "output"), 0),
        )
        # The engine's log of a draft model is not kept: it counts as planned, and not as overhead.
        over = max(_overhead(load, device, buffers.buffers) - device.draft_bytes, 0)
        held[name] = buffers + _Held(overhead=over, draft=device.draft_bytes)
    return held


def _overhead(load: LoadRecord, device: PlannedDevice, buffers_bytes: int) -> int:
    """Return what the engine takes beyond its buffers, measured around the load."""
    before, after = load.before, load.after
    if device.kind == "cpu":
        private = None if after is None else after.private_bytes
        return 0 if private is None else max(private - buffers_bytes, 0)
    if not buffers_bytes or before is None or after is None:
        return device.overhead_bytes if buffers_bytes else 0
    first, then = before.device(device.name), after.device(device.name)
    if first is None or then is None or first.free_bytes is None or then.free_bytes is None:
        return device.overhead_bytes
    return max(first.free_bytes - then.free_bytes - buffers_bytes, 0)


# --- one bar


def _budget(session: Session, members: list[PlannedDevice], taken: _Held) -> BudgetView:
    lead = next((item for item in members if item.kind != "cpu"), members[0])
    total = max((item.total_bytes for item in members if item.total_bytes), default=None)
    free = max((item.free_bytes for item in members if item.free_bytes is not None), default=None)
    segments = list(_model_segments(session, members, taken))
    if total is not None and free is not None:
        segments += _rest(session, total, free, taken, with_cpu=_has_cpu(members))
    took = _others_took(session, members, total)
    planned = engine = None
    if session.load is not None and session.load.buffers and session.plan is not None:
        planned = sum(item.used_bytes - item.overhead_bytes - item.draft_bytes for item in members)
        engine = taken.buffers + taken.mapped
    return BudgetView(
        name=lead.title,
        total_bytes=total,
        segments=tuple(segments),
        planned_bytes=planned,
        engine_bytes=engine,
        mapped_bytes=taken.mapped or None,
        peak_bytes=(
            session.peak_bytes
            if _has_cpu(members) and session.state != "lost" and session.has_evaluated
            else None
        ),
        note=_spill_note(session, members) or _others_note(took),
        others_took_bytes=took,
    )


def _spill_note(session: Session, members: list[PlannedDevice]) -> str:
    for member in members:
        seen = None if session.sample is None else session.sample.device(member.name)
        if seen is not None and seen.spilled_bytes:
            size = format_bytes(seen.spilled_bytes)
            return f"The driver keeps {size} of this device's memory in system memory."
    return ""


def _others_note(took_bytes: int | None) -> str:
    if took_bytes is None:
        return ""
    return f"Other programs took about {format_bytes(took_bytes)} since loading."


def _others_took(session: Session, members: list[PlannedDevice], total: int | None) -> int | None:
    """Return what other programs took of a memory since the model was loaded, if it is much."""
    load, sample = session.load, session.sample
    if load is None or load.after is None or sample is None or total is None:
        return None
    then, now = (_taken_by_others(item, members) for item in (load.after, sample))
    if then is None or now is None or now - then < _MUCH * total:
        return None
    # In steps: a figure that changes with every reading would draw the eye for nothing.
    step = 1 << max(int(_MUCH * total / 2).bit_length() - 1, 0)
    return round((now - then) / step) * step


def _taken_by_others(sample: MemorySample, members: list[PlannedDevice]) -> int | None:
    """Return the bytes in use by others than the engine; None where a figure is missing."""
    seen = [found for item in members if (found := sample.device(item.name)) is not None]
    known = [item for item in seen if item.total_bytes is not None and item.free_bytes is not None]
    if not known:
        return None
    used = max((item.total_bytes or 0) - (item.free_bytes or 0) for item in known)
    if not _has_cpu(members):
        return used
    return None if sample.private_bytes is None else used - sample.private_bytes


def _rest(
    session: Session, total: int, free: int, taken: _Held, *, with_cpu: bool
) -> Iterator[SegmentView]:
    """Yield other programs and what is free, by the last sample."""
    used = max(total - free, 0)
    ours = 0
    if session.load is not None and session.state not in {"lost", "loading"}:
        sample = session.sample
        ours = taken.buffers + taken.overhead + taken.draft
        if with_cpu and sample is not None and sample.private_bytes is not None:
            # Buffers that were reserved but never touched are not taken from the system yet.
            ours = min(ours, sample.private_bytes)
    others = max(used - ours, 0)
    less = f" less {format_bytes(ours)} of the engine's own" if ours else ""
    yield SegmentView(
        "other_programs",
        others,
        "read",
        f"{format_bytes(total)} in all less {format_bytes(free)} free{less} = "
        f"{format_bytes(others)}",
    )
    model = taken.buffers + taken.overhead + taken.mapped + taken.draft
    left = max(total - others - model, 0)
    yield SegmentView(
        "free",
        left,
        "read",
        f"{format_bytes(total)} less {format_bytes(model)} of the model less "
        f"{format_bytes(others)} of others = {format_bytes(left)}",
    )


def _model_segments(
    session: Session, members: list[PlannedDevice], taken: _Held
) -> Iterator[SegmentView]:
    loaded = session.load is not None and bool(session.load.buffers)
    basis: Basis = "engine" if loaded else "planned"
    planned = session.plan is not None and loaded

    def plan_of(size_bytes: int) -> int | None:
        return size_bytes if planned else None

    weights = taken.weights + taken.mapped
    if weights:
        text = f"tensors of {_layers_on(session, members)} = {format_bytes(weights)}"
        if taken.mapped:
            text += (
                f"; {format_bytes(taken.mapped)} of it are pages of the file, which the system "
                "can take back and read again"
            )
        own = plan_of(sum(item.weights_bytes for item in members))
        yield SegmentView("weights", weights, basis, text, own)
    kv = taken.kv + taken.state
    if kv:
        own = plan_of(sum(item.kv_bytes + item.state_bytes for item in members))
        yield from _kv_segments(session, taken, basis, own)
    rest = taken.compute + taken.overhead
    if rest:
        text = f"{format_bytes(taken.compute)} of compute and output buffers ({basis})"
        also = _overhead_basis(session, members) if taken.overhead else None
        if also is not None:
            what = "the engine's process" if _has_cpu(members) else "the driver"
            text += f" + {format_bytes(taken.overhead)} that {what} takes besides ({also})"
        if not loaded and session.plan is not None and session.plan.compute_margin:
            text += f"; may differ by {format_percent(session.plan.compute_margin)}"
        # The plan is of the buffers; what is measured besides would make it look better or worse.
        own = plan_of(sum(i.compute_bytes + i.output_bytes for i in members) + taken.overhead)
        yield SegmentView("compute", rest, basis, text, own, None if also == basis else also)
    if taken.draft:
        words = "" if session.plan is None else session.plan.draft
        yield SegmentView("draft", taken.draft, "planned", words)


def _overhead_basis(session: Session, members: list[PlannedDevice]) -> Basis:
    """Return how what is taken beyond the buffers is known; measured needs two samples."""
    load = session.load
    if load is None or not load.buffers:
        return "planned"
    after = load.after
    if _has_cpu(members):
        return "planned" if after is None or after.private_bytes is None else "measured"
    samples = [
        None if sample is None else sample.device(item.name)
        for sample in (load.before, after)
        for item in members
    ]
    known = all(found is not None and found.free_bytes is not None for found in samples)
    return "measured" if known else "planned"


def _layers_on(session: Session, members: list[PlannedDevice]) -> str:
    plan = session.plan
    if plan is None:
        return "the model"
    names = {item.name for item in members}
    count = sum(layer.device in names for layer in plan.layers)
    tables = " and the token table" if _has_cpu(members) else ""
    return f"{count} of {plan.layers_total} layers (the output is one){tables}"


def _kv_segments(
    session: Session, taken: _Held, basis: Basis, planned: int | None
) -> Iterator[SegmentView]:
    """Yield the cache in use and the rest of it; recurrent state is in use from the start."""
    plan, settings, tokens = session.plan, session.settings, session.used_tokens
    used = 0
    if plan is not None and plan.growth:
        line = plan.growth[0]
        whole = sum(item.kv_bytes for item in plan.devices) or taken.kv or 1
        used = round((line.at(tokens) - line.at(0)) * taken.kv / whole)
    elif settings is not None and settings.n_ctx:
        used = round(taken.kv * tokens / settings.n_ctx)
    used = max(0, min(used, taken.kv))
    formula = "" if plan is None else f"; {plan.kv_formula}"
    in_use = used + taken.state
    if in_use:
        known = session.has_evaluated
        take = "take" if known else "of this chat will take"
        text = f"{counted(tokens, 'token')} {take} {format_bytes(used)}{formula}"
        if taken.state:
            text += f"; recurrent state {format_bytes(taken.state)}, whatever the length"
        basis_used: Basis = "measured" if tokens and known else "planned"
        yield SegmentView("kv_used", in_use, basis_used, text)
    left = taken.kv - used
    window = "" if settings is None else f" for {settings.n_ctx:,} tokens"
    yield SegmentView(
        "kv_reserved",
        left,
        basis,
        f"{format_bytes(taken.kv)} reserved{window} less {format_bytes(used)} in use"
        f"{formula if not in_use else ''}",
        None if planned is None else max(planned - in_use, 0),
    )

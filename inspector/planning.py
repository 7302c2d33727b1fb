"""A planner's row: a model on a machine, what breaks first and why.

Everything follows from `make_plan`; nothing is loaded. A plan takes about a millisecond, and a row
that doesn't fit takes several to find the split that does, so rows are computed by generators
that hand control back after each plan: a window can redraw while a slider moves.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, TypeVar

from gguf_tools.facts import ModelFacts
from gguf_tools.machine import Machine
from gguf_tools.plan import Plan, make_plan
from gguf_tools.pools import context_in_memory
from gguf_tools.settings import LoadSettings
from gguf_tools.units import round_up
from inspector.growth import kv_formula
from inspector.planner_bars import Bar, bars_of, shown_pools
from inspector.planner_rates import Balance, Rates, balance_of, rates_at
from inspector.planner_setup import PlannerSettings

__all__ = [
    "STEP_TOKENS",
    "Cause",
    "Engine",
    "RowPlan",
    "Steps",
    "VerdictKind",
    "finish",
    "load_of",
    "plan_row",
]

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]

Cause: TypeAlias = Literal["weights", "cache", "compute", "nothing", "unknown"]
VerdictKind: TypeAlias = Literal[
    "fits", "slow", "tight", "cache_breaks", "compute_breaks", "weights_break", "refused", "unknown"
]

SLOW_PER_S: Final = 5.0
"""Tokens per second below which a reader waits for the next word."""

STEP_TOKENS: Final = 256
"""Contexts come in steps of this; one conversation has at least one."""
_MOST_CONTEXT: Final = 16_777_216  # memory that holds as much has no end that matters


def _as_it_is(plan: Plan) -> Plan:
    return plan


@dataclass(frozen=True, slots=True)
class Engine:
    """What is known of the engine that would load a model; the defaults are of any other machine.

    ``extra_buffers`` and ``repack`` are those of `LoadSettings`. ``fitted`` returns a plan with
    decoding predicted by what was measured there.
    """

    extra_buffers: bool = True
    repack: bool = False
    fitted: Callable[[Plan], Plan] = _as_it_is


_ANY: Final = Engine()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPlan:
    """What a row shows.

    ``plan`` is as asked; ``split`` is the plan with as many layers on the cards as fit, where the
    asked one doesn't fit and some split does. ``lacks_bytes`` of ``short_pool`` are missing.
    ``context_breaks`` is the longest context of a conversation that keeps below the load line, at
    most the trained one (None: unknown), and ``cause`` what ends it; ``users`` are as many
    conversations as keep below it. ``line_ends`` is the longest context that does, whatever the
    model was trained for, ``memory_ends`` the longest that memory holds, filled to its end.
    """

    plan: Plan
    split: Plan | None
    verdict: VerdictKind
    cause: Cause
    bars: tuple[Bar, ...]
    free_bytes: int | None
    lacks_bytes: int
    short_pool: str
    context_breaks: int | None
    line_ends: int | None
    memory_ends: int | None
    trained_context: int | None
    users: int | None
    rates: Rates
    empty: Rates
    split_rates: Rates | None
    balance: Balance
    kv_formula: str

    @property
    def fits(self) -> bool | None:
        """Tell whether it fits as asked, None if a memory is unknown."""
        return None if self.verdict == "unknown" else self.plan.fits

    @property
    def working(self) -> Plan:
        """Return the plan that would run: as asked, or the split that fits."""
        return self.split or self.plan

    @property
    def working_rates(self) -> Rates | None:
        """Return the rates of what would run, None where nothing would."""
        if self.split_rates is not None:
            return self.split_rates
        return self.rates if self.plan.fits is not False else None


def finish(steps: Steps[T]) -> T:
    """Run steps to their end and return what they come to."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result


def load_of(
    settings: PlannerSettings,
    *,
    context: int | None = None,
    engine: Engine | LoadSettings = _ANY,
) -> LoadSettings:
    """Return the load that settings mean: a cache of ``context`` for each conversation.

    ``engine`` says which kernels there are; a load of the same engine does as well.
    """
    one = round_up(max(context or settings.context, STEP_TOKENS), STEP_TOKENS)
    return LoadSettings(
        context=one * settings.conversations,
        type_k=settings.cache_type,
        type_v=settings.cache_type,
        gpu_layers=settings.gpu_layers,
        batch=settings.batch,
        ubatch=settings.batch,
        sequences=settings.conversations,
        flash_attention=settings.flash_attention,
        experts_on_cpu=settings.experts_on_cpu,
        extra_buffers=engine.extra_buffers,
        repack=engine.repack,
    )


def plan_row(
    facts: ModelFacts, settings: PlannerSettings, machine: Machine, engine: Engine = _ANY
) -> Steps[RowPlan]:
    """Return a row, step by step.

    Args:
        facts: the model.
        settings: how it would be loaded.
        machine: where.
        engine: what is known of the engine there.

    Raises:
        ValueError: the facts say too little to plan; the text is one sentence.
    """
    load = load_of(settings, engine=engine)
    depth = load.context // settings.conversations - 1
    plan = engine.fitted(make_plan(facts, load, machine, depth=depth))
    yield
    split = None
    if plan.fits is False and plan.layers_offloaded > 0:
        split = yield from _split_that_fits(plan, depth)
        split = split and engine.fitted(split)
    longest, line_ends, memory_ends = yield from _longest(plan, settings)
    cause = _cause(plan, longest)
    users = plan.max_sequences
    rates = rates_at(plan, depth, settings.conversations)
    split_rates = None if split is None else rates_at(split, depth, settings.conversations)
    yield
    short = min(
        (pool for pool in plan.pools if pool.used_bytes and pool.left_bytes is not None),
        key=lambda pool: pool.left_bytes or 0,
        default=None,
    )
    left = None if short is None else short.left_bytes
    return RowPlan(
        plan=plan,
        split=split,
        verdict=_verdict(plan, cause, rates),
        cause=cause,
        bars=bars_of(plan, settings),
        free_bytes=_free(plan),
        lacks_bytes=max(-(left or 0), 0),
        short_pool="" if short is None else short.name,
        context_breaks=longest,
        line_ends=line_ends,
        memory_ends=memory_ends,
        trained_context=facts.context_length,
        users=users,
        rates=rates,
        empty=rates_at(plan, 0, settings.conversations),
        split_rates=split_rates,
        balance=balance_of(plan),
        kv_formula=kv_formula(plan),
    )


# --- what breaks


def _split_that_fits(plan: Plan, depth: int) -> Steps[Plan | None]:
    """Return the plan with the most layers on the cards that fits, None if no split does."""
    if all(device.memory_pool == plan.machine.cpu.memory_pool for device in plan.machine.devices):
        return None
    fewest, most, best = 0, plan.layers_offloaded - 1, None
    while fewest <= most:
        layers = (fewest + most) // 2
        tried = make_plan(
            plan.facts, replace(plan.load, gpu_layers=layers), plan.machine, depth=depth
        )
        yield
        # With fewer layers on the cards main memory may run short instead.
        cards_fit = all(
            pool.left_bytes is None or pool.left_bytes >= 0
            for pool in tried.pools
            if pool.used_bytes and pool.name != plan.machine.cpu.memory_pool
        )
        if not cards_fit:
            most = layers - 1
            continue
        fewest = layers + 1
        best = tried if tried.fits else best
    return best


def _longest(
    plan: Plan, settings: PlannerSettings
) -> Steps[tuple[int | None, int | None, int | None]]:
    """Return the longest context: trained and below the load line, below it, and that fits.

    All are worked out near to the end: buffers grow almost evenly with the context, so one step
    from far away is near, not there.
    """
    ends = _ends(plan)
    if ends is None or ends < STEP_TOKENS:
        return plan.safe_context, plan.safe_context, ends
    near = make_plan(plan.facts, load_of(settings, context=ends, engine=plan.load), plan.machine)
    yield
    ends, line = _ends(near) or 0, _ends(near, below_line=True) or 0
    if line >= STEP_TOKENS:
        load = load_of(settings, context=line, engine=plan.load)
        near = make_plan(plan.facts, load, plan.machine)
        yield
        line = _ends(near, below_line=True) or 0
    trained = plan.facts.context_length or plan.memory.settings.context_sequence
    return min(line, trained // STEP_TOKENS * STEP_TOKENS), line, ends


def _ends(plan: Plan, *, below_line: bool = False) -> int | None:
    return context_in_memory(
        plan.facts, plan.memory, plan.pools, most=_MOST_CONTEXT, below_line=below_line
    )


def _cause(plan: Plan, longest: int | None) -> Cause:
    """Return what ends the context: what grows fastest with it, or the weights by themselves.

    Weights are to blame where a memory would be over its load line by them alone. Where nothing
    else but buffers and caches leave no room for one step, it is the larger of both.
    """
    if longest is None:
        return "unknown"
    if longest < STEP_TOKENS:
        return _largest_over(plan)
    trained = plan.facts.context_length or longest
    # The last step before the trained length counts as all of it: contexts come in steps.
    if longest >= trained // STEP_TOKENS * STEP_TOKENS and plan.fits:
        return "nothing"
    memory, settings = plan.memory, plan.memory.settings
    cache = memory.kv_bytes_per_token * settings.streams
    mask = settings.prompt_tokens * (2 if settings.flash_attention else 4)
    scores = 0 if settings.flash_attention else 4 * settings.prompt_tokens
    compute = mask + scores * (plan.facts.heads or 0)
    return "compute" if compute > cache else "cache"


def _largest_over(plan: Plan) -> Cause:
    """Return what a memory has no room for: weights by themselves, else buffers or caches."""
    cache = compute = 0
    for pool in plan.pools:
        here = [item for item in plan.memory.devices if item.device.memory_pool == pool.name]
        caches = sum(item.kv_bytes + item.state_bytes for item in here)
        buffers = sum(item.compute_bytes for item in here)
        if pool.used_bytes and (pool.headroom_bytes or 0) + caches + buffers < 0:
            return "weights"
        cache, compute = cache + caches, compute + buffers
    return "compute" if compute > cache else "cache"


def _verdict(plan: Plan, cause: Cause, rates: Rates) -> VerdictKind:
    if plan.refusal is not None:
        return "refused"
    if plan.fits is None:
        return "unknown"
    if not plan.fits:
        if cause == "weights":
            return "weights_break"
        return "compute_breaks" if cause == "compute" else "cache_breaks"
    if any(pool.over_load_line for pool in plan.pools if pool.used_bytes):
        return "tight"
    if rates.high is not None and rates.high / rates.conversations < SLOW_PER_S:
        return "slow"
    return "fits"


def _free(plan: Plan) -> int | None:
    """Return what is left of the memory that has least left, of those the model really uses."""
    lefts = [pool.left_bytes for pool in shown_pools(plan)]
    return min((left for left in lefts if left is not None), default=None)

"""The planner's explanations: how each figure of a row was worked out, in sentences."""

from __future__ import annotations

from typing import Final

from gguf_tools.machine import Basis, bandwidth_how
from gguf_tools.pools import MOST_SEQUENCES
from gguf_tools.units import GB, format_bandwidth, format_bytes, format_seconds
from inspector.ceiling import held_by_launches
from inspector.measured import fit_words
from inspector.planner_words import (
    Phrase,
    beyond_phrases,
    range_text,
    rate_text,
    say,
    tokens,
)
from inspector.planning import STEP_TOKENS, RowPlan

__all__ = [
    "balance_phrases",
    "ceiling_phrases",
    "context_phrases",
    "machine_phrases",
    "prefill_phrase",
    "realistic_phrases",
    "users_phrases",
]

_BASES: Final[dict[Basis, str]] = {"table": "data sheet", "read": "driver", "assumed": "assumed"}


def machine_phrases(row: RowPlan) -> list[Phrase]:
    """Return what the machine is, and where its figures come from."""
    said = []
    for device in row.plan.machine.devices:
        bandwidth = format_bandwidth(device.bandwidth_bytes_per_s)
        basis = _BASES.get(device.bandwidth_basis, device.bandwidth_basis)
        basis = bandwidth_how(basis, device.bandwidth_note)
        parts = f"{format_bytes(device.total_bytes)}, {bandwidth} ({basis})"
        if device.flops_per_s:
            basis = _BASES.get(device.flops_basis, device.flops_basis)
            parts += f", {device.flops_per_s / 1e12:,.3g} TFLOPS ({basis})"
        said.append(say("%1: %2", device.name, parts))
    said += [say("%1", note) for note in row.plan.machine.notes]
    ridge = row.balance.machine
    if ridge is not None and row.balance.flops_per_s and row.balance.bandwidth_bytes_per_s:
        said.append(
            say(
                "%1 TFLOPS ÷ %2 = %3 operations for each byte it reads.",
                f"{row.balance.flops_per_s / 1e12:,.3g}",
                format_bandwidth(row.balance.bandwidth_bytes_per_s),
                f"{ridge:,.0f}",
            )
        )
    return said


def context_phrases(row: RowPlan) -> list[Phrase]:
    """Return how the longest context was worked out."""
    asked = row.plan.memory.settings.context_sequence
    return [*_context(row), *beyond_phrases(row.trained_context, asked)]


def _context(row: RowPlan) -> list[Phrase]:
    if row.context_breaks is None:
        return [say("Unknown, as the free memory is.")]
    if row.cause == "weights":
        return [say("Weights and buffers leave no room for a cache below the load line.")]
    many = row.plan.memory.settings.streams
    if row.context_breaks < STEP_TOKENS:
        return [
            say(
                "Not even %1 tokens for each of %2 stay below the load line.",
                f"{STEP_TOKENS:,}",
                f"{many:,}",
            )
            if many > 1
            else say("Not even %1 tokens stay below the load line.", f"{STEP_TOKENS:,}")
        ]
    said = [say("%1 tokens for each chat", f"{row.context_breaks:,}")]
    if many > 1:
        said = [say("%1 tokens for each of %2", f"{row.context_breaks:,}", f"{many:,}")]
    if row.cause == "nothing":
        said.append(say("The model was trained for no more; the memory would hold it."))
    elif (row.line_ends or 0) > row.context_breaks:
        held = f"{row.line_ends or 0:,}"
        said.append(
            say("The model was trained for no more; %1 would stay below the load line.", held)
        )
    else:
        said.append(say("With more the memory would be over its load line."))
    said.append(say("%1", row.kv_formula))
    return said


def users_phrases(row: RowPlan) -> list[Phrase]:
    """Return how many conversations fit, and why."""
    settings = row.plan.memory.settings
    one = tokens(settings.context_sequence)
    if row.users is None:
        return [say("Unknown, as the free memory is.")]
    said = [
        say("1 chat of %1 fits", one)
        if row.users == 1
        else say("%1 chats of %2 fit at once", f"{row.users:,}", one)
    ]
    each = row.plan.memory.kv_bytes / settings.streams
    state = row.plan.memory.state_bytes / settings.sequences
    said.append(
        say(
            "They share the weights; each has a cache of its own: %1.",
            format_bytes(round(each + state)),
        )
    )
    if row.users >= MOST_SEQUENCES:
        said.append(say("The engine takes no more at once."))
    elif row.users:
        said.append(say("With one more the memory would be over its load line."))
    return said


def ceiling_phrases(row: RowPlan) -> list[Phrase]:
    """Return how the ceiling follows from bytes and bandwidth."""
    rates = row.rates
    if rates.ceiling is None:
        return [say("Unknown: the memory's bandwidth is.")]
    said = []
    read = f"{rates.bytes_per_step / GB:.3g} GB"
    speed = format_bandwidth(row.plan.decode.bandwidth_bytes_per_s)
    if rates.arithmetic:
        said.append(say("At most %1 tok/s: arithmetic is the limit", rate_text(rates.ceiling)))
    elif rates.conversations == 1:
        said.append(say("%1 ÷ %2 a token = %3 tok/s", speed, read, rate_text(rates.ceiling)))
        said.append(
            say("That is with the context full: the token reads all weights and all of it.")
        )
    else:
        count = f"{rates.conversations:,}"
        said.append(
            say(
                "%1 × %2 ÷ %3 a step = %4 tok/s in all",
                count,
                speed,
                read,
                rate_text(rates.ceiling),
            )
        )
    if row.empty.ceiling is not None:
        said.append(
            say(
                "With an empty cache %1 GB: %2 tok/s.",
                f"{row.empty.bytes_per_step / GB:.3g}",
                rate_text(row.empty.ceiling),
            )
        )
    if (
        row.split_rates is not None
        and row.split_rates.ceiling is not None
        and row.split is not None
    ):
        said.append(
            say(
                "It does not fit so: with %1 of the layers on the card, the rest read from main "
                "memory, the ceiling is %2 tok/s.",
                f"{row.split.layers_offloaded:,}",
                rate_text(row.split_rates.ceiling),
            )
        )
    return said


def realistic_phrases(row: RowPlan) -> list[Phrase]:
    """Return what to expect, and what that rests on."""
    rates = row.working_rates
    if rates is None:
        return [say("Nothing: it does not fit.")]
    if rates.low is None or rates.high is None:
        return [say("Unknown: the memory's bandwidth is.")]
    said = [say("%1 tok/s", range_text(rates.low, rates.high))]
    if rates.conversations > 1:
        each = range_text(rates.low / rates.conversations, rates.high / rates.conversations)
        said = [
            say("%1 tok/s in all, %2 for each", range_text(rates.low, rates.high), each),
        ]
    if rates.ceiling and not rates.arithmetic:
        share = f"{rates.low / rates.ceiling:.0%} to {rates.high / rates.ceiling:.0%}"
        fit = row.working.machine.fit
        kind = row.working.devices[row.working.decode.busiest].device.kind
        if held_by_launches(kind, rates.high, rates.ceiling, measured=fit is not None):
            said.append(
                say("%1 of the ceiling: launching its kernels holds it back (assumed).", share)
            )
        elif fit is None:
            said.append(say("%1 of the ceiling, as such hardware usually reaches.", share))
        else:
            said.append(say("%1 of the ceiling, %2.", share, fit_words(fit)))
    ttft = row.working.ttft_s
    if ttft is not None:
        said.append(say("First token of a 512-token prompt: about %1.", format_seconds(ttft)))
    return said


# --- operations per byte


def balance_phrases(row: RowPlan) -> list[Phrase]:
    """Return what the machine's operations per byte mean for decoding, in sentences."""
    balance = row.balance
    if balance.machine is None:
        return [say("How many operations this machine does is unknown.")]
    decode, machine = f"{balance.decode:.2g}", f"{balance.machine:,.0f}"
    said = []
    if balance.decode < balance.machine:
        said.append(
            say(
                "Decoding asks for %1 operations a byte, this machine can do %2: it waits for its "
                "memory.",
                decode,
                machine,
            )
        )
    else:
        said.append(
            say(
                "Decoding asks for %1 operations a byte, this machine does %2: arithmetic is the "
                "limit.",
                decode,
                machine,
            )
        )
    if balance.conversations is not None and balance.conversations > 1:
        said.append(
            say(
                "About %1 chats with short caches would use all of its arithmetic.",
                f"{balance.conversations:,}",
            )
        )
    return said


def prefill_phrase(row: RowPlan) -> Phrase:
    """Return what the balance means for prompts."""
    balance = row.balance
    prefill = row.plan.prefill
    if prefill.expected_low is not None and prefill.expected_high is not None:
        return say(
            "A prompt's experts are copied from main memory to the card for every %1 tokens: the "
            "bus is the limit, roughly %2 tok/s. Larger batches read faster.",
            f"{balance.batch:,}",
            range_text(prefill.expected_low, prefill.expected_high),
        )
    batch, asked = f"{balance.batch:,}", f"{balance.prefill:,.0f}"
    rate = (
        "unknown" if balance.prefill_per_s is None else f"{rate_text(balance.prefill_per_s)} tok/s"
    )
    if prefill.held_by == "launches":
        return say(
            "A prompt, %1 tokens at a time, asks for %2: launching kernels is its limit (assumed), "
            "about %3.",
            batch,
            asked,
            rate,
        )
    if balance.machine is None:
        return say("A prompt, %1 tokens at a time: %2 operations a byte.", batch, asked)
    if balance.prefill >= balance.machine:
        return say(
            "A prompt, %1 tokens at a time, asks for %2: arithmetic is its limit, about %3.",
            batch,
            asked,
            rate,
        )
    return say(
        "A prompt, %1 tokens at a time, asks for %2: still memory's limit, about %3.",
        batch,
        asked,
        rate,
    )

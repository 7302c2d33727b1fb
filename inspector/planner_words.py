"""The planner's sentences, with their figures apart, so that a window can translate them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gguf_tools.machine import Basis, bandwidth_how
from gguf_tools.pools import MOST_SEQUENCES
from gguf_tools.units import GB, format_bandwidth, format_bytes, format_seconds
from inspector.ceiling import held_by_launches
from inspector.measured import fit_words
from inspector.planning import RowPlan

__all__ = [
    "Phrase",
    "Tone",
    "balance_phrases",
    "beyond_phrases",
    "ceiling_phrases",
    "context_phrases",
    "machine_phrases",
    "prefill_phrase",
    "realistic_phrases",
    "short_name",
    "tokens",
    "users_phrases",
    "verdict",
    "verdict_detail",
]

Tone: TypeAlias = Literal["good", "warning", "danger", "dim"]

_BASES: Final[dict[Basis, str]] = {"table": "data sheet", "read": "driver", "assumed": "assumed"}
_STEP: Final = 256
_MAKERS: Final = ("NVIDIA GeForce ", "NVIDIA ", "AMD Radeon ", "AMD ", "Intel ")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A sentence with %1, %2, … for its values."""

    text: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the sentence in English."""
        return filled(self.text, self.values)


def filled(text: str, values: tuple[str, ...]) -> str:
    """Return a text with its values in place."""
    for place, value in enumerate(values, start=1):
        text = text.replace(f"%{place}", value)
    return text


def _say(text: str, *values: str) -> Phrase:
    return Phrase(text, values)


def short_name(name: str) -> str:
    """Return a device's name without its maker, where the rest says enough."""
    count, times, rest = name.partition(" × ")
    bare = rest if times else name
    for maker in _MAKERS:
        if bare.startswith(maker) and not bare.startswith("AMD Ryzen"):
            bare = bare[len(maker) :]
            break
    return f"{count}{times}{bare}" if times else bare


def tokens(count: int) -> str:
    """Return a context as people say it: 21K is 21 × 1,024, halves at most."""
    if count < 1024:
        return f"{count:,}"
    thousands = count / 1024
    if thousands >= 1024:
        return f"{thousands / 1024:.3g}M"
    return f"{thousands:.0f}K" if thousands >= 10 else f"{thousands:.2g}K"


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.2g}"


def range_text(low: float, high: float) -> str:
    """Return a range of rates without digits that nobody knows."""
    first, second = _rate(low), _rate(high)
    return first if first == second else f"{first}–{second}"


# --- verdict


def verdict(row: RowPlan) -> tuple[Phrase, Tone]:
    """Return the row's verdict in a few words, and how it is meant."""
    at = tokens(row.memory_ends or 0)
    free = format_bytes(row.free_bytes)
    match row.verdict:
        case "fits":
            return _say("Fits, %1 free", free), "good"
        case "slow":
            return _say("Fits, slow"), "warning"
        case "tight":
            return _say("Over the load line"), "warning"
        case "cache_breaks":
            if not row.memory_ends:
                return _say("KV breaks it"), "danger"
            return _say("KV breaks it at %1", at), "danger"
        case "compute_breaks":
            return _say("Scores break it at %1", at), "danger"
        case "weights_break":
            return _say("Weights don't fit"), "danger"
        case "refused":
            return _say("Refused by the engine"), "danger"
        case "unknown":
            return _say("Memory unknown"), "dim"


def verdict_detail(row: RowPlan) -> Phrase:
    """Return the reason, in one line."""
    if row.verdict == "refused" and row.plan.refusal is not None:
        return _say("%1", row.plan.refusal.text)
    if row.verdict == "unknown":
        return _say("How much memory there is, is unknown.")
    if row.plan.fits is False:
        return _short_of(row)
    if row.verdict == "slow" and row.rates.high is not None:
        return _say("%1 tok/s: slower than reading", _rate(row.rates.high))
    if _is_beyond(row):
        return _say("beyond its trained %1", tokens(row.trained_context or 0))
    if row.cause == "nothing":
        return _say("all of its trained %1", tokens(row.trained_context or 0))
    breaks = tokens(row.context_breaks or 0)
    if row.cause == "compute":
        return _say("scores break it at %1", breaks)
    return _say("the cache breaks it at %1", breaks)


def _is_beyond(row: RowPlan) -> bool:
    asked = row.plan.memory.settings.context_sequence
    return bool(beyond_phrases(row.trained_context, asked))


def _short_of(row: RowPlan) -> Phrase:
    lacks = format_bytes(row.lacks_bytes)
    total = len(row.plan.memory.placement.layers)
    if row.split is None:
        return (
            _say("lacks %1; no split fits", lacks) if _can_split(row) else _say("lacks %1", lacks)
        )
    stay = total - row.split.layers_offloaded
    return _say("lacks %1; %2/%3 layers in RAM", lacks, f"{stay:,}", f"{total:,}")


def _can_split(row: RowPlan) -> bool:
    return len(row.plan.pools) > 1


# --- explanations


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
        said.append(_say("%1: %2", device.name, parts))
    said += [_say("%1", note) for note in row.plan.machine.notes]
    ridge = row.balance.machine
    if ridge is not None and row.balance.flops_per_s and row.balance.bandwidth_bytes_per_s:
        said.append(
            _say(
                "%1 TFLOPS ÷ %2 = %3 operations for each byte it reads.",
                f"{row.balance.flops_per_s / 1e12:,.3g}",
                format_bandwidth(row.balance.bandwidth_bytes_per_s),
                f"{ridge:,.0f}",
            )
        )
    return said


def beyond_phrases(trained: int | None, asked: int) -> list[Phrase]:
    """Return what it means to ask for a longer context than a model was trained for.

    Args:
        trained: tokens it was trained for, None where the file doesn't say.
        asked: tokens of one conversation.
    """
    if not trained or asked < trained + _STEP:  # contexts come in steps
        return []
    return [
        _say(
            "%1 tokens are asked for and the model was trained for %2: further positions are new "
            "to it, so replies get worse there, or need RoPE scaling, which costs some quality "
            "everywhere.",
            f"{asked:,}",
            f"{trained:,}",
        )
    ]


def context_phrases(row: RowPlan) -> list[Phrase]:
    """Return how the longest context was worked out."""
    asked = row.plan.memory.settings.context_sequence
    return [*_context(row), *beyond_phrases(row.trained_context, asked)]


def _context(row: RowPlan) -> list[Phrase]:
    if row.context_breaks is None:
        return [_say("Unknown, as the free memory is.")]
    if row.cause == "weights":
        return [_say("Weights and buffers leave no room for a cache.")]
    many = row.plan.memory.settings.streams
    said = [_say("%1 tokens for each chat", f"{row.context_breaks:,}")]
    if many > 1:
        said = [_say("%1 tokens for each of %2", f"{row.context_breaks:,}", f"{many:,}")]
    if row.cause == "nothing":
        said.append(_say("The model was trained for no more; the memory would hold it."))
    elif (row.memory_ends or 0) > row.context_breaks:
        held = f"{row.memory_ends or 0:,}"
        said.append(_say("The model was trained for no more; the memory would hold %1.", held))
    else:
        said.append(_say("There the memory is full to its end; the load line comes before."))
    said.append(_say("%1", row.kv_formula))
    return said


def users_phrases(row: RowPlan) -> list[Phrase]:
    """Return how many conversations fit, and why."""
    settings = row.plan.memory.settings
    one = tokens(settings.context_sequence)
    if row.users is None:
        return [_say("Unknown, as the free memory is.")]
    said = [
        _say("1 chat of %1 fits", one)
        if row.users == 1
        else _say("%1 chats of %2 fit at once", f"{row.users:,}", one)
    ]
    each = row.plan.memory.kv_bytes / settings.streams
    state = row.plan.memory.state_bytes / settings.sequences
    said.append(
        _say(
            "They share the weights; each has a cache of its own: %1.",
            format_bytes(round(each + state)),
        )
    )
    if row.users >= MOST_SEQUENCES:
        said.append(_say("The engine takes no more at once."))
    elif row.users:
        said.append(_say("So many fill the memory to its end; the load line comes before."))
    return said


def ceiling_phrases(row: RowPlan) -> list[Phrase]:
    """Return how the ceiling follows from bytes and bandwidth."""
    rates = row.rates
    if rates.ceiling is None:
        return [_say("Unknown: the memory's bandwidth is.")]
    said = []
    read = f"{rates.bytes_per_step / GB:.3g} GB"
    speed = format_bandwidth(row.plan.decode.bandwidth_bytes_per_s)
    if rates.arithmetic:
        said.append(_say("At most %1 tok/s: arithmetic is the limit", _rate(rates.ceiling)))
    elif rates.conversations == 1:
        said.append(_say("%1 ÷ %2 a token = %3 tok/s", speed, read, _rate(rates.ceiling)))
        said.append(
            _say("That is with the context full: the token reads all weights and all of it.")
        )
    else:
        count = f"{rates.conversations:,}"
        said.append(
            _say("%1 × %2 ÷ %3 a step = %4 tok/s in all", count, speed, read, _rate(rates.ceiling))
        )
    if row.empty.ceiling is not None:
        said.append(
            _say(
                "With an empty cache %1 GB: %2 tok/s.",
                f"{row.empty.bytes_per_step / GB:.3g}",
                _rate(row.empty.ceiling),
            )
        )
    if (
        row.split_rates is not None
        and row.split_rates.ceiling is not None
        and row.split is not None
    ):
        said.append(
            _say(
                "It does not fit so: with %1 of the layers on the card, the rest read from main "
                "memory, the ceiling is %2 tok/s.",
                f"{row.split.layers_offloaded:,}",
                _rate(row.split_rates.ceiling),
            )
        )
    return said


def realistic_phrases(row: RowPlan) -> list[Phrase]:
    """Return what to expect, and what that rests on."""
    rates = row.working_rates
    if rates is None:
        return [_say("Nothing: it does not fit.")]
    if rates.low is None or rates.high is None:
        return [_say("Unknown: the memory's bandwidth is.")]
    said = [_say("%1 tok/s", range_text(rates.low, rates.high))]
    if rates.conversations > 1:
        each = range_text(rates.low / rates.conversations, rates.high / rates.conversations)
        said = [
            _say("%1 tok/s in all, %2 for each", range_text(rates.low, rates.high), each),
        ]
    if rates.ceiling and not rates.arithmetic:
        share = f"{rates.low / rates.ceiling:.0%} to {rates.high / rates.ceiling:.0%}"
        fit = row.working.machine.fit
        kind = row.working.devices[row.working.decode.busiest].device.kind
        if held_by_launches(kind, rates.high, rates.ceiling, measured=fit is not None):
            said.append(
                _say("%1 of the ceiling: launching its kernels holds it back (assumed).", share)
            )
        elif fit is None:
            said.append(_say("%1 of the ceiling, as such hardware usually reaches.", share))
        else:
            said.append(_say("%1 of the ceiling, %2.", share, fit_words(fit)))
    ttft = row.working.ttft_s
    if ttft is not None:
        said.append(_say("First token of a 512-token prompt: about %1.", format_seconds(ttft)))
    return said


# --- operations per byte


def balance_phrases(row: RowPlan) -> list[Phrase]:
    """Return what the machine's operations per byte mean for decoding, in sentences."""
    balance = row.balance
    if balance.machine is None:
        return [_say("How many operations this machine does is unknown.")]
    decode, machine = f"{balance.decode:.2g}", f"{balance.machine:,.0f}"
    said = []
    if balance.decode < balance.machine:
        said.append(
            _say(
                "Decoding asks for %1 operations a byte, this machine can do %2: it waits for its "
                "memory.",
                decode,
                machine,
            )
        )
    else:
        said.append(
            _say(
                "Decoding asks for %1 operations a byte, this machine does %2: arithmetic is the "
                "limit.",
                decode,
                machine,
            )
        )
    if balance.conversations is not None and balance.conversations > 1:
        said.append(
            _say(
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
        return _say(
            "A prompt's experts are copied from main memory to the card for every %1 tokens: the "
            "bus is the limit, roughly %2 tok/s. Larger batches read faster.",
            f"{balance.batch:,}",
            range_text(prefill.expected_low, prefill.expected_high),
        )
    batch, asked = f"{balance.batch:,}", f"{balance.prefill:,.0f}"
    rate = "unknown" if balance.prefill_per_s is None else f"{_rate(balance.prefill_per_s)} tok/s"
    if balance.machine is None:
        return _say("A prompt, %1 tokens at a time: %2 operations a byte.", batch, asked)
    if balance.prefill >= balance.machine:
        return _say(
            "A prompt, %1 tokens at a time, asks for %2: arithmetic is its limit, about %3.",
            batch,
            asked,
            rate,
        )
    return _say(
        "A prompt, %1 tokens at a time, asks for %2: still memory's limit, about %3.",
        batch,
        asked,
        rate,
    )

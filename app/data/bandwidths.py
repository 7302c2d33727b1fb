"""The bandwidth of main memory on this computer: one figure for every page and every command.

Probes are kept by processor, threads and the size of what is read, since a processor's cache holds
small models. Whatever else runs only makes a probe slower, so of probes that disagree the best one
counts; and memory gave at least what a larger buffer was read at, and what a reply was decoded at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from app.data.state import StateFile
from gguf_tools.plan import Plan
from inspector.measured import DecodeSample, read_rate
from inspector.records import BandwidthRecord

__all__ = [
    "bandwidths_stamp",
    "disturbed_probes",
    "keep_bandwidth",
    "keep_decoded",
    "kept_bandwidth",
    "kept_probe",
    "lift",
]

_LEAST_CLASS: Final = 1
_MAIN_MEMORY: Final = 30  # from half a GiB on (2^29 has 30 bits) no cache holds the buffer
_LARGEST_CLASS: Final = 31  # of probes that earlier versions made
_NEAR: Final = 1.25  # sizes whose quotient is less are read at much the same rate


def kept_bandwidth(
    state: StateFile, cpu: str, threads: int, buffer_bytes: int
) -> BandwidthRecord | None:
    """Return what is known of reading about so many bytes again and again, None if nothing is.

    It may rest on probes of other sizes: `kept_probe` tells whether this one was measured, and
    the record's ``of_larger`` whether a cache may give more. What another process measured counts
    as well.
    """
    state.follow()
    kept = {
        kind: _kept(state, cpu, threads, kind) for kind in range(_LEAST_CLASS, _LARGEST_CLASS + 1)
    }
    own_kind = _kind(buffer_bytes)
    own = kept_probe(state, cpu, threads, buffer_bytes) or _near(kept.values(), buffer_bytes)
    larger = [item for kind, item in kept.items() if item is not None and kind >= own_kind]
    beyond = [item.large_bytes_per_s for item in kept.values() if item and item.large_bytes_per_s]
    decoded = [
        rate
        for kind in range(own_kind, _MAIN_MEMORY + 1)
        if (rate := _decoded(state, cpu, threads, kind)) is not None
    ]
    most = max((*(item.bytes_per_s for item in larger), *beyond, *decoded), default=None)
    if most is None:
        return None
    best = own or max(larger, key=lambda item: item.bytes_per_s, default=None)
    if best is None:
        best = BandwidthRecord(at_ms=0, threads=threads, buffer_bytes=buffer_bytes, samples=(most,))
    if own_kind < _MAIN_MEMORY:  # so that its note names the figure that other pages show
        main = kept_bandwidth(state, cpu, threads, 1 << _MAIN_MEMORY)
        if main is not None:
            best = msgspec.structs.replace(best, large_bytes_per_s=main.bytes_per_s)
        # A smaller buffer that was read no faster leaves no cache to doubt about.
        plain = [
            item
            for kind, item in kept.items()
            if item is not None and kind < own_kind and item.bytes_per_s <= most * _NEAR
        ]
        if own is None and not plain and _decoded(state, cpu, threads, own_kind) is None:
            best = msgspec.structs.replace(best, of_larger=True)
    if most <= best.bytes_per_s:
        return best
    return msgspec.structs.replace(best, least_bytes_per_s=most)


def kept_probe(
    state: StateFile, cpu: str, threads: int, buffer_bytes: int
) -> BandwidthRecord | None:
    """Return the best probe of buffers of about this size, None if there was none."""
    state.follow()
    kind = _kind(buffer_bytes)
    kinds = (kind,) if kind < _MAIN_MEMORY else range(_MAIN_MEMORY, _LARGEST_CLASS + 1)
    found = [item for kind in kinds if (item := _kept(state, cpu, threads, kind)) is not None]
    return max(found, key=lambda item: item.bytes_per_s, default=None)


def disturbed_probes(state: StateFile, cpu: str) -> list[tuple[int, int]]:
    """Return threads and size in bytes of probes below main memory's that were disturbed."""
    state.follow()
    found = []
    for name in state.blobs(f"bandwidth {cpu} | "):
        of = re.fullmatch(r"(\d+) threads \| 2\^(\d+)", name.removeprefix(f"bandwidth {cpu} | "))
        if of is None or int(of[2]) >= _MAIN_MEMORY:
            continue
        probe = _kept(state, cpu, int(of[1]), int(of[2]))
        if probe is not None and not probe.steady:
            found.append((probe.threads, probe.buffer_bytes))
    return found


def bandwidths_stamp(state: StateFile) -> object:
    """Return what is another object once anything here was measured anew, by any process."""
    state.follow()
    return state.blobs("bandwidth ", "decoded ", "decode ")


def keep_bandwidth(
    state: StateFile, cpu: str, record: BandwidthRecord, *, anew: bool = False
) -> None:
    """Remember a probe of this computer, unless a better one of its size is known.

    ``anew``: the user asked for it, so an undisturbed one counts alone even if it is slower.
    """
    known = kept_probe(state, cpu, record.threads, record.buffer_bytes)
    if known is not None and record.bytes_per_s < known.bytes_per_s:
        if not record.steady:
            return
        if not anew:
            record = msgspec.structs.replace(record, least_bytes_per_s=known.bytes_per_s)
    kind = _kind(record.buffer_bytes)
    state.set_blob(_name(cpu, record.threads, kind), msgspec.json.encode(record))


def lift(
    state: StateFile, cpu: str, threads: int, plan: Plan, samples: Iterable[DecodeSample]
) -> bool:
    """Keep what memory gave decoding; tell whether that is more than any probe had found.

    A ceiling below a rate that was reached is none. Only a processor's memory is lifted so: it is
    what is probed here.
    """
    rates = [rate for sample in samples if (rate := read_rate(plan, sample)) is not None]
    best = max(rates, key=lambda item: item[1], default=None)
    return best is not None and keep_decoded(state, cpu, threads, *best)


def keep_decoded(
    state: StateFile, cpu: str, threads: int, bytes_per_token: int, bytes_per_s: float
) -> bool:
    """Remember at what rate a reply was decoded; tell whether that is more than was known.

    Args:
        state: where it is kept.
        cpu: the processor's name.
        threads: that decoded.
        bytes_per_token: what each token read, all of it in main memory.
        bytes_per_s: those bytes over the seconds of a token.
    """
    known = kept_bandwidth(state, cpu, threads, bytes_per_token)
    if known is not None and bytes_per_s <= known.bytes_per_s:
        return False
    name = _decoded_name(cpu, threads, _kind(bytes_per_token))
    state.set_blob(name, msgspec.json.encode(bytes_per_s))
    return True


def _kind(buffer_bytes: int) -> int:
    """Return the class of a size: those within a power of two share a figure."""
    return min(max(buffer_bytes, 1).bit_length(), _MAIN_MEMORY)


def _near(kept: Iterable[BandwidthRecord | None], buffer_bytes: int) -> BandwidthRecord | None:
    """Return the probe of another class whose size is nearest to this one, None if none is near."""
    near = [
        item
        for item in kept
        if item is not None and 1 / _NEAR <= item.buffer_bytes / max(buffer_bytes, 1) <= _NEAR
    ]
    return min(near, key=lambda item: abs(item.buffer_bytes - buffer_bytes), default=None)


def _name(cpu: str, threads: int, kind: int) -> str:
    return f"bandwidth {cpu} | {threads} threads | 2^{kind}"


def _decoded_name(cpu: str, threads: int, kind: int) -> str:
    return f"decoded {cpu} | {threads} threads | 2^{kind}"


def _kept(state: StateFile, cpu: str, threads: int, kind: int) -> BandwidthRecord | None:
    kept = state.blob(_name(cpu, threads, kind))
    if kept is None:
        return None
    try:
        record = msgspec.json.decode(kept, type=BandwidthRecord)
    except msgspec.DecodeError:
        return None
    return record if record.samples else None


def _decoded(state: StateFile, cpu: str, threads: int, kind: int) -> float | None:
    kept = state.blob(_decoded_name(cpu, threads, kind))
    if kept is None:
        return None
    try:
        return msgspec.json.decode(kept, type=float)
    except msgspec.DecodeError:
        return None

"""Making a variant, in the worker: checked before, followed by its bytes, checked after.

The quantiser can't be stopped from outside, so a cancel is the end of the worker. What it had
written is removed by whoever asked, and here when the asker itself is gone.
"""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from app.engine.imatrix import Imatrix, ImatrixError, read_imatrix
from app.engine.interface import Engine, EngineFailure, QuantizeJob
from app.engine.protocol import Quantize, Quantized
from app.engine.threads import clamp_threads
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import HeaderError
from gguf_tools.mixes import engine_order
from gguf_tools.quantize import (
    MADE_BY,
    MADE_BY_KEY,
    REQUANTIZED_KEY,
    Expected,
    expect,
    quant_type,
    refusal_of,
)
from gguf_tools.units import format_bytes

__all__ = ["make_variant"]

_LITTLE_BYTES: Final = 1 << 20


def make_variant(
    engine: Engine, request: Quantize, on_progress: Callable[[float], None]
) -> Quantized:
    """Write a variant to ``request.target``, which is removed again if that fails.

    Raises:
        EngineFailure: it was refused or failed, with the reason.
    """
    started = time.monotonic()
    facts = _facts(request.source)
    importance = _importance(request.imatrix)
    try:
        kind = quant_type(request.kind)
    except ValueError as error:
        raise EngineFailure("bad_request", str(error)) from error
    expected = expect(facts, kind, imatrix=importance is not None)
    refused = refusal_of(
        expected, allow_requantize=request.allow_requantize, imatrix=importance is not None
    )
    if refused is not None:
        raise EngineFailure("bad_model" if expected.obstacle else "bad_request", refused)
    target = Path(request.target)
    job = QuantizeJob(
        source=str(facts.path),
        target=request.target,
        file_type=kind.file_type,
        allow_requantize=request.allow_requantize,
        threads=clamp_threads(request.threads),
        imatrix={} if importance is None else importance.entries,
        metadata=_metadata(facts, expected, request.imatrix, importance),
    )
    try:
        engine.quantize(job, _by_bytes(facts, on_progress))
        _check(target, expected)
    except BaseException as failure:
        reason = _unwritten(target, expected, failure)
        target.unlink(missing_ok=True)
        if reason is not None:
            raise EngineFailure("engine", reason) from failure
        raise
    return Quantized(
        id=request.id,
        file_bytes=target.stat().st_size,
        seconds=time.monotonic() - started,
    )


class _IncompleteError(EngineFailure):
    """A file that lacks a part of what was to be written."""


def _facts(path: str) -> ModelFacts:
    try:
        facts = read_facts(path)
    except FileNotFoundError:
        raise EngineFailure("bad_model", f"There is no file {path}.") from None
    except HeaderError as error:
        raise EngineFailure("bad_model", str(error)) from error
    except OSError as error:
        raise EngineFailure("bad_model", f"{path} can't be read: {error.strerror}.") from error
    if not facts.complete:
        raise EngineFailure("bad_model", facts.warnings[0])
    return facts


def _importance(path: str | None) -> Imatrix | None:
    if path is None:
        return None
    try:
        return read_imatrix(Path(path))
    except ImatrixError as error:
        raise EngineFailure("bad_request", str(error)) from error


def _metadata(
    facts: ModelFacts, expected: Expected, path: str | None, importance: Imatrix | None
) -> dict[str, str | int]:
    """Return what the variant says about its making, with the keys that llama.cpp's tool uses."""
    values: dict[str, str | int] = {MADE_BY_KEY: MADE_BY}
    if expected.requantized:
        values[REQUANTIZED_KEY] = facts.quantization or expected.source_types[0]
    if importance is not None and path is not None:
        values["quantize.imatrix.file"] = Path(path).name
        values["quantize.imatrix.entries_count"] = len(importance.entries)
        if importance.datasets:
            values["quantize.imatrix.dataset"] = importance.datasets[0]
        if importance.chunks is not None:
            values["quantize.imatrix.chunks_count"] = importance.chunks
    return values


def _by_bytes(
    facts: ModelFacts, on_progress: Callable[[float], None]
) -> Callable[[int, int], None]:
    """Return what turns the engine's count of tensors into a share of the bytes."""
    ordered = sorted(facts.header.tensors.values(), key=lambda item: engine_order(item.name))
    totals = list(itertools.accumulate(tensor.size_bytes for tensor in ordered))

    def told(done: int, _count: int) -> None:
        if 0 < done <= len(totals):
            on_progress(totals[done - 1] / max(totals[-1], 1))

    return told


def _check(target: Path, expected: Expected) -> None:
    """Look at what was written: the engine doesn't notice every failure to write.

    Raises:
        EngineFailure: it isn't what was asked for.
    """
    try:
        made = read_facts(target)
    except (HeaderError, OSError) as error:
        raise _IncompleteError("engine", f"What was written is damaged: {error}") from error
    wanted = {name: tensor.type.id for name, tensor in expected.facts.header.tensors.items()}
    found = {name: tensor.type.id for name, tensor in made.header.tensors.items()}
    if not made.complete or wanted.keys() != found.keys():
        raise _IncompleteError("engine", "What was written is incomplete.")


def _unwritten(target: Path, expected: Expected, failure: BaseException) -> str | None:
    """Return a sentence if the file could not be written in full, None if it is something else."""
    try:
        free = shutil.disk_usage(target.parent).free
        written = target.stat().st_size if target.exists() else 0
    except OSError:
        return None
    stream = isinstance(failure, EngineFailure) and "iostream" in failure.message
    if free >= _LITTLE_BYTES and not stream and not isinstance(failure, _IncompleteError):
        return None
    return (
        f"Only {format_bytes(written)} of {format_bytes(expected.file_bytes)} could be written to "
        f"{target.parent}: make room there, or choose another folder."
    )

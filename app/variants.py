"""Making a variant of a model: what it will be, whether it may be made, and the making.

The window and the command line both go this way. A variant is written by an engine of its own to
a temporary file in the target's folder and gets its name when it is whole; whatever ends the work
before that (a refusal, a full disk, a cancel, the engine's death) leaves nothing behind.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from app.engine.client import EngineClient, EngineError, RequestFailed
from app.engine.protocol import Failed, Progress, Quantize, Quantized
from app.paths import default_paths
from app.small_files import share_as_usual
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import HeaderError
from gguf_tools.plan import Plan
from gguf_tools.quantize import (
    QUANT_TYPES,
    Expected,
    QuantizeRequest,
    QuantType,
    expect,
    refusal_of,
)
from gguf_tools.units import format_bytes

__all__ = [
    "Forecast",
    "Made",
    "VariantError",
    "VariantMaker",
    "forecasts",
]

Why: TypeAlias = Literal["usage", "model", "disk", "engine", "cancelled"]

_SPARE_BYTES: Final = 64 << 20  # left free on the disk
_PART: Final = ".part"


class VariantError(Exception):
    """A variant was not made; the text is one clear sentence."""

    def __init__(self, why: Why, sentence: str, advice: tuple[str, ...] = ()) -> None:
        super().__init__(sentence)
        self.why = why
        self.advice = advice


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a kind of variant will be, and its plan on a machine; None where none can be made."""

    expected: Expected
    plan: Plan | None


@dataclass(frozen=True, slots=True)
class Made:
    """A variant that was made."""

    path: Path
    file_bytes: int
    seconds: float
    expected: Expected


def forecasts(
    facts: ModelFacts,
    plan_for: Callable[[ModelFacts, bool], Plan],
    *,
    kinds: Iterable[QuantType] = QUANT_TYPES,
    imatrix: bool = False,
) -> list[Forecast]:
    """Return size and predicted speed of kinds of variants, from the header alone.

    Some milliseconds each: call it from a thread for all kinds of a large model.

    Args:
        facts: the model to start from.
        plan_for: returns the plan of a variant; told whether it is what the file is already. A
            ValueError says that none can be made.
        kinds: of variants.
        imatrix: whether an importance matrix will be given.
    """
    found = []
    for kind in kinds:
        expected = expect(facts, kind, imatrix=imatrix)
        plan = None
        if expected.obstacle is None:
            try:
                plan = plan_for(expected.facts, expected.changed_tensors == 0)
            except ValueError:
                plan = None
        found.append(Forecast(expected, plan))
    return found


class VariantMaker:
    """Makes one variant. `run` blocks; `cancel` may be called from any other thread.

    ``open_client`` returns a client that is not yet started; ``on_progress`` gets 0 to 1.
    """

    def __init__(
        self,
        request: QuantizeRequest,
        open_client: Callable[[], EngineClient],
        on_progress: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._request = request
        self._open_client = open_client
        self._on_progress = on_progress
        self._client: EngineClient | None = None
        self._cancelled = threading.Event()

    def check(self) -> Expected:
        """Return what the variant will be.

        Raises:
            VariantError: it can't or won't be made.
        """
        request = self._request
        facts = _read(request.source)
        expected = expect(facts, request.kind, imatrix=request.imatrix is not None)
        refused = refusal_of(
            expected,
            allow_requantize=request.allow_requantize,
            imatrix=request.imatrix is not None,
        )
        if refused is not None:
            raise VariantError("model" if expected.obstacle else "usage", refused)
        _check_target(request.target, facts)
        _check_room(request.target.parent, expected)
        if request.imatrix is not None and not request.imatrix.is_file():
            raise VariantError("usage", f"There is no importance matrix {request.imatrix}.")
        return expected

    def run(self) -> Made:
        """Make the variant.

        Raises:
            VariantError: it was not made; nothing is left behind.
        """
        expected = self.check()
        target = self._request.target
        scratch = _scratch_file(target)
        try:
            answer = self._make(scratch)
            if self._cancelled.is_set():
                raise _cancelled()
            _give_name(scratch, target)
            if default_paths().data not in target.parents:
                share_as_usual(target)
        finally:
            scratch.unlink(missing_ok=True)
        return Made(target, answer.file_bytes, answer.seconds, expected)

    def cancel(self) -> None:
        """End the work at once: the engine that does it is killed."""
        self._cancelled.set()
        client = self._client
        if client is not None:
            client.kill()

    def _make(self, scratch: Path) -> Quantized:
        request = self._request
        try:
            with self._open_client() as client:
                self._client = client
                if self._cancelled.is_set():
                    raise _cancelled()
                asked = Quantize(
                    id=client.new_id(),
                    source=str(request.source),
                    target=str(scratch),
                    kind=request.kind.name,
                    allow_requantize=request.allow_requantize,
                    imatrix=None if request.imatrix is None else str(request.imatrix),
                    threads=request.threads,
                )
                client.send(asked)
                for message in client.messages(asked.id):
                    if isinstance(message, Progress):
                        self._on_progress(message.fraction)
                    elif isinstance(message, Quantized):
                        return message
                    elif isinstance(message, Failed):
                        raise RequestFailed(message)
                raise EngineError("The engine answered with another message than was asked for.")
        except EngineError as error:
            if self._cancelled.is_set():
                raise _cancelled() from error
            raise VariantError(_why(error), str(error), error.advice) from error
        finally:
            self._client = None


def _cancelled() -> VariantError:
    return VariantError("cancelled", "Cancelled; nothing was kept.")


def _why(error: EngineError) -> Why:
    if isinstance(error, RequestFailed):
        kinds: dict[str, Why] = {"bad_model": "model", "bad_request": "usage"}
        return kinds.get(error.failed.kind, "engine")
    return "engine"


def _read(path: Path) -> ModelFacts:
    try:
        facts = read_facts(path)
    except HeaderError as error:
        raise VariantError("model", str(error)) from error
    except OSError as error:
        raise VariantError("model", f"{path} can't be read: {error.strerror}.") from error
    if not facts.complete:
        raise VariantError("model", facts.warnings[0])
    return facts


def _check_target(target: Path, facts: ModelFacts) -> None:
    folder = target.parent
    if not folder.is_dir():
        raise VariantError("usage", f"There is no folder {folder}; make it first.")
    if any(target.resolve() == path.resolve() for path in facts.files):
        raise VariantError("usage", "The variant needs a file of its own: this is the model's.")
    if target.is_dir():
        raise VariantError("usage", f"{target} is a folder; name a file.")
    if target.exists() or target.is_symlink():
        raise VariantError("usage", f"{target} exists already; it is not overwritten.")
    if target.suffix.lower() != ".gguf":
        raise VariantError("usage", f"The name {target.name} has to end with .gguf.")


def _check_room(folder: Path, expected: Expected) -> None:
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return  # an unknown room is no reason to refuse
    if free < expected.file_bytes + _SPARE_BYTES:
        raise VariantError(
            "disk",
            f"The variant needs {format_bytes(expected.file_bytes)} and {folder} has "
            f"{format_bytes(free)} free: make room, or choose another folder.",
        )


def _scratch_file(target: Path) -> Path:
    """Return the name of a file that is not there yet and that nothing takes for a model.

    The engine makes it, so that it can remove it when this program is gone.

    Raises:
        VariantError: nothing can be written to its folder.
    """
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise VariantError(
            "disk", f"Nothing can be written to {target.parent}: {error.strerror}."
        ) from error
    return target.with_name(f"{target.name}.{secrets.token_hex(4)}{_PART}")


def _give_name(scratch: Path, target: Path) -> None:
    """Give the whole file its name, once the disk has it; what bears the name already stays."""
    try:
        with scratch.open("rb") as file:
            os.fsync(file.fileno())
        try:
            os.link(scratch, target)  # unlike a rename, this never replaces a file
        except FileExistsError:
            raise
        except OSError:
            if target.exists():
                raise FileExistsError from None
            scratch.rename(target)
    except FileExistsError as error:
        raise VariantError(
            "usage", f"{target} has appeared meanwhile; it is not overwritten."
        ) from error
    except OSError as error:
        raise VariantError("disk", f"{target} can't be written: {error.strerror}.") from error

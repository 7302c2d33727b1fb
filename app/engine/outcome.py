"""What became of a worker, in words, and what to do about it.

Pure values and functions, so that every death can be tested without dying.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.engine.protocol import DeviceInfo
from gguf_tools.split import leave_out
from gguf_tools.units import format_bytes

__all__ = ["Phase", "Recovery", "WorkerEnd", "recovery_after", "remote_devices"]

Phase: TypeAlias = Literal[
    "starting", "idle", "load", "prefill", "decode", "score", "quantize", "tune", "bench"
]

_PHASE_WORDS: dict[Phase, str] = {
    "starting": "while starting",
    "idle": "while idle",
    "load": "while loading the model",
    "prefill": "while reading the prompt",
    "decode": "while writing the reply",
    "score": "while reading the test text",
    "quantize": "while making the variant",
    "tune": "while measuring what is fastest",
    "bench": "while its speed was measured",
}
_PLENTY_BYTES = 1024**3
# In these it is known how much memory the worker takes at most.
_MEASURED_PHASES: frozenset[Phase] = frozenset({"starting", "idle", "prefill", "decode", "tune"})
_WINDOWS_ILLEGAL_INSTRUCTION = 0xC000001D
_WINDOWS_ACCESS_VIOLATION = 0xC0000005
_WINDOWS_NO_MEMORY = 0xC0000017
_WINDOWS_ABORT = 0xC0000409
_WINDOWS_CRASHES = {_WINDOWS_ILLEGAL_INSTRUCTION, _WINDOWS_ACCESS_VIOLATION, _WINDOWS_ABORT}
_CRASHES = {"SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV"}
_MEMORY_WORDS = re.compile(
    r"out of memory|failed to allocate|unable to allocate|bad_alloc|cannot allocate memory"
    r"|ErrorOutOfDeviceMemory|insufficient memory",
    re.IGNORECASE,
)
_REMOTE_LOST = re.compile(
    r"Remote RPC server crashed or returned malformed response|Failed to connect to \S+:\d+"
    r"|RPC handshake failed"
)
# What ggml says before it stops itself, as file, line and words; the folders of the computer that
# it was built on are left out, and so are the lines of the stack, which name ggml_abort too.
_ASSERTION = re.compile(
    r"(?:[^/\\\s]+:\d+: )?GGML_ASSERT\(.*\) failed|[^/\\\s]+\.(?:c|cc|cpp|cu|h|m|mm):\d+: .+"
)


def remote_devices(devices: Iterable[DeviceInfo], used: Container[str]) -> tuple[DeviceInfo, ...]:
    """Return those of other computers among the devices used."""
    return tuple(item for item in devices if item.backend == "RPC" and item.name in used)


@dataclass(frozen=True, slots=True)
class WorkerEnd:
    """The end of a worker process.

    ``code`` is what the process returned: negative for a signal on POSIX, an NTSTATUS on Windows.
    ``asked`` tells that somebody had us end it, since it did not answer. ``last_lines`` are the
    end of its stderr, ``remotes`` the devices of other computers that it worked with.
    ``unreadable`` says what was wrong with a line of its protocol, for which we ended it.
    ``memory`` is the computer's when it was seen last before the end, free and total bytes,
    ``may_take_bytes`` what of that the worker may have had by its end, ``oom_kills`` how many
    processes the system ended for lack of memory meanwhile, None if it does not count them.
    ``not_started`` says why there never was a process.
    """

    code: int
    phase: Phase
    asked: bool = False
    last_lines: tuple[str, ...] = ()
    remotes: tuple[DeviceInfo, ...] = ()
    unreadable: str = ""
    memory: tuple[int, int] | None = None
    may_take_bytes: int = 0
    oom_kills: int | None = None
    not_started: str = ""

    @property
    def ended_from_outside(self) -> bool:
        """Tell whether somebody killed it though there was memory enough.

        Where the system counts what it kills, that tells. Elsewhere not while an unknown amount of
        memory is being taken: what was seen before tells nothing of then.
        """
        if self.signal_name != "SIGKILL" or self.memory is None or self.out_of_memory:
            return False
        if self.oom_kills or (self.oom_kills is None and self.phase not in _MEASURED_PHASES):
            return False
        free, total = self.memory
        if self.oom_kills is None:
            free -= self.may_take_bytes
        return free >= max(_PLENTY_BYTES, total // 10)

    @property
    def lost_remotes(self) -> tuple[DeviceInfo, ...]:
        """Return the devices of which one was lost, none if that is not what ended it.

        llama.cpp ends its process where a server hangs up, and does not say which one.
        """
        lost = any(_REMOTE_LOST.search(line) for line in self.last_lines)
        return self.remotes if lost else ()

    @property
    def signal_name(self) -> str | None:
        """Return the POSIX signal that ended it, None if there was none."""
        if self.code >= 0:
            return None
        try:
            return signal.Signals(-self.code).name
        except ValueError:
            return f"signal {-self.code}"

    @property
    def illegal_instruction(self) -> bool:
        """Tell whether it met an instruction that this processor does not have."""
        return self.signal_name == "SIGILL" or (
            self.code & 0xFFFFFFFF == _WINDOWS_ILLEGAL_INSTRUCTION
        )

    @property
    def crashed(self) -> bool:
        """Tell whether it ended by a fault of its own, and not because somebody wanted it."""
        return (
            self.signal_name in _CRASHES or self.code & 0xFFFFFFFF in _WINDOWS_CRASHES
        ) and not self.out_of_memory

    @property
    def out_of_memory(self) -> bool:
        """Tell whether it ran out of memory: by its own words, or killed while memory was asked."""
        if self.code & 0xFFFFFFFF == _WINDOWS_NO_MEMORY:
            return True
        return any(_MEMORY_WORDS.search(line) for line in self.last_lines)

    @property
    def lost_file(self) -> bool:
        """Tell whether pages of the model's file were gone when they were needed."""
        return self.signal_name == "SIGBUS" and self.phase not in {"starting", "idle"}

    @property
    def _assertion(self) -> str:
        found = (_ASSERTION.search(line) for line in reversed(self.last_lines))
        return next((match[0].strip() for match in found if match is not None), "")

    @property
    def sentence(self) -> str:
        """Say in one sentence what happened."""
        when = _PHASE_WORDS[self.phase]
        if self.not_started:
            return f"The engine's process can't be started: {self.not_started[:300].rstrip('.')}."
        if self.asked:
            return f"The engine did not answer and was ended {when}."
        if self.unreadable:
            return (
                f"The engine sent something unreadable {when} and was ended: "
                f"{self.unreadable[:200]}."
            )
        if self.out_of_memory:
            return f"The engine ran out of memory {when}."
        if self.illegal_instruction:
            return f"The engine used an instruction that this processor does not have, {when}."
        if self.lost_remotes:
            which = " or to ".join(
                f"{device.name} ({device.description})" for device in self.lost_remotes
            )
            return (
                f"The connection to {which} broke {when}: the server there ended, or the network "
                "did. llama.cpp can't go on without it."
            )
        name = self.signal_name
        assertion = self._assertion if name in {None, "SIGABRT"} and self.code else ""
        if assertion:
            return f"The engine stopped itself {when}: {assertion[:200].rstrip('.')}."
        if self.ended_from_outside and self.memory is not None:
            return (
                f"The engine was ended from outside {when} (SIGKILL); memory had not run out, "
                f"{format_bytes(self.memory[0])} were free."
            )
        if name == "SIGKILL":
            return (
                f"The engine was killed {when}; the system does that when memory runs out, "
                "or somebody ended the process."
            )
        if name == "SIGSEGV" or self.code & 0xFFFFFFFF == _WINDOWS_ACCESS_VIOLATION:
            return f"The engine crashed {when} (memory fault)."
        if self.lost_file:
            return (
                f"The engine could not read the model's file any more {when}: the file was cut "
                "short or changed while it was in use, or its disk is gone (SIGBUS)."
            )
        if name is not None:
            return f"The engine was ended {when} ({name})."
        return f"The engine ended by itself {when} (exit code {self.code})."


@dataclass(frozen=True, slots=True)
class Recovery:
    """What to do after an end: restart by ourselves or not, and what helps, in short orders."""

    restart: bool
    compatibility: bool
    sentence: str
    advice: tuple[str, ...]


def recovery_after(end: WorkerEnd, *, compatibility: bool, can_repeat: bool = True) -> Recovery:
    """Return what to do after a worker's end.

    Only an illegal instruction restarts by itself, once, in compatibility mode, and only if what
    was asked can be asked again (``can_repeat``: no text came yet). A shortage of memory never
    does: the same load would meet the same shortage.
    """
    if end.not_started:
        return Recovery(
            False,
            compatibility,
            end.sentence,
            ("Allow this user to run that file, or install Plimsoll again",),
        )
    if end.asked:
        return Recovery(False, compatibility, end.sentence, ("Load the model again",))
    if end.unreadable:
        return Recovery(
            False, compatibility, end.sentence, ("Load the model again", "Install Plimsoll again")
        )
    if end.out_of_memory:
        return Recovery(
            False,
            compatibility,
            end.sentence,
            ("Use a smaller context", "Put fewer layers on the GPU", "Use a smaller KV type"),
        )
    if end.illegal_instruction:
        if not compatibility and not can_repeat:
            return Recovery(
                False,
                True,
                end.sentence + " The model will be loaded in compatibility mode from now on.",
                ("Load the model again",),
            )
        if not compatibility:
            return Recovery(
                True,
                True,
                end.sentence + " It was started again in compatibility mode, which is slower "
                "on some models; Plimsoll remembers this for this computer.",
                (),
            )
        return Recovery(
            False,
            True,
            end.sentence + " Compatibility mode did not help: this engine build needs a newer "
            "processor.",
            ("Install a build of llama-cpp-python made for this processor",),
        )
    if end.lost_remotes:
        devices = leave_out(None, [device.description for device in end.lost_remotes])
        return Recovery(
            False,
            compatibility,
            end.sentence,
            (
                f"Load the model without it (--devices={devices})",
                "Start the server again and load the model",
            ),
        )
    advice: tuple[str, ...] = ("Load the model again",)
    if end.ended_from_outside:
        pass  # another load would not have been spared
    elif end.signal_name == "SIGKILL":
        advice += ("Use a smaller context", "Choose a smaller variant of the model")
    elif end.lost_file:
        advice = ("Look at the model's file and its disk, then load the model again",)
    elif end.phase in {"load", "prefill", "decode", "score"}:
        advice += ("Put fewer layers on the GPU", "Try compatibility mode")
    return Recovery(False, compatibility, end.sentence, advice)

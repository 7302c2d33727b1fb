from __future__ import annotations

import signal

import pytest

from app.engine.outcome import Phase, WorkerEnd, recovery_after, remote_devices
from app.engine.protocol import DeviceInfo

OOM = ("ggml_backend_cuda_buffer_type_alloc_buffer: cudaMalloc failed: out of memory",)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (WorkerEnd(-signal.SIGKILL, "load"), "killed while loading the model"),
        (WorkerEnd(-signal.SIGSEGV, "decode"), "crashed while writing the reply"),
        (WorkerEnd(-signal.SIGILL, "prefill"), "instruction that this processor does not have"),
        (WorkerEnd(0xC000001D, "load"), "instruction that this processor does not have"),
        (WorkerEnd(-1073741795, "load"), "instruction that this processor does not have"),
        (WorkerEnd(0xC0000005, "decode"), "memory fault"),
        (WorkerEnd(-signal.SIGABRT, "decode", last_lines=OOM), "ran out of memory while writing"),
        (WorkerEnd(-signal.SIGABRT, "load"), "SIGABRT"),
        (
            WorkerEnd(
                -signal.SIGABRT,
                "prefill",
                last_lines=("x", "ggml.c:12: GGML_ASSERT(a == b) failed", "y"),
            ),
            "GGML_ASSERT(a == b) failed",
        ),
        (
            WorkerEnd(
                -signal.SIGABRT,
                "load",
                last_lines=(
                    "/build/of/somebody/src/llama-context.cpp:1785: GGML_ASSERT(a <= b) failed",
                    "#2  0x00007f04d7b4e7de in ggml_abort () from /usr/lib/libggml-base.so.0",
                ),
            ),
            "itself while loading the model: llama-context.cpp:1785: GGML_ASSERT(a <= b) failed.",
        ),
        (
            WorkerEnd(-signal.SIGABRT, "decode", last_lines=("/b/ggml.c:7: fatal error",)),
            "stopped itself while writing the reply: ggml.c:7: fatal error.",
        ),
        (
            WorkerEnd(-signal.SIGKILL, "decode", unreadable="not a message: malformed"),
            "sent something unreadable while writing the reply and was ended: not a",
        ),
        (WorkerEnd(-signal.SIGBUS, "decode"), "model's file any more while writing the reply"),
        (WorkerEnd(-signal.SIGBUS, "idle"), "ended while idle (SIGBUS)"),
        (WorkerEnd(3, "idle"), "exit code 3"),
        (WorkerEnd(-64, "idle"), "SIGRTMAX"),
    ],
)
def test_end_is_told_in_words(end: WorkerEnd, words: str) -> None:
    assert words in end.sentence
    assert end.sentence.endswith(".")


def test_a43_illegal_instruction_restarts_once_in_compatibility_mode() -> None:
    end = WorkerEnd(-signal.SIGILL, "load")
    first = recovery_after(end, compatibility=False)
    assert first.restart
    assert first.compatibility
    assert "compatibility mode" in first.sentence
    second = recovery_after(end, compatibility=True)
    assert not second.restart
    assert second.advice


def test_a42_out_of_memory_is_never_retried() -> None:
    recovery = recovery_after(
        WorkerEnd(-signal.SIGABRT, "load", last_lines=OOM), compatibility=False
    )
    assert not recovery.restart
    assert recovery.advice[0] == "Use a smaller context"


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT", "SIGTERM"])
def test_a41_other_ends_wait_for_the_user(name: str) -> None:
    end = WorkerEnd(-signal.Signals[name], "decode")
    recovery = recovery_after(end, compatibility=False)
    assert not recovery.restart
    assert "Load the model again" in recovery.advice


LOST = ("ggml-rpc.cpp:591: Remote RPC server crashed or returned malformed response",)


def _far(name: str, address: str) -> DeviceInfo:
    return DeviceInfo(
        name=name,
        description=address,
        kind="gpu",
        backend="RPC",
        total_bytes=None,
        free_bytes=None,
    )


def test_a_server_that_hung_up_is_named_with_what_helps() -> None:
    devices = (_far("RPC0", "10.0.0.5:1"), _far("RPC1", "10.0.0.6:1"))
    end = WorkerEnd(-signal.SIGABRT, "prefill", last_lines=LOST, remotes=devices[:1])
    recovery = recovery_after(end, compatibility=False)
    assert recovery.sentence.startswith("The connection to RPC0 (10.0.0.5:1) broke while reading")
    assert recovery.advice[0] == "Load the model without it (--devices=-10.0.0.5:1)"
    assert not recovery.restart
    both = WorkerEnd(-signal.SIGABRT, "decode", last_lines=LOST, remotes=devices)
    assert "to RPC0 (10.0.0.5:1) or to RPC1 (10.0.0.6:1) broke" in both.sentence
    assert WorkerEnd(-signal.SIGABRT, "decode", remotes=devices).lost_remotes == ()
    assert WorkerEnd(-signal.SIGABRT, "decode", last_lines=LOST).lost_remotes == ()


def test_devices_of_other_computers_among_those_used() -> None:
    devices = (_far("RPC0", "10.0.0.5:1"), _far("RPC1", "10.0.0.6:1"))
    assert remote_devices(devices, {"RPC1", "CPU"}) == devices[1:]


GIB = 1024**3


@pytest.mark.parametrize(
    ("memory", "phase", "from_outside"),
    [
        ((19 * GIB, 24 * GIB), "idle", True),
        ((19 * GIB, 24 * GIB), "decode", True),
        ((19 * GIB, 24 * GIB), "load", False),  # that was before the load took its part
        ((2 * GIB, 24 * GIB), "idle", False),
        ((GIB // 2, GIB), "idle", False),
        (None, "idle", False),
    ],
)
def test_a_kill_is_not_laid_on_memory_that_was_free(
    memory: tuple[int, int] | None, phase: Phase, from_outside: bool
) -> None:
    end = WorkerEnd(-signal.SIGKILL, phase, memory=memory)
    assert end.ended_from_outside is from_outside
    recovery = recovery_after(end, compatibility=False)
    if from_outside:
        assert "memory had not run out, 19.0 GiB were free" in recovery.sentence
        assert recovery.advice == ("Load the model again",)
    else:
        assert "the system does that when memory runs out" in recovery.sentence
        assert "Use a smaller context" in recovery.advice


@pytest.mark.parametrize(
    ("phase", "free_gib", "may_take_gib", "oom_kills", "from_outside"),
    [
        ("prefill", 19, 1, None, True),
        ("tune", 19, 2, None, True),
        ("prefill", 5, 4, None, False),  # it may have taken what was free
        ("prefill", 5, 4, 0, True),  # but the kernel ended nothing
        ("decode", 19, 0, 1, False),
        ("load", 19, 0, 0, True),
        ("load", 19, 0, None, False),
        ("load", 1, 0, 0, False),  # what ends processes need not be the kernel
    ],
)
def test_a_kill_while_memory_is_taken_is_judged_by_what_may_have_been_taken(
    phase: Phase, free_gib: int, may_take_gib: int, oom_kills: int | None, from_outside: bool
) -> None:
    end = WorkerEnd(
        -signal.SIGKILL,
        phase,
        memory=(free_gib * GIB, 24 * GIB),
        may_take_bytes=may_take_gib * GIB,
        oom_kills=oom_kills,
    )
    assert end.ended_from_outside is from_outside

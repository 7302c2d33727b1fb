"""How a worker is started: from source, from a wheel and from a built program."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.program import own_command

__all__ = [
    "FAKE_ENGINE_VARIABLE",
    "FAULTS_VARIABLE",
    "REMOTES_VARIABLE",
    "asked_remotes",
    "worker_argv",
    "worker_environment",
]

FAKE_ENGINE_VARIABLE = "PLIMSOLL_FAKE_ENGINE"
FAULTS_VARIABLE = "PLIMSOLL_FAULTS"
REMOTES_VARIABLE = "PLIMSOLL_RPC"

# How often a thread of the engine looks whether the others are done before it sleeps (libgomp; its
# own default is 300,000). A thread that spins keeps the processor from the one that it waits for.
# Measured, starter model, two threads on two cores: with nothing beside it 118 tok/s against 110 at
# the default (noise), beside ten busy programs 21 against 2, where one thread gave 22. At 300 the
# quiet rate falls to 101, without any spinning to 47.
_SPINS = "1000"
_WAIT_VARIABLES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


def worker_argv() -> list[str]:
    """Return the command line of a worker."""
    return own_command("--worker")


def asked_remotes() -> tuple[str, ...]:
    """Return, in a worker, the addresses of RPC servers that it was told to use."""
    given = os.environ.get(REMOTES_VARIABLE, "").split(",")
    return tuple(item.strip() for item in given if item.strip())


def worker_environment(
    base: Mapping[str, str] | None = None, remotes: Sequence[str] | None = None
) -> dict[str, str]:
    """Return the environment of a worker: the caller's, with UTF-8 and unbuffered output.

    Its threads wait without starving other programs, unless the caller's environment says how.
    ``remotes`` are addresses of RPC servers to use; None leaves them to the caller's environment.
    """
    environment = dict(os.environ if base is None else base)
    if remotes is not None:
        environment[REMOTES_VARIABLE] = ",".join(remotes)
    if not any(name in environment for name in _WAIT_VARIABLES):
        environment["GOMP_SPINCOUNT"] = _SPINS
    environment["PYTHONUTF8"] = "1"
    environment["PYTHONUNBUFFERED"] = "1"
    if not getattr(sys, "frozen", False):
        # A worker starts in any folder and must find the program that started it.
        root = str(Path(__file__).resolve().parents[2])
        known = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = root if not known else os.pathsep.join((root, known))
    return environment

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

    ``remotes`` are addresses of RPC servers to use; None leaves them to the caller's environment.
    """
    environment = dict(os.environ if base is None else base)
    if remotes is not None:
        environment[REMOTES_VARIABLE] = ",".join(remotes)
    environment["PYTHONUTF8"] = "1"
    environment["PYTHONUNBUFFERED"] = "1"
    if not getattr(sys, "frozen", False):
        # A worker starts in any folder and must find the program that started it.
        root = str(Path(__file__).resolve().parents[2])
        known = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = root if not known else os.pathsep.join((root, known))
    return environment

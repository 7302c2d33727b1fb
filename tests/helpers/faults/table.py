"""All kinds of fault, by name."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

from tests.helpers.faults import disks, models, processes, writes
from tests.helpers.faults.ground import Ground
from tests.helpers.faults.outcome import Outcome, Wrong

__all__ = ["KINDS", "Attack"]

_Round: TypeAlias = Callable[[Ground, str], Outcome]

_ROUNDS: Final[dict[str, _Round]] = {
    "worker killed": processes.worker_killed,
    "window killed": processes.window_killed,
    "killed in a settings write": writes.killed_in_settings,
    "killed in a migration": writes.killed_in_migration,
    "killed in a download": writes.killed_in_download,
    "killed in making a variant": writes.killed_in_variant,
    "killed in a comparison": writes.killed_in_comparison,
    "disk full": disks.disk_full,
    "disk full and window killed": disks.disk_full_and_killed,
    "disk read-only": disks.disk_read_only,
    "store corrupt": disks.store_corrupt,
    "store of another version": disks.store_of_another_version,
    "store locked": disks.store_locked,
    "model file removed": models.model_removed,
    "model file damaged": models.model_damaged,
    "RPC device taken away": models.device_taken,
    "worker suspended": processes.worker_stopped,
    "window suspended": processes.window_stopped,
    "clock jumps": processes.clock_jumped,
}
KINDS: Final = tuple(_ROUNDS)
_OWN_DISK: Final = frozenset({"disk full", "disk full and window killed", "disk read-only"})


class Attack:
    """One data folder through all rounds. Use as a context manager.

    Attributes:
        impossible: kinds that can't be done here.
    """

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._ground = Ground(folder, chance)
        self.impossible: frozenset[str] = frozenset()

    def __enter__(self) -> Self:
        self._ground.__enter__()
        if not self._ground.own_disk:
            self.impossible = _OWN_DISK
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ground.__exit__(kind, error, trace)

    def round(self, kind: str) -> Outcome:
        """Do one fault and look what became of it."""
        ground = self._ground
        ground.rounds += 1
        begun_s = time.monotonic()
        try:
            outcome = _ROUNDS[kind](ground, kind)
        except (Wrong, OSError, ValueError, sqlite3.Error) as error:
            outcome = Outcome(kind, problem=str(error) or type(error).__name__)
            ground.clean_up()
        return replace(outcome, took_s=time.monotonic() - begun_s)

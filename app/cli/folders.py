"""The data folder as commands need it: made before it is used, refused in one sentence."""

from __future__ import annotations

from pathlib import Path

from app.cli.terminal import note
from app.paths import DATA_DIR_VARIABLE, Paths, default_paths
from app.settings import Settings

__all__ = ["make_folders", "obstacle", "open_settings"]


def obstacle(folder: Path) -> str | None:
    """Return why a folder can never be made: something that is no folder stands in its place."""
    for path in (folder, *folder.parents):
        if path.is_dir():
            return None
        if path.exists():
            return (
                f"The data folder {folder} can't be used: {path} is a file. Move that file away, "
                f"or name another folder in {DATA_DIR_VARIABLE}."
            )
    return None


def make_folders(paths: Paths) -> None:
    """Make the folders, or say that nothing can be remembered; the command goes on either way."""
    try:
        paths.make()
    except OSError as error:
        note(f"[nothing can be remembered: {paths.data} can't be made ({error.strerror})]")


def open_settings() -> Settings:
    """Return the settings; what was wrong with their file is said."""
    settings = Settings(default_paths().settings)
    for problem in settings.problems:
        note(f"[{problem}]")
    return settings

"""Where models lie: own folder, folders of the settings, and those of other programs.

Everything depends on the platform, the home folder and the environment that are handed in, so
that each system's places can be tested on any of them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from app.paths import Paths, starter_model

__all__ = ["Layout", "Place", "places_for", "places_of_others"]

# How models lie in a place: as files in folders, as one file of a package, as one file that the
# user added, or as Ollama's manifests and blobs.
Layout: TypeAlias = Literal["folder", "file", "added", "ollama"]
_MAX_SETTINGS_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Place:
    """A folder or file to look at; ``source`` is what the window calls it."""

    source: str
    path: Path
    layout: Layout = "folder"


def places_for(
    paths: Paths,
    folders: Iterable[str] = (),
    *,
    files: Iterable[Path] = (),
    others: bool = True,
    platform: str = sys.platform,
    home: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> list[Place]:
    """Return where to look, what is ours first; places that aren't there cost nothing.

    ``folders`` and ``others`` are the settings ``model_folders`` and ``scan_other_programs``;
    ``files`` are single files that the user added to the list.
    """
    places = [Place("Plimsoll", paths.models)]
    starter = starter_model()
    if starter is not None:
        places.insert(0, Place("Starter model", starter, "file"))
    places += [Place("Folder", _expanded(folder)) for folder in folders if folder.strip()]
    places += [Place("Added", path, "added") for path in files]
    if others:
        places += places_of_others(platform, home or Path.home(), environ)
    return places


def places_of_others(platform: str, home: Path, environ: Mapping[str, str]) -> list[Place]:
    """Return where other programs keep models on a platform (as in `sys.platform`)."""
    windows, mac = platform == "win32", platform == "darwin"
    support = home / "Library" / "Application Support"
    roaming = _folder(environ, "APPDATA", home / "AppData" / "Roaming")
    local = _folder(environ, "LOCALAPPDATA", home / "AppData" / "Local")
    data = _folder(environ, "XDG_DATA_HOME", home / ".local" / "share")
    config = _folder(environ, "XDG_CONFIG_HOME", home / ".config")
    cache = _folder(environ, "XDG_CACHE_HOME", home / ".cache")
    places = [Place("LM Studio", path) for path in _lm_studio(home)]
    ollama = [_folder(environ, "OLLAMA_MODELS", home / ".ollama" / "models")]
    if platform.startswith("linux"):
        ollama.append(Path("/usr/share/ollama/.ollama/models"))
    places += [Place("Ollama", path, "ollama") for path in ollama]
    places.append(
        Place("Hugging Face", _hugging_face(cache if not windows else None, home, environ))
    )
    if windows:
        gpt4all, jan = local / "nomic.ai" / "GPT4All", [roaming / "Jan" / "data"]
        llama = local / "llama.cpp"
    elif mac:
        gpt4all, jan = support / "nomic.ai" / "GPT4All", [support / "Jan" / "data"]
        llama = home / "Library" / "Caches" / "llama.cpp"
    else:
        gpt4all, jan = (
            data / "nomic.ai" / "GPT4All",
            [data / "Jan" / "data", config / "Jan" / "data"],
        )
        llama = cache / "llama.cpp"
    places.append(Place("GPT4All", gpt4all))
    for folder in (*jan, home / "jan"):
        places += [Place("Jan", folder / "models"), Place("Jan", folder / "llamacpp" / "models")]
    places.append(Place("llama.cpp", _folder(environ, "LLAMA_CACHE", llama)))
    return places


def _folder(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    value = environ.get(variable, "").strip()
    return _expanded(value) if value else default


def _expanded(text: str) -> Path:
    try:
        return Path(text.strip()).expanduser()
    except RuntimeError:  # of a user that this system doesn't know
        return Path(text.strip())


def _lm_studio(home: Path) -> list[Path]:
    """Return its folders: the usual ones and the one that its settings name."""
    root = home / ".lmstudio"
    pointer = home / ".lmstudio-home-pointer"
    try:
        if pointer.stat().st_size < 4096:
            named = pointer.read_text("utf-8").strip()
            root = Path(named) if named else root
    except (OSError, ValueError):
        pass
    found = [root / "models", home / ".cache" / "lm-studio" / "models"]
    chosen = _settings(root / "settings.json").get("downloadsFolder")
    if isinstance(chosen, str) and chosen.strip() and Path(chosen) not in found:
        found.insert(0, Path(chosen))
    return found


def _settings(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MAX_SETTINGS_BYTES:
            return {}
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _hugging_face(cache: Path | None, home: Path, environ: Mapping[str, str]) -> Path:
    root = _folder(environ, "HF_HOME", (cache or home / ".cache") / "huggingface")
    return _folder(environ, "HF_HUB_CACHE", root / "hub")

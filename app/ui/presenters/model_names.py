"""What models are called before the engine has told: by their file, read in the background."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["FileLook", "look_at", "named_by_path"]


@dataclass(frozen=True, slots=True)
class FileLook:
    """A model's shown name and type, and its shape (empty where the file says too little)."""

    name: str
    quantization: str = ""
    shape: str = ""

    @property
    def title(self) -> str:
        """Name and type in one line."""
        return f"{self.name} {self.quantization}".strip()


def look_at(path: str) -> FileLook:
    """Return what a model's header says; reads the disk."""
    from app.data.tunings import model_shape
    from gguf_tools.facts import read_facts
    from gguf_tools.header import HeaderError

    try:
        facts = read_facts(path)
    except (HeaderError, OSError):
        return named_by_path(path)
    shape = model_shape(facts) if facts.loadable else ""
    return FileLook(facts.shown_name, facts.quantization or "", shape)


def named_by_path(path: str) -> FileLook:
    """Return what the path alone says; reads nothing."""
    if not path:
        return FileLook("")
    from gguf_tools.naming import parse_file_name, shown_name

    file_name = Path(path).name
    return FileLook(shown_name(file_name), parse_file_name(file_name).quantization or "")

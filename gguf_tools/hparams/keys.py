"""Reads an architecture's keys tolerantly: a number or a list, whatever integer type."""

from __future__ import annotations

from gguf_tools.header import Header
from gguf_tools.units import counted

__all__ = ["Keys", "UnusableKeyError"]

_MAX_LISTED = 4096


class UnusableKeyError(Exception):
    """Carries one sentence on a key that is missing or can't be used."""


class Keys:
    """The keys of one file that begin with its architecture's name.

    ``assumed`` collects what the file left out and a documented rule filled in.
    """

    def __init__(self, header: Header, architecture: str) -> None:
        self.header = header
        self.architecture = architecture
        self.assumed: list[str] = []

    def full(self, name: str) -> str:
        """Return the whole key."""
        return f"{self.architecture}.{name}"

    def has(self, name: str) -> bool:
        """Tell whether the file has the key."""
        return self.full(name) in self.header

    def integer(self, name: str, default: int | None = None) -> int:
        """Return a whole number; a list counts if all its elements agree.

        Raises:
            UnusableKeyError: there is none and no default, or a list of different values.
        """
        key = self.full(name)
        if self.header.is_array(key):
            values = set(self.listed(name) or ())
            if len(values) == 1:
                return values.pop()
            raise UnusableKeyError(f"{key} lists different values where one number is expected.")
        value = self.header.integer(key)
        if value is None or value < 0:
            if default is None:
                raise UnusableKeyError(f"The file doesn't say {key}.")
            return default
        return value

    def boolean(self, name: str, default: bool) -> bool:
        """Return a truth value."""
        value = self.header.value(self.full(name)) if self.has(name) else None
        return value if isinstance(value, bool) else default

    def listed(self, name: str) -> list[int] | None:
        """Return a list of whole numbers or truth values, None if the key holds none."""
        key = self.full(name)
        length = self.header.array_length(key)
        if length is None or length > _MAX_LISTED:
            return None
        value = self.header.value(key)
        items = value if isinstance(value, list) else []
        numbers = [int(item) for item in items if isinstance(item, int)]
        return numbers if len(numbers) == length else None

    def per_layer(self, name: str, layers: int, default: tuple[int, ...]) -> tuple[int, ...]:
        """Return one number a layer: a list of that length, or one number for all.

        Raises:
            UnusableKeyError: the list has another length, which the engine refuses too.
        """
        if not self.has(name):
            return default
        values = self.listed(name)
        if values is None:
            return (self.integer(name),) * layers
        if len(values) == 1 != layers:
            return (max(values[0], 0),) * layers
        if len(values) != layers:
            raise UnusableKeyError(
                f"{self.full(name)} lists {counted(len(values), 'layer')}, "
                f"and the model has {layers}."
            )
        return tuple(max(value, 0) for value in values)

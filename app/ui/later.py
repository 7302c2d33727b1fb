"""Parts of the program that are made when somebody first asks for them.

The window takes keys long before everything behind it could stand: a page, its presenter and all
that they import are made at the first click on it. Whoever holds a `Later` needs not know that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["Later", "is_made", "modules_of"]

T = TypeVar("T")


class Later(Generic[T]):
    """An attribute that ``make`` makes of its object, once, when it is first read.

    What was made lies in the object under the same name, so that later reads cost nothing.

    Attributes:
        module: what ``make`` imports; a warm-up may import it before.
    """

    def __init__(self, module: str, make: Callable[[Any], T]) -> None:
        self.module = module
        self._make = make
        self._name = ""
        self._making: set[int] = set()

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, holder: None, owner: type) -> Later[T]: ...

    @overload
    def __get__(self, holder: object, owner: type) -> T: ...

    def __get__(self, holder: object | None, owner: type) -> Later[T] | T:
        if holder is None:
            return self
        key = id(holder)
        if key in self._making:
            raise RuntimeError(f"making {self._name} asks for it")
        self._making.add(key)
        try:
            made = self._make(holder)
        finally:
            self._making.discard(key)
        vars(holder)[self._name] = made
        return made


def is_made(holder: object, name: str) -> bool:
    """Tell whether a `Later` of an object was made."""
    return name in vars(holder)


def modules_of(owner: type) -> list[str]:
    """Return what the parts of a class import, in the order in which they are declared."""
    return [part.module for part in vars(owner).values() if isinstance(part, Later)]

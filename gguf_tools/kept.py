"""Results that are kept as long as the model they are of.

A window that stays open for days reads the headers of hundreds of models, many of them again and
again. Caches that count entries would hold the last of those headers (some MiB each) long after
nobody looks at their models; these hold none.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Concatenate, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from gguf_tools.header import Header

__all__ = ["KeptResults", "kept_with_header"]

_T = TypeVar("_T")
_P = ParamSpec("_P")


class KeptResults(Generic[_T]):
    """Keeps the last ``size`` results of each header that is still in use.

    The results must not refer to the header, or neither ever goes.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: WeakKeyDictionary[Header, OrderedDict[Hashable, _T]] = WeakKeyDictionary()

    def get(self, header: Header, key: Hashable) -> _T | None:
        """Return what was kept, None if nothing was."""
        items = self._items.get(header)
        if items is None:
            return None
        try:
            items.move_to_end(key)
            return items[key]
        except KeyError:  # never kept, or given up by another thread just now
            return None

    def put(self, header: Header, key: Hashable, value: _T) -> None:
        """Keep a result; the one that was not asked for longest gives way."""
        items = self._items.setdefault(header, OrderedDict())
        items[key] = value
        if len(items) > self._size:
            items.popitem(last=False)


def kept_with_header(
    size: int,
) -> Callable[
    [Callable[Concatenate[Header, _P], _T]],
    Callable[Concatenate[Header, _P], _T],
]:
    """Keep a function's last ``size`` results for each header; None is not kept."""

    def wrap(
        function: Callable[Concatenate[Header, _P], _T],
    ) -> Callable[Concatenate[Header, _P], _T]:
        results: KeptResults[_T] = KeptResults(size)

        def kept(header: Header, /, *rest: _P.args, **named: _P.kwargs) -> _T:
            key = (rest, *named.items()) if named else rest
            found = results.get(header, key)
            if found is None:
                found = function(header, *rest, **named)
                results.put(header, key, found)
            return found

        return kept

    return wrap

"""Heights of many messages with quick sums: where a message begins, which one lies at a place.

A Fenwick tree: changing one height and asking for a prefix cost O(log n), so a reply that grows
in a conversation of thousands of messages does not cost more than in one of ten.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

__all__ = ["Heights"]


class Heights:
    """A list of heights (pixels, not negative) with prefix sums."""

    def __init__(self, values: Iterable[int] = ()) -> None:
        self._values = list(values)
        self._build()

    def _build(self) -> None:
        size = len(self._values)
        sums = [0, *accumulate(self._values)]
        self._tree = [sums[i] - sums[i & (i - 1)] for i in range(size + 1)]
        self._top = 1 << max(size.bit_length() - 1, 0) if size else 0

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> int:
        return self._values[index]

    @property
    def total(self) -> int:
        """Sum of all heights."""
        return self.before(len(self._values))

    def before(self, index: int) -> int:
        """Return the sum of the first ``index`` heights."""
        found = 0
        while index > 0:
            found += self._tree[index]
            index -= index & -index
        return found

    def set(self, index: int, value: int) -> None:
        """Change one height."""
        change = value - self._values[index]
        if not change:
            return
        self._values[index] = value
        index += 1
        while index <= len(self._values):
            self._tree[index] += change
            index += index & -index

    def append(self, value: int) -> None:
        """Add a height at the end."""
        self._values.append(value)
        index = len(self._values)
        low = index - (index & -index)
        self._tree.append(value + self.before(index - 1) - self.before(low))
        if index >= self._top * 2:
            self._top = 1 << (index.bit_length() - 1)

    def insert(self, index: int, value: int) -> None:
        """Put a height before the one at ``index``."""
        self._values.insert(index, value)
        self._build()

    def remove(self, index: int) -> None:
        """Take a height out."""
        del self._values[index]
        self._build()

    def find(self, offset: int) -> int:
        """Return the index of what lies at ``offset`` from the top, the nearest if none does."""
        index, rest, step = 0, offset, self._top
        while step:
            following = index + step
            if following <= len(self._values) and self._tree[following] <= rest:
                index = following
                rest -= self._tree[following]
            step >>= 1
        return max(min(index, len(self._values) - 1), 0)

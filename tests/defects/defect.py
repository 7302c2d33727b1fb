"""One defect: a piece of source, what stands in its place, and the tests that must see it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Defect", "DefectError"]


class DefectError(Exception):
    """A defect no longer fits the source; the text is one sentence."""


@dataclass(frozen=True, slots=True)
class Defect:
    """``old`` stands in ``path`` once, and ``new`` is put in its place.

    ``tests`` are what pytest is given, of which at least one must fail then.
    """

    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]

    def applied(self, root: Path) -> str:
        """Return the whole source with the defect.

        Raises:
            DefectError: the source does not hold ``old`` exactly once, or a test is gone.
        """
        try:
            source = (root / self.path).read_text("utf-8")
        except FileNotFoundError as error:
            raise DefectError(f'"{self.name}": there is no {self.path} any more.') from error
        times = source.count(self.old)
        if times != 1:
            raise DefectError(
                f'"{self.name}": {self.path} holds the text to replace {times} times, not once: '
                "adapt the defect to the source."
            )
        for test in self.tests:
            file, _, name = test.partition("::")
            if not (root / file).exists():
                raise DefectError(f'"{self.name}": there is no {file}.')
            if name and f"def {name}(" not in (root / file).read_text("utf-8"):
                raise DefectError(f'"{self.name}": {file} has no test {name}.')
        return source.replace(self.old, self.new)

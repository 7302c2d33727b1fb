"""The licences of everything that the program is made of, in one text.

A built program carries the text that its build wrote (``resources/licences.txt``); a source tree
gathers it from what is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Final

from resources.loader import read_text

__all__ = ["Licence", "built_text", "gather", "licence_text", "render"]

_FILES: Final = re.compile(
    r"(^|/)(licen[cs]e|copying|notice|copyright|authors)[^/]*$|(^|/)licen[cs]es?/[^/]+$",
    re.IGNORECASE,
)
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NO_TEXT: Final = "Its package carries no licence file; the licence it names is the one above."
_RULE: Final = "=" * 78


@dataclass(frozen=True, slots=True)
class Licence:
    """A part of the program: its name, version, licence in short, and the licence's texts."""

    name: str
    version: str
    short: str
    text: str


def built_text() -> str | None:
    """Return the text that the build wrote, None where there was no build."""
    try:
        return read_text("licences.txt")
    except FileNotFoundError:
        return None


def licence_text() -> str:
    """Return the licences of this copy of the program as one text."""
    return built_text() or render(gather(), fonts())


def fonts() -> list[Licence]:
    """Return the fonts' licence."""
    text = read_text("fonts/OFL.txt")
    return [Licence("Inter and JetBrains Mono", "", "SIL Open Font License 1.1", text)]


def gather(root: str = "plimsoll", also: Iterable[str] = ()) -> list[Licence]:
    """Return the licences of a package and of all that it needs here, sorted by name.

    Of those that are named besides (``also``) only themselves.

    Packages that it names and that are not installed (for another system, or an extra that was
    not chosen) are not part of this copy and left out.
    """
    found: dict[str, Licence] = {}
    alone = {_key(name) for name in also}
    waiting = [root, *alone]
    while waiting:
        name = _key(waiting.pop())
        if name in found:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        found[name] = _of(package)
        if name in alone:
            continue
        waiting += [
            match[0]
            for text in package.requires or ()
            if (match := _REQUIREMENT.match(text)) and not re.search(r";.*\bextra\b", text)
        ]
    return [found[name] for name in sorted(found)]


def _key(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _of(package: Distribution) -> Licence:
    about = package.metadata
    named = [*(about.get_all("License-Expression") or ()), *(about.get_all("License") or ())]
    short = next((text for text in named if text), "")
    if not short or "\n" in short or len(short) > 80:
        classified = [
            value.rpartition(" :: ")[2]
            for value in about.get_all("Classifier") or ()
            if value.startswith("License :: ")
        ]
        short = ", ".join(classified) or short.strip().partition("\n")[0] or "not named"
    return Licence(package.name, package.version, short, "\n\n".join(_texts(package)) or _NO_TEXT)


def _texts(package: Distribution) -> list[str]:
    texts: list[str] = []
    for path in sorted(package.files or (), key=str):
        if _FILES.search(str(path)) is None or path.suffix in {".py", ".pyc", ".so"}:
            continue
        try:
            text = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            continue
        if text and text not in texts:
            texts.append(text)
    return texts


def render(*groups: Iterable[Licence]) -> str:
    """Return one text: an overview of all parts, then each part's licence."""
    parts = [part for group in groups for part in group]
    lines = ["What this copy of Plimsoll is made of, and under which licences.", ""]
    lines += [f"  {_title(part)}: {part.short}" for part in parts]
    for part in parts:
        lines += ["", _RULE, f"{_title(part)}: {part.short}", _RULE, "", part.text.rstrip()]
    return "\n".join(lines) + "\n"


def _title(part: Licence) -> str:
    return f"{part.name} {part.version}".rstrip()

"""Is there a newer version? Asked only when the user asks, and of one address.

The address is that of the project's releases, put into a built program by its build
(``resources/build.json``); a copy without one, such as a source tree, asks nobody. The answer is
the JSON that GitHub gives for a latest release: ``tag_name``, ``html_url``, ``body``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from resources.loader import read_text

__all__ = [
    "MOST_ANSWER_BYTES",
    "RELEASES_VARIABLE",
    "BuildFacts",
    "Release",
    "UpdateError",
    "build_facts",
    "is_newer",
    "parse_release",
    "releases_url",
]

RELEASES_VARIABLE: Final = "PLIMSOLL_RELEASES_URL"
MOST_ANSWER_BYTES: Final = 1 << 20
_NUMBERS: Final = re.compile(r"v?(?P<numbers>\d{1,6}(?:\.\d{1,6}){0,4})(?P<rest>.*)", re.DOTALL)
_LOCAL: Final = {"127.0.0.1", "::1", "localhost"}


class UpdateError(Exception):
    """The answer can't be used; the message is for people."""


@dataclass(frozen=True, slots=True)
class BuildFacts:
    """What a built program was told about itself; all None in a source tree."""

    commit: str | None = None
    system: str | None = None
    machine: str | None = None
    with_model: bool | None = None
    releases_url: str | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """A published version and the page that tells of it."""

    version: str
    page_url: str


def build_facts() -> BuildFacts:
    """Return what the build wrote down, or nothing where there was no build."""
    try:
        facts = json.loads(read_text("build.json"))
    except (FileNotFoundError, ValueError):
        return BuildFacts()
    known = {name: facts.get(name) for name in BuildFacts.__dataclass_fields__}
    return BuildFacts(**known)


def releases_url(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the address to ask, None where this copy knows none.

    Only ``https`` is taken, and ``http`` on this computer.
    """
    url = environ.get(RELEASES_VARIABLE) or build_facts().releases_url
    return url if url and _is_safe(url) else None


def _is_safe(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if parts.scheme == "https":
        return bool(parts.hostname)
    return parts.scheme == "http" and parts.hostname in _LOCAL


def parse_release(answer: bytes) -> Release:
    """Return the release that an answer tells of.

    Raises:
        UpdateError: it tells of none.
    """
    try:
        told = json.loads(answer.decode("utf-8"))
        tag, page = told["tag_name"], told["html_url"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UpdateError("The answer names no release.") from error
    if not isinstance(tag, str) or _NUMBERS.fullmatch(tag) is None:
        raise UpdateError("The answer names no version.")
    if not isinstance(page, str) or not _is_safe(page):
        raise UpdateError("The answer names no page that can be opened safely.")
    return Release(tag.removeprefix("v"), page)


def is_newer(offered: str, installed: str) -> bool:
    """Tell whether a version comes after another; a trial version (``1.0rc1``) before its final.

    A version that can't be read is never newer, and nothing is newer than one that can't be read.
    """
    there, here = _order(offered), _order(installed)
    return there is not None and here is not None and there > here


def _order(version: str) -> tuple[tuple[int, ...], bool, str] | None:
    match = _NUMBERS.fullmatch(version.strip())
    if match is None:
        return None
    numbers = [int(part) for part in match["numbers"].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    rest = match["rest"]
    return tuple(numbers), not rest, rest

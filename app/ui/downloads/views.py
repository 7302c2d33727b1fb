"""What the page Get models is told: frozen values, made by its presenter, shown as they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from app.ui.models.views import FitView

__all__ = [
    "DownloadAction",
    "DownloadState",
    "DownloadView",
    "FileState",
    "FileView",
    "MessageView",
    "PlaceView",
    "RepositoryView",
    "ResultView",
]

FileState: TypeAlias = Literal["new", "waiting", "here"]
DownloadState: TypeAlias = Literal["waiting", "running", "paused", "failed", "done"]
DownloadAction: TypeAlias = Literal["pause", "resume", "remove", "chat", "dismiss"]


@dataclass(frozen=True, slots=True)
class MessageView:
    """What stands in place of a list. ``choice`` is the button's key, its words are ``label``."""

    title: str
    text: str = ""
    icon: str = "search"
    choice: str = ""
    label: str = ""
    busy: bool = False


@dataclass(frozen=True, slots=True)
class ResultView:
    """A repository that was found; ``what`` and ``use`` are its second and third line.

    ``spoken`` is all of it for screen readers.
    """

    key: str
    name: str
    what: str
    use: str
    tags: tuple[str, ...] = ()
    spoken: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView:
    """A variant of the repository. ``detail`` is its second line.

    ``basis`` says in words how fit and rate were got; ``problem`` why it can't be fetched.
    """

    key: str
    name: str
    detail: str
    size_bytes: int
    bits_per_weight: float | None = None
    fit: FitView = field(default_factory=FitView)
    basis: str = ""
    state: FileState = "new"
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RepositoryView:
    """The repository on screen. ``basis`` tells how the figures of its files were got.

    ``needs_token``: the hub gives its files only to who has accepted its terms, or to its owner.
    """

    key: str
    name: str
    facts: str
    address: str
    tags: tuple[str, ...] = ()
    files: tuple[FileView, ...] = ()
    basis: str = ""
    needs_token: bool = False


@dataclass(frozen=True, slots=True)
class DownloadView:
    """A download. ``share`` is 0 to 1; ``words`` tell how far it is, or what is wrong with it."""

    key: str
    title: str
    repository: str
    state: DownloadState
    share: float
    words: str
    actions: tuple[DownloadAction, ...] = ()


@dataclass(frozen=True, slots=True)
class PlaceView:
    """Where models come from and go to, in words below the search field."""

    words: str
    tip: str = ""
    has_token: bool = False

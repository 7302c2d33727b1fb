"""What the shell's views are told: frozen values, made by the controller, shown as they are.

Views never ask the store or the engine for anything; they get one of these through a setter.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

__all__ = [
    "AttachmentChip",
    "ChatEntry",
    "Choice",
    "ContextUse",
    "DraftFacts",
    "FirstRun",
    "HeaderModel",
    "ModelEntry",
    "Notice",
    "Overflow",
    "SearchHit",
    "Segment",
    "StatusFacts",
]

Severity: TypeAlias = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Choice:
    """A button that a bar offers; ``key`` comes back when it is pressed."""

    key: str
    text: str
    kind: Literal["normal", "primary", "danger"] = "normal"
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class HeaderModel:
    """The model in the header's pill.

    ``progress`` (0 to 1, None: unknown) counts while loading. ``detail`` is the tooltip: the
    file, or why the engine was lost.
    """

    state: Literal["none", "loading", "loaded", "lost"] = "none"
    name: str = ""
    quantization: str = ""
    size_bytes: int | None = None
    progress: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model that can be chosen. ``problem`` set: it can't be loaded, and this sentence says why.

    ``key`` names it to the controller (its path); ``found_in`` says where it lies in words
    ("Plimsoll's folder", "LM Studio"); ``reason`` is the problem in one clause, for a list.
    """

    key: str
    name: str
    quantization: str = ""
    size_bytes: int | None = None
    context_tokens: int | None = None
    found_in: str = ""
    problem: str | None = None
    reason: str = ""
    loaded: bool = False


@dataclass(frozen=True, slots=True)
class ContextUse:
    """How full the model's window is with the chat on screen.

    ``dropped_messages`` and ``dropped_tokens`` have left the window. ``replies`` are being written
    at once and share it; the used tokens are those of all of them. ``cached_tokens`` of them lie in
    the model's cache, None for all: the rest is read with the next reply.
    """

    used_tokens: int
    limit_tokens: int
    dropped_messages: int = 0
    dropped_tokens: int = 0
    replies: int = 1
    cached_tokens: int | None = None

    @property
    def share(self) -> float:
        """Used share of the window, 0 to 1 (and above, when something would not fit)."""
        return self.used_tokens / self.limit_tokens if self.limit_tokens > 0 else 0.0

    @property
    def cached_share(self) -> float:
        """Share of the used tokens that lie in the cache, 0 to 1."""
        if self.cached_tokens is None or self.used_tokens <= 0:
            return 1.0
        return min(self.cached_tokens / self.used_tokens, 1.0)


@dataclass(frozen=True, slots=True)
class ChatEntry:
    """A conversation in the sidebar. ``updated`` carries a time zone."""

    key: str
    title: str
    updated: datetime
    pinned: bool = False
    answering: bool = False


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A place found in a conversation. ``marks`` are (start, length) in ``snippet``."""

    chat_key: str
    message_key: str | None
    title: str
    snippet: str
    marks: tuple[tuple[int, int], ...] = ()
    when: datetime | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that happened, above the transcript. ``details`` unfold (last log lines).

    A ``passing`` one tells of something that succeeded and needs nobody: it goes by itself, after
    some seconds or with the chat.
    """

    key: str
    text: str
    severity: Severity = "info"
    details: str = ""
    choices: tuple[Choice, ...] = ()
    closable: bool = True
    passing: bool = False


@dataclass(frozen=True, slots=True)
class Overflow:
    """What would not fit, in one sentence with numbers, and what can be done."""

    text: str
    choices: tuple[Choice, ...]
    severity: Severity = "warning"


@dataclass(frozen=True, slots=True)
class AttachmentChip:
    """An attached file. ``tokens`` None: not counted yet; ``problem``: why it can't be sent.

    ``warning`` is a sentence about one that can be sent, empty if there is nothing to say.
    """

    key: str
    name: str
    tokens: int | None = None
    problem: str | None = None
    warning: str = ""


@dataclass(frozen=True, slots=True)
class DraftFacts:
    """Figures below the draft; None: not known (no model), so not shown."""

    draft_tokens: int | None = None
    share_after_sending: float | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of the status line; ``short`` says it in fewer words where room is scarce."""

    text: str
    tooltip: str = ""
    severity: Severity = "info"
    short: str = ""


@dataclass(frozen=True, slots=True)
class StatusFacts:
    """The status line: what the engine runs on, and at the far end how it is."""

    left: tuple[Segment, ...] = ()
    right: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True)
class FirstRun:
    """What a first run can offer."""

    starter: ModelEntry | None = None
    found: tuple[ModelEntry, ...] = ()
    scanning: bool = False
